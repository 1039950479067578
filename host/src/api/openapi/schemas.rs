//! What is sent and answered, as JSON Schema describes it.

use serde_json::{Map, Value, json};

use super::shape::BYTES;

pub(super) fn string() -> Value {
    json!({ "type": "string" })
}

pub(super) fn integer() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

pub(super) fn bytes() -> Value {
    json!({ "type": "string", "contentMediaType": BYTES })
}

pub(super) fn whose() -> Value {
    json!({ "enum": ["workspace", "platform"], "default": "workspace" })
}

pub(super) fn platform() -> Value {
    object(&[("workspace", json!({ "type": ["string", "null"], "format": "uuid" }))])
}

pub(super) fn receipt() -> Value {
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

pub(super) fn invocation() -> Value {
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

pub(super) fn foreseen() -> Value {
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

pub(super) fn settled_question() -> Value {
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

pub(super) fn erasure() -> Value {
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

pub(super) fn skill_version() -> Value {
    object(&[
        ("slug", string()),
        ("version", integer()),
        ("description", string()),
        ("files", integer()),
        ("size", integer()),
        ("created_ms", integer()),
    ])
}

pub(super) fn given_skill() -> Value {
    let number = || json!({ "type": ["integer", "null"] });
    object(&[("slug", string()), ("of", whose()), ("version", number()), ("sent", number())])
}

pub(super) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// An object with all of these.
pub(super) fn object(properties: &[(&str, Value)]) -> Value {
    let names: Vec<_> = properties.iter().map(|(name, _)| *name).collect();
    let properties: Map<_, _> =
        properties.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({ "type": "object", "required": names, "properties": properties })
}

pub(super) fn file() -> Value {
    object(&[
        ("path", string()),
        ("size", integer()),
        ("revision", string()),
        ("modified_ms", integer()),
        ("media_type", string()),
    ])
}

pub(super) fn list_of(schema: Value) -> Value {
    json!({ "type": "array", "items": schema })
}

pub(super) fn page_of(item: Value) -> Value {
    object(&[("items", list_of(item)), ("next", json!({ "type": ["string", "null"] }))])
}

pub(super) fn turn() -> Value {
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

pub(super) fn component() -> Value {
    object(&[
        ("name", string()),
        ("number", integer()),
        ("sha256", string()),
        ("created_ms", integer()),
    ])
}

pub(super) fn listing() -> Value {
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

pub(super) fn said() -> Value {
    json!({ "type": "object", "properties": { "value": {}, "cap": {} }, "additionalProperties": false })
}

pub(super) fn settings() -> Value {
    object(&[("said", reference("Settings")), ("effective", json!({ "type": "object" }))])
}
