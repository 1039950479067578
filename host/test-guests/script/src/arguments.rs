//! The arguments of one step.

use bailiwick_guest::{Failure, Precondition, Request};
use serde_json::{Map, Value, json};

pub(crate) struct Step(Map<String, Value>);

impl Step {
    /// A step, what it says of earlier answers and of the request put in.
    pub(crate) fn new(step: Value, answers: &[Value], request: &Request) -> Result<Self, Failure> {
        let Value::Object(mut step) = step else {
            return Err(format!("a step is an object, and not {step}").into());
        };
        for value in step.values_mut() {
            resolve(value, answers, request)?;
        }
        Ok(Self(step))
    }

    pub(crate) fn text(&self, name: &str) -> Result<&str, Failure> {
        self.optional(name).ok_or_else(|| format!("the step has no text `{name}`").into())
    }

    pub(crate) fn optional(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or_default()
    }

    pub(crate) fn long(&self, name: &str) -> Option<u64> {
        self.0.get(name)?.as_u64()
    }

    pub(crate) fn short(&self, name: &str, default: u32) -> Result<u32, Failure> {
        Ok(self.long(name).map(u32::try_from).transpose()?.unwrap_or(default))
    }

    pub(crate) fn condition(&self) -> Result<Precondition, Failure> {
        match self.0.get("if") {
            None => Ok(Precondition::Always),
            Some(Value::String(word)) if word == "absent" => Ok(Precondition::IfAbsent),
            Some(Value::Object(map)) => {
                let revision = map.get("revision").and_then(Value::as_str);
                let revision = revision.ok_or("a condition without a revision")?;
                Ok(Precondition::IfRevision(revision.to_owned()))
            }
            Some(other) => Err(format!("{other} is no condition").into()),
        }
    }

    pub(crate) fn bytes(&self) -> Result<Vec<u8>, Failure> {
        match self.0.get("bytes") {
            Some(Value::String(text)) => Ok(text.clone().into_bytes()),
            Some(Value::Object(map)) => match (map.get("hex"), map.get("fill"), map.get("size")) {
                (Some(Value::String(hex)), ..) => from_hex(hex),
                (_, Some(Value::String(fill)), Some(size)) => {
                    let size = usize::try_from(size.as_u64().ok_or("no size")?)?;
                    Ok(fill.bytes().cycle().take(size).collect())
                }
                _ => Err("bytes are a text, `hex`, or `fill` and `size`".into()),
            },
            _ => Err("the step has no bytes".into()),
        }
    }
}

fn resolve(value: &mut Value, answers: &[Value], request: &Request) -> Result<(), Failure> {
    match value {
        Value::Object(map) => {
            map.values_mut().try_for_each(|value| resolve(value, answers, request))
        }
        Value::String(text) => {
            if let Some(reference) = text.strip_prefix('$') {
                *value = look_up(reference, answers, request)?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn look_up(reference: &str, answers: &[Value], request: &Request) -> Result<Value, Failure> {
    match reference {
        "answer" => Ok(json!(request.answer)),
        "attempt" => Ok(json!(request.attempt)),
        _ => {
            let (step, field) = reference.split_once('.').ok_or("a reference is `$0.revision`")?;
            let answer = answers.get(step.parse::<usize>()?).ok_or("a reference to no step")?;
            Ok(answer["ok"][field].clone())
        }
    }
}

fn from_hex(hex: &str) -> Result<Vec<u8>, Failure> {
    let digits: Vec<_> = hex.chars().map(|digit| digit.to_digit(16)).collect();
    let digits = digits.into_iter().collect::<Option<Vec<_>>>().ok_or("bytes in hex")?;
    let byte =
        |pair: &[u32]| Ok(u8::try_from(pair.iter().fold(0, |byte, digit| byte * 16 + digit))?);
    digits.chunks(2).map(byte).collect()
}
