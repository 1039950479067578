//! The API as OpenAPI 3.1 describes it, made from the table of routes.
//! <https://spec.openapis.org/oas/v3.1.0>

use axum::Json as Answer;
use serde_json::{Map, Value, json};

use super::gate::{Anyone, On, Right};
use super::problem;
use super::router::{Route, routes};

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

type Content = (&'static str, Value);

/// What goes in and out of a route, beside what all have in common.
#[derive(Default)]
struct Shape {
    query: Vec<(&'static str, Value)>,
    conditions: &'static [&'static str],
    body: Option<Content>,
    answer: Option<Content>,
    done: &'static [&'static str],
    refused: &'static [&'static str],
}

const READ: &[&str] =
    &["If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range", "Range"];
const CHANGE: &[&str] = &["If-Match", "If-None-Match"];
const JSON: &str = "application/json";
const BYTES: &str = "application/octet-stream";

impl Shape {
    fn of(route: &Route) -> Self {
        let last = route.path.rsplit('/').next().unwrap_or_default();
        let answer = |schema| Some((JSON, schema));
        match (route.method, last) {
            ("GET", "files") => Self {
                query: vec![
                    ("folder", string()),
                    ("depth", json!({ "enum": ["children", "all"] })),
                    ("cursor", string()),
                    ("limit", integer()),
                ],
                answer: answer(listing()),
                done: &["200"],
                ..Self::default()
            },
            ("GET", "{*path}") => Self {
                conditions: READ,
                answer: Some((BYTES, json!({}))),
                done: &["200", "206", "304"],
                refused: &["412", "416"],
                ..Self::default()
            },
            ("HEAD", _) => Self {
                conditions: &["If-Match", "If-None-Match"],
                done: &["200", "304"],
                refused: &["412"],
                ..Self::default()
            },
            ("PUT", "{*path}") => Self {
                conditions: CHANGE,
                body: Some((BYTES, json!({}))),
                answer: answer(reference("File")),
                done: &["200", "201"],
                refused: &["408", "410", "412", "413", "415"],
                ..Self::default()
            },
            ("DELETE", "{*path}") => {
                Self { conditions: CHANGE, done: &["204"], refused: &["412"], ..Self::default() }
            }
            ("POST", "copy" | "move") => Self {
                conditions: CHANGE,
                body: Some((JSON, object(&[("from", string()), ("to", string())]))),
                answer: answer(reference("File")),
                done: &["200", "201"],
                refused: &["409", "410", "412", "413", "415"],
                ..Self::default()
            },
            ("POST", "spill") => Self {
                query: vec![("name", string())],
                body: Some((BYTES, json!({}))),
                answer: answer(object(&[
                    ("text", string()),
                    ("path", json!({ "type": ["string", "null"] })),
                    ("size", integer()),
                ])),
                done: &["200"],
                refused: &["408", "410", "413"],
                ..Self::default()
            },
            ("GET", "archive") => Self {
                query: vec![("folder", string())],
                answer: Some(("application/zip", json!({}))),
                done: &["200"],
                refused: &["413"],
                ..Self::default()
            },
            ("POST", "erasure") => Self {
                body: Some((JSON, object(&[("deadline_ms", integer()), ("subject", string())]))),
                answer: answer(object(&[("id", string())])),
                done: &["200", "202"],
                refused: &["415"],
                ..Self::default()
            },
            ("GET", "{erasure}") => {
                Self { answer: answer(reference("Erasure")), done: &["200"], ..Self::default() }
            }
            ("GET", "workspaces" | "agents" | "sessions" | "participants") => Self {
                query: vec![("after", string()), ("limit", integer())],
                answer: answer(page_of(json!({ "type": "object" }))),
                done: &["200"],
                ..Self::default()
            },
            ("POST", "workspaces" | "agents") => Self {
                body: Some((JSON, object(&[("name", string())]))),
                answer: answer(object(&[("id", string()), ("name", string())])),
                done: &["200", "201"],
                refused: &["413", "415"],
                ..Self::default()
            },
            ("POST", "sessions") => Self {
                body: Some((
                    JSON,
                    json!({
                        "type": "object",
                        "required": ["name"],
                        "properties": { "name": string(), "participants": { "type": "array", "items": string() } },
                    }),
                )),
                answer: answer(object(&[("id", string()), ("name", string())])),
                done: &["200", "201"],
                refused: &["413", "415"],
                ..Self::default()
            },
            ("GET", "guidance") => Self {
                answer: answer(object(&[("guidance", string())])),
                done: &["200"],
                ..Self::default()
            },
            ("GET", "turns") => Self {
                query: vec![("after", integer()), ("limit", integer())],
                answer: answer(object(&[("turns", list_of(reference("Turn")))])),
                done: &["200"],
                ..Self::default()
            },
            ("POST", "turns" | "answer") => Self {
                conditions: &["Idempotency-Key"],
                body: Some((
                    JSON,
                    object(&[(if last == "turns" { "input" } else { "text" }, string())]),
                )),
                answer: answer(reference("Turn")),
                done: &["200", "202"],
                refused: &["409", "410", "413", "415", "429"],
                ..Self::default()
            },
            ("GET", "{turn}") => {
                Self { answer: answer(reference("Turn")), done: &["200"], ..Self::default() }
            }
            ("GET", "invocations") => Self {
                answer: answer(object(&[("items", list_of(invocation()))])),
                done: &["200"],
                ..Self::default()
            },
            ("GET", "events") => Self {
                query: vec![("after", integer())],
                conditions: &["Last-Event-ID"],
                answer: Some(("text/event-stream", string())),
                done: &["200"],
                ..Self::default()
            },
            ("POST", "wakeups") => Self {
                body: Some((
                    JSON,
                    json!({
                        "type": "object",
                        "required": ["input"],
                        "properties": {
                            "input": string(),
                            "at_ms": integer(),
                            "cron": string(),
                            "zone": string(),
                        },
                    }),
                )),
                answer: answer(object(&[("id", string())])),
                done: &["201"],
                refused: &["413", "415", "429"],
                ..Self::default()
            },
            ("GET", "components") => Self {
                query: vec![("after", string()), ("limit", integer())],
                answer: answer(page_of(reference("Component"))),
                done: &["200"],
                ..Self::default()
            },
            ("GET", "{component}") => Self {
                answer: answer(object(&[("items", list_of(reference("Component")))])),
                done: &["200"],
                ..Self::default()
            },
            ("PUT", "{component}") => Self {
                body: Some((BYTES, json!({}))),
                answer: answer(reference("Component")),
                done: &["200"],
                refused: &["408", "413", "422"],
                ..Self::default()
            },
            ("PUT", "component") => Self {
                body: Some((
                    JSON,
                    json!({
                        "type": "object",
                        "properties": { "name": string(), "sha256": string() },
                    }),
                )),
                done: &["204"],
                refused: &["413", "415"],
                ..Self::default()
            },
            ("GET", "receipts") => Self {
                query: vec![("before", string()), ("limit", integer())],
                answer: answer(page_of(reference("Receipt"))),
                done: &["200"],
                ..Self::default()
            },
            ("GET", "skills") if route.needs.on == On::Agent => Self {
                answer: answer(object(&[("items", list_of(reference("GivenSkill")))])),
                done: &["200"],
                ..Self::default()
            },
            ("GET", "skills") => Self {
                query: vec![("of", whose()), ("after", string()), ("limit", integer())],
                answer: answer(page_of(reference("SkillVersion"))),
                done: &["200"],
                ..Self::default()
            },
            ("GET", "versions") => Self {
                query: vec![("before", integer()), ("limit", integer())],
                answer: answer(object(&[
                    ("items", list_of(reference("SkillVersion"))),
                    ("next", json!({ "type": ["integer", "null"] })),
                ])),
                done: &["200"],
                ..Self::default()
            },
            ("PUT", "versions") => Self {
                body: Some((
                    "multipart/form-data",
                    json!({
                        "type": "object",
                        "required": ["SKILL.md"],
                        "properties": { "SKILL.md": bytes() },
                        "additionalProperties": bytes(),
                        "description": "each part a file, called by its path in the skill",
                    }),
                )),
                answer: answer(reference("SkillVersion")),
                done: &["200", "201"],
                refused: &["408", "413", "415", "422"],
                ..Self::default()
            },
            ("GET", "{version}") => Self {
                answer: answer(json!({
                    "allOf": [
                        reference("SkillVersion"),
                        object(&[("contents", list_of(object(&[
                            ("path", string()),
                            ("size", integer()),
                            ("sha256", string()),
                        ])))]),
                    ],
                })),
                done: &["200"],
                ..Self::default()
            },
            ("PUT", "{skill}") => Self {
                body: Some((
                    JSON,
                    json!({
                        "type": "object",
                        "properties": { "of": whose(), "version": { "type": ["integer", "null"] } },
                    }),
                )),
                done: &["204"],
                refused: &["413", "415", "429"],
                ..Self::default()
            },
            ("DELETE", "{skill}") if route.needs.on == On::Agent => {
                Self { query: vec![("of", whose())], done: &["204"], ..Self::default() }
            }
            ("DELETE", "{skill}") => Self { done: &["204"], ..Self::default() },
            ("GET", "platform-workspace") => {
                Self { answer: answer(platform()), done: &["200"], ..Self::default() }
            }
            ("PUT", "platform-workspace") => Self {
                body: Some((JSON, platform())),
                done: &["204"],
                refused: &["413", "415"],
                ..Self::default()
            },
            ("POST", "close" | "reopen") => {
                Self { done: &["204"], refused: &["409", "410"], ..Self::default() }
            }
            ("PUT" | "DELETE", "hold") => {
                Self { done: &["204"], refused: &["410"], ..Self::default() }
            }
            ("GET", "preview") => Self {
                query: vec![("after", string()), ("limit", integer())],
                answer: answer(foreseen()),
                done: &["200"],
                ..Self::default()
            },
            ("GET", "questions") => Self {
                query: vec![("before", string()), ("limit", integer())],
                answer: answer(page_of(settled_question())),
                done: &["200"],
                ..Self::default()
            },
            ("PUT", "settings") => Self {
                body: Some((JSON, reference("Settings"))),
                answer: answer(settings()),
                done: &["200"],
                refused: &["413", "415"],
                ..Self::default()
            },
            ("GET", "settings") => {
                Self { answer: answer(settings()), done: &["200"], ..Self::default() }
            }
            ("POST", "revocations") => Self {
                body: Some((
                    JSON,
                    json!({
                        "type": "object",
                        "required": ["token_id"],
                        "properties": { "token_id": string(), "until_ms": integer() },
                    }),
                )),
                done: &["204"],
                refused: &["413", "415"],
                ..Self::default()
            },
            ("PUT", "{subject}") | ("DELETE", "{subject}" | "{token}") => {
                Self { done: &["204"], ..Self::default() }
            }
            ("DELETE", _) => Self { done: &["204"], refused: &["409"], ..Self::default() },
            ("GET", "readyz") => Self {
                answer: answer(json!({ "type": "object" })),
                done: &["200", "503"],
                ..Self::default()
            },
            ("GET", "healthz" | "metrics") => {
                Self { answer: Some(("text/plain", string())), done: &["200"], ..Self::default() }
            }
            _ => Self {
                answer: answer(json!({ "type": "object" })),
                done: &["200"],
                ..Self::default()
            },
        }
    }
}

