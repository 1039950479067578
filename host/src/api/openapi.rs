//! The API as OpenAPI 3.1 describes it, made from the table of routes.
//! <https://spec.openapis.org/oas/v3.1.0>

use axum::Json as Answer;
use serde_json::{Map, Value, json};

use super::gate::{Anyone, On, Right};
use super::problem;
use super::router::{Route, routes};

mod schemas;
mod shape;

use schemas::{component, erasure, file, given_skill, receipt, said, skill_version, turn};
use shape::Shape;

/// `GET /openapi.json`
pub(super) async fn openapi(_: Anyone) -> Answer<Value> {
    Answer(document())
}

/// The whole document.
pub(super) fn document() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for route in routes().table {
        // A wildcard is one parameter there, whose `/` are written as they are.
        let path =
            paths.entry(route.path.replace("{*path}", "{path}")).or_insert_with(|| json!({}));
        path[route.method.to_ascii_lowercase()] = operation(&route);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Bailiwick",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Scoped places for files of agents: sessions, agents, workspaces.",
        },
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer", "bearerFormat": "JWT" } },
            "schemas": {
                "Problem": problem::schema(),
                "File": file(),
                "Turn": turn(),
                "Component": component(),
                "Receipt": receipt(),
                "Erasure": erasure(),
                "SkillVersion": skill_version(),
                "GivenSkill": given_skill(),
                "Settings": { "type": "object", "additionalProperties": said() },
            },
        },
    })
}

fn operation(route: &Route) -> Value {
    let shape = Shape::of(route);
    let mut operation = json!({
        "summary": route.about,
        "tags": [tag(route)],
        "description": route.needs.to_string(),
        "parameters": parameters(route, &shape),
        "responses": responses(route, &shape),
    });
    if route.needs.right != Right::Anyone {
        operation["security"] = json!([{ "token": [] }]);
    }
    if let Some((media_type, schema)) = shape.body {
        operation["requestBody"] =
            json!({ "required": true, "content": { media_type: { "schema": schema } } });
    }
    operation
}

fn tag(route: &Route) -> &'static str {
    match route.needs.on {
        On::Nothing => "operation",
        On::Deployment => "deployment",
        On::Workspace | On::Erasure => "workspaces",
        On::Agent => "agents",
        On::Session => "sessions",
    }
}

fn parameters(route: &Route, shape: &Shape) -> Vec<Value> {
    let names = route.path.split(['{', '}']).skip(1).step_by(2);
    let in_path = names.map(|name| {
        let name = name.trim_start_matches('*');
        let schema = match name {
            "path" | "subject" | "token" | "component" | "skill" => json!({ "type": "string" }),
            "version" => json!({ "type": "integer", "minimum": 1 }),
            _ => json!({ "type": "string", "format": "uuid" }),
        };
        json!({ "name": name, "in": "path", "required": true, "schema": schema })
    });
    let in_query = shape.query.iter().map(|(name, schema)| {
        let is_required = *name == "name";
        json!({ "name": name, "in": "query", "required": is_required, "schema": schema })
    });
    let in_header = shape.conditions.iter().map(|name| {
        json!({ "name": name, "in": "header", "required": false, "schema": { "type": "string" } })
    });
    in_path.chain(in_query).chain(in_header).collect()
}

fn responses(route: &Route, shape: &Shape) -> Value {
    let mut responses = Map::new();
    for status in shape.done {
        let mut response = json!({ "description": reason(status) });
        if let Some((media_type, schema)) =
            shape.answer.as_ref().filter(|_| !["204", "304"].contains(status))
        {
            response["content"] = json!({ *media_type: { "schema": schema } });
        }
        responses.insert((*status).to_owned(), response);
    }
    let refused = json!({ "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } });
    let mut refuse = |status: &str| {
        responses.insert(
            status.to_owned(),
            json!({ "description": reason(status), "content": refused }),
        );
    };
    if route.needs.right != Right::Anyone {
        ["400", "401", "404", "503"].into_iter().for_each(&mut refuse);
        if route.needs.on == On::Session {
            refuse("410");
        }
        shape.refused.iter().copied().for_each(&mut refuse);
    }
    Value::Object(responses)
}

fn reason(status: &str) -> &'static str {
    let status = status.parse().ok().and_then(|code| axum::http::StatusCode::from_u16(code).ok());
    status.and_then(|status| status.canonical_reason()).unwrap_or_default()
}
