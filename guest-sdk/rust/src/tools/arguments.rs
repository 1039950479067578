//! Arguments that a model wrote, checked against the parameters of a verb.

use serde_json::{Map, Value, json};

use super::verbs::{Kind, Parameter, Verb};

/// The arguments of one call: each declared, of its kind, and none that is required missing.
pub(super) struct Arguments(Map<String, Value>);

impl Arguments {
    /// Reads arguments. The error is a sentence for the model. No text at all is no arguments,
    /// which some models send so.
    pub(super) fn parse(verb: &Verb, json: &str) -> Result<Self, String> {
        let json = if json.trim().is_empty() { "{}" } else { json };
        let parsed = serde_json::from_str::<Value>(json)
            .map_err(|error| format!("The arguments are not JSON: {error}."))?;
        let Value::Object(mut map) = parsed else {
            return Err(format!("The arguments are not a JSON object. {}", verb.usage()));
        };
        map.retain(|_, value| !value.is_null());
        check(verb, &map).map_err(|fault| format!("{fault} {}", verb.usage()))?;
        Ok(Self(map))
    }

    /// A text that is required, or empty.
    pub(super) fn text(&self, name: &str) -> &str {
        self.optional_text(name).unwrap_or_default()
    }

    pub(super) fn optional_text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    pub(super) fn optional_count(&self, name: &str) -> Option<u64> {
        self.0.get(name)?.as_u64()
    }

    pub(super) fn count_or(&self, name: &str, default: u32) -> u32 {
        let count = self.optional_count(name).and_then(|count| u32::try_from(count).ok());
        count.unwrap_or(default)
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or_default()
    }
}

fn check(verb: &Verb, map: &Map<String, Value>) -> Result<(), String> {
    for name in map.keys() {
        if !verb.parameters.iter().any(|parameter| parameter.name == name) {
            return Err(format!("There is no argument `{name}`."));
        }
    }
    for parameter in verb.parameters {
        match map.get(parameter.name) {
            Some(value) if !parameter.kind.admits(value) => {
                return Err(format!("`{}` is not {}.", parameter.name, parameter.kind.noun()));
            }
            None if parameter.is_required() => {
                return Err(format!("`{}` is missing.", parameter.name));
            }
            _ => {}
        }
    }
    Ok(())
}

impl Verb {
    fn usage(&self) -> String {
        let parameters: Vec<_> = self.parameters.iter().map(Parameter::usage).collect();
        format!("`{}` takes {}.", self.name, parameters.join(", "))
    }
}

impl Parameter {
    fn usage(&self) -> String {
        let need = if self.is_required() { "required" } else { "optional" };
        format!("`{}` ({}, {need})", self.name, self.kind.noun())
    }
}

impl Kind {
    pub(super) fn schema(&self) -> Value {
        match self {
            Self::Text => json!({ "type": "string" }),
            Self::Flag => json!({ "type": "boolean" }),
            Self::Count { min, max } => {
                json!({ "type": "integer", "minimum": min, "maximum": max })
            }
        }
    }

    fn admits(&self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_string(),
            Self::Flag => value.is_boolean(),
            Self::Count { min, max } => {
                value.as_u64().is_some_and(|count| (*min..=*max).contains(&count))
            }
        }
    }

    fn noun(&self) -> String {
        match self {
            Self::Text => "a string".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Count { min, max } => format!("a whole number from {min} to {max}"),
        }
    }
}
