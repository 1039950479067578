//! What is written about the API is what it is.

use std::path::Path;

use axum::body::Body;
use axum::http::Request;
use bailiwick::api::Api;

use super::Door;

/// Set, the documents are written as they have to be.
const WRITE: &str = "BAILIWICK_WRITE_DOCUMENTS";

fn held(file: &str, expected: &str) {
    let path = Path::new(file);
    #[expect(clippy::disallowed_methods, reason = "the documents are this test's data")]
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(path, expected).unwrap();
    }
    let there = std::fs::read_to_string(path).unwrap_or_default();
    assert!(there == expected, "{file} is out of date: run this test with {WRITE}=1");
}

/// The table of routes in the documentation is that of the router.
#[test]
fn the_documented_routes_are_those_of_the_router() {
    let mut table = String::from("| route | does | needs |\n|---|---|---|\n");
    for route in Api::table() {
        let needs = route.needs.to_string();
        table += &format!("| `{} {}` | {} | {needs} |\n", route.method, route.path, route.about);
    }
    let path = Path::new("../API.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (before, after) = text.split_once("<!-- routes -->\n").unwrap();
    let (_, after) = after.split_once("<!-- end of routes -->").unwrap();
    held("../API.md", &format!("{before}<!-- routes -->\n{table}<!-- end of routes -->{after}"));
}

/// The description that is served is the one that is kept, and every route is in it.
#[tokio::test]
async fn the_served_description_is_the_one_that_is_kept() {
    let document = Api::openapi();
    held("openapi.json", &format!("{}\n", serde_json::to_string_pretty(&document).unwrap()));
    let request = Request::builder().uri("/openapi.json").body(Body::empty()).unwrap();
    let served = Door::new().await.send(request).await;
    assert_eq!(served.json(), document);
    assert_eq!(document["openapi"], "3.1.0");
    for route in Api::table() {
        let path = route.path.replace("{*path}", "{path}");
        let operation = &document["paths"][&path][route.method.to_lowercase()];
        assert_eq!(operation["summary"], route.about, "{route:?}");
        let parameters = operation["parameters"].as_array().unwrap();
        let in_path = parameters.iter().filter(|parameter| parameter["in"] == "path").count();
        assert_eq!(in_path, path.matches('{').count(), "{route:?}");
    }
}
