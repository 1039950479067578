//! What the example tells over HTTP.

use reqwest::Client;
use serde_json::{Value, json};

/// Events of one turn, in order.
#[derive(Debug)]
pub(crate) struct Told(pub(crate) Vec<(String, Value)>);

impl Told {
    /// What of this kind was told last.
    pub(crate) fn last(&self, kind: &str) -> &Value {
        let found = self.0.iter().rev().find(|(told, _)| told == kind);
        &found.unwrap_or_else(|| panic!("no {kind} in {self:?}")).1
    }

    pub(crate) fn kinds(&self) -> Vec<&str> {
        self.0.iter().map(|(kind, _)| kind.as_str()).collect()
    }
}

/// Asks, and hears everything that is told until the end.
pub(crate) async fn ask(base: &str, session: &str, input: &str) -> Told {
    let url = format!("{base}/sessions/{session}/turns");
    let body = json!({ "input": input }).to_string();
    let request = Client::new().post(url).header("content-type", "application/json").body(body);
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 200);
    Told(events(&response.text().await.unwrap()))
}

/// The events in the text of a stream.
pub(crate) fn events(text: &str) -> Vec<(String, Value)> {
    let event = |block: &str| {
        let field = |name| block.lines().find_map(|line| line.strip_prefix(name));
        Some((field("event: ")?.to_owned(), serde_json::from_str(field("data: ")?).unwrap()))
    };
    text.split("\n\n").filter_map(event).collect()
}
