//! What goes in and out of each route.

use serde_json::{Value, json};

use super::super::gate::On;
use super::super::router::Route;
use super::schemas::{
    bytes, foreseen, integer, invocation, list_of, listing, object, page_of, platform, reference,
    settings, settled_question, string, whose,
};

type Content = (&'static str, Value);

/// What goes in and out of a route, beside what all have in common.
#[derive(Default)]
pub(super) struct Shape {
    pub(super) query: Vec<(&'static str, Value)>,
    pub(super) conditions: &'static [&'static str],
    pub(super) body: Option<Content>,
    pub(super) answer: Option<Content>,
    pub(super) done: &'static [&'static str],
    pub(super) refused: &'static [&'static str],
}

const READ: &[&str] =
    &["If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range", "Range"];
const CHANGE: &[&str] = &["If-Match", "If-None-Match"];
const JSON: &str = "application/json";
pub(super) const BYTES: &str = "application/octet-stream";

impl Shape {
    pub(super) fn of(route: &Route) -> Self {
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
