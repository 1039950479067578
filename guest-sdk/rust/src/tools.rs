//! The storage verbs as tools for a language model.

mod arguments;
mod verbs;

use serde_json::{Map, Value, json};

use crate::spill;
use arguments::Arguments;
use verbs::{Parameter, VERBS, Verb};

/// Answers longer than this, in bytes, are offered to the host for spilling.
const SHOWN_BYTES_MAX: usize = 16 << 10;

/// A tool, as models are told of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// What the model calls it by.
    pub name: &'static str,
    /// When to use it, and what it answers.
    pub description: &'static str,
    /// JSON Schema of its arguments.
    pub input_schema: Value,
}

impl Tool {
    /// `{"name", "description", "input_schema"}`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "description": self.description,
            "input_schema": self.input_schema,
        })
    }
}

/// What a tool answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// For the model: the result, or sentences on what went wrong and what to try instead.
    pub content: String,
    /// Whether it went wrong.
    pub is_error: bool,
}

impl Answer {
    /// `{"content", "is_error"}`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({ "content": self.content, "is_error": self.is_error })
    }
}

/// The tools, for the request to a model.
///
/// ```
/// let tools: Vec<_> = bailiwick_guest::tools().iter().map(|tool| tool.to_json()).collect();
/// assert!(tools.iter().any(|tool| tool["name"] == "read_file"));
/// ```
#[must_use]
pub fn tools() -> Vec<Tool> {
    VERBS.iter().map(Verb::tool).collect()
}

/// Does what a model asked for: the name of a tool and its arguments, as JSON text. Never fails:
/// what goes wrong is answered in words that the model can act on, and a result too large to
/// show is kept in a file that the answer names.
///
/// ```
/// let answer = bailiwick_guest::dispatch("read_file", "{}");
/// assert!(answer.is_error);
/// assert!(answer.content.contains("`path` is missing"));
/// ```
#[must_use]
pub fn dispatch(name: &str, arguments_json: &str) -> Answer {
    match call(name, arguments_json) {
        Ok(content) => Answer { content, is_error: false },
        Err(content) => Answer { content, is_error: true },
    }
}

fn call(name: &str, arguments_json: &str) -> Result<String, String> {
    let Some(verb) = VERBS.iter().find(|verb| verb.name == name) else {
        let names: Vec<_> = VERBS.iter().map(|verb| verb.name).collect();
        return Err(format!("There is no tool `{name}`. The tools are {}.", names.join(", ")));
    };
    let arguments = Arguments::parse(verb, arguments_json)?;
    let content = (verb.run)(&arguments).map_err(|error| error.advice())?;
    Ok(shown(verb, content))
}

/// The content where it is short, what the host shows of it where it is not.
fn shown(verb: &Verb, content: String) -> String {
    if content.len() <= SHOWN_BYTES_MAX {
        return content;
    }
    match spill(&format!("{}.txt", verb.name), &content) {
        Ok(spilled) => spilled.text,
        Err(error) => format!("{}\n[cut here: {error}]", head(&content)),
    }
}

fn head(content: &str) -> &str {
    &content[..content.floor_char_boundary(SHOWN_BYTES_MAX)]
}

impl Verb {
    fn tool(&self) -> Tool {
        Tool { name: self.name, description: self.description, input_schema: self.input_schema() }
    }

    fn input_schema(&self) -> Value {
        let properties: Map<_, _> =
            self.parameters.iter().map(|p| (p.name.to_owned(), p.schema())).collect();
        let required: Vec<_> =
            self.parameters.iter().filter(|p| p.is_required()).map(|p| p.name).collect();
        json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        })
    }
}

impl Parameter {
    fn schema(&self) -> Value {
        let mut schema = self.kind.schema();
        schema["description"] = json!(self.description);
        schema
    }
}

#[cfg(test)]
mod tests;
