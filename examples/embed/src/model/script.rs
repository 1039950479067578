//! A model whose answers stand in a file: for a look without a service, and for tests.

use serde::Deserialize;
use serde_json::Value;

use super::{Answer, Call, Error, ErrorCode, Message, error};

/// What stands for the content of the last message, in a text of an answer.
const LAST: &str = "{last}";

/// Answers, in order. Which one is next follows from the conversation, so that a turn that is
/// tried again is answered as it was.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub struct Script(Vec<Scripted>);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scripted {
    text: Option<String>,
    #[serde(default)]
    calls: Vec<ScriptedCall>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptedCall {
    name: String,
    arguments: Value,
}

impl Script {
    /// Reads a script: a JSON array of answers, each with a `text` (in which `{last}` stands for
    /// the content of the last message), with `calls` (each a `name` and `arguments`), or both.
    ///
    /// # Errors
    /// If it is none.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        Ok(serde_json::from_str(text)?)
    }

    /// The answer that comes after as many as the model has given.
    pub(super) fn complete(&self, messages: &[Message]) -> Result<Answer, Error> {
        let given = messages.iter().filter(|message| matches!(message, Message::Assistant(_)));
        let number = given.count();
        let scripted = self.0.get(number).ok_or_else(|| {
            error(ErrorCode::Unavailable, format!("the script ends after {number} answers"))
        })?;
        let last = messages.last().map(content).unwrap_or_default();
        let text = scripted.text.as_ref().map(|text| text.replace(LAST, last));
        let calls = scripted.calls.iter().enumerate().map(|(at, call)| Call {
            id: format!("call-{number}-{at}"),
            name: call.name.clone(),
            arguments: call.arguments.to_string(),
        });
        Ok(Answer { text, calls: calls.collect() })
    }
}

fn content(message: &Message) -> &str {
    match message {
        Message::System(text) | Message::User(text) => text,
        Message::Tool(outcome) => &outcome.content,
        Message::Assistant(answer) => answer.text.as_deref().unwrap_or_default(),
    }
}