fn string() -> Value {
    json!({ "type": "string" })
}

fn integer() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

fn bytes() -> Value {
    json!({ "type": "string", "contentMediaType": BYTES })
}

fn whose() -> Value {
    json!({ "enum": ["workspace", "platform"], "default": "workspace" })
}

fn platform() -> Value {
    object(&[("workspace", json!({ "type": ["string", "null"], "format": "uuid" }))])
}

fn receipt() -> Value {
    let maybe = || json!({ "type": ["string", "null"] });
    object(&[
        ("id", string()),
        ("agent", string()),
        ("session", maybe()),
        ("turn", maybe()),
        ("subject", maybe()),
        ("from", string()),
        ("to", string()),
        ("revision", string()),
        ("at_ms", integer()),
    ])
}

fn invocation() -> Value {
    object(&[
        ("attempt", integer()),
        ("verb", string()),
        ("scope", json!({ "enum": ["session", "agent", "workspace", "skill", ""] })),
        ("outcome", string()),
        ("calls", integer()),
        ("bytes", integer()),
        ("waited_us", integer()),
    ])
}

fn foreseen() -> Value {
    let maybe = |kind: &str| json!({ "type": [kind, "null"] });
    let session = object(&[
        ("session", string()),
        ("agent", string()),
        ("workspace", string()),
        ("name", string()),
        ("active_ms", integer()),
        ("closed_ms", maybe("integer")),
        (
            "stays",
            json!({ "enum": ["held", "running", "queued", "question", "wakeup", "unbounded", null] }),
        ),
        ("goes", json!({ "enum": ["idle", "closed", "beyond-last", null] })),
        ("goes_ms", maybe("integer")),
    ]);
    object(&[("now_ms", integer()), ("items", list_of(session)), ("next", maybe("string"))])
}

fn settled_question() -> Value {
    object(&[
        ("turn", string()),
        ("agent", string()),
        ("session", string()),
        ("question", string()),
        ("answer", json!({ "type": ["string", "null"] })),
        ("asked_ms", integer()),
        ("settled_ms", integer()),
    ])
}

fn erasure() -> Value {
    let time = json!({ "type": ["integer", "null"] });
    object(&[
        ("id", string()),
        ("workspace", string()),
        ("subject", json!({ "type": ["string", "null"] })),
        ("state", json!({ "enum": ["asked", "held", "deleted", "proved"] })),
        ("asked_ms", integer()),
        ("deadline_ms", integer()),
        ("deleted_ms", time.clone()),
        ("proved_ms", time),
        ("receipt", json!({ "type": ["object", "null"] })),
    ])
}

fn skill_version() -> Value {
    object(&[
        ("slug", string()),
        ("version", integer()),
        ("description", string()),
        ("files", integer()),
        ("size", integer()),
        ("created_ms", integer()),
    ])
}

fn given_skill() -> Value {
    let number = || json!({ "type": ["integer", "null"] });
    object(&[("slug", string()), ("of", whose()), ("version", number()), ("sent", number())])
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// An object with all of these.
fn object(properties: &[(&str, Value)]) -> Value {
    let names: Vec<_> = properties.iter().map(|(name, _)| *name).collect();
    let properties: Map<_, _> =
        properties.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({ "type": "object", "required": names, "properties": properties })
}

fn file() -> Value {
    object(&[
        ("path", string()),
        ("size", integer()),
        ("revision", string()),
        ("modified_ms", integer()),
        ("media_type", string()),
    ])
}

fn list_of(schema: Value) -> Value {
    json!({ "type": "array", "items": schema })
}

fn page_of(item: Value) -> Value {
    object(&[("items", list_of(item)), ("next", json!({ "type": ["string", "null"] }))])
}

fn turn() -> Value {
    let maybe = |kind: &str| json!({ "type": [kind, "null"] });
    object(&[
        ("id", string()),
        ("position", integer()),
        ("state", json!({ "enum": ["queued", "running", "parked", "done", "failed"] })),
        ("attempt", integer()),
        ("answers", maybe("string")),
        ("input", string()),
        ("answer", maybe("string")),
        ("said", string()),
        ("reply", maybe("string")),
        ("question", maybe("string")),
        ("failure", maybe("string")),
        ("error", maybe("string")),
        ("queued_ms", integer()),
        ("started_ms", maybe("integer")),
        ("ended_ms", maybe("integer")),
    ])
}

fn component() -> Value {
    object(&[
        ("name", string()),
        ("number", integer()),
        ("sha256", string()),
        ("created_ms", integer()),
    ])
}

fn listing() -> Value {
    object(&[
        ("files", json!({ "type": "array", "items": reference("File") })),
        ("folders", json!({ "type": "array", "items": string() })),
        ("next", json!({ "type": ["string", "null"] })),
        (
            "scopes",
            json!({ "type": "array", "items": object(&[("scope", string()), ("writable", json!({ "type": "boolean" }))]) }),
        ),
    ])
}

fn said() -> Value {
    json!({ "type": "object", "properties": { "value": {}, "cap": {} }, "additionalProperties": false })
}

fn settings() -> Value {
    object(&[("said", reference("Settings")), ("effective", json!({ "type": "object" }))])
}
