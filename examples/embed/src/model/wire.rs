//! Chat completions, as they are sent and answered.
//! <https://platform.openai.com/docs/api-reference/chat>

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Answer, Call, Error, ErrorCode, Message, Tool, error};

/// What is sent.
pub(super) fn request(model: &str, messages: &[Message], tools: &[Tool]) -> Result<Vec<u8>, Error> {
    let messages: Vec<_> = messages.iter().map(message).collect();
    let mut body = json!({ "model": model, "messages": messages });
    if !tools.is_empty() {
        body["tools"] = tools.iter().map(tool).collect::<Result<_, _>>()?;
    }
    Ok(body.to_string().into_bytes())
}

fn message(message: &Message) -> Value {
    match message {
        Message::System(text) => json!({ "role": "system", "content": text }),
        Message::User(text) => json!({ "role": "user", "content": text }),
        Message::Tool(outcome) => {
            json!({ "role": "tool", "tool_call_id": outcome.id, "content": outcome.content })
        }
        Message::Assistant(answer) => {
            let mut message = json!({ "role": "assistant", "content": answer.text });
            if !answer.calls.is_empty() {
                message["tool_calls"] = answer.calls.iter().map(call).collect();
            }
            message
        }
    }
}

fn call(call: &Call) -> Value {
    let function = json!({ "name": call.name, "arguments": call.arguments });
    json!({ "id": call.id, "type": "function", "function": function })
}

fn tool(tool: &Tool) -> Result<Value, Error> {
    let no_schema = |_| {
        let sentence = format!("the schema of the tool `{}` is no JSON", tool.name);
        error(ErrorCode::Invalid, sentence)
    };
    let parameters: Value = serde_json::from_str(&tool.input_schema).map_err(no_schema)?;
    let (name, description) = (&tool.name, &tool.description);
    let function = json!({ "name": name, "description": description, "parameters": parameters });
    Ok(json!({ "type": "function", "function": function }))
}

/// What is answered, as far as it matters.
#[derive(Debug, Deserialize)]
struct Completion {
    choices: Vec<Choice>,
}

#[derive(Debug, Deserialize)]
struct Choice {
    message: Said,
    finish_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Said {
    content: Option<String>,
    refusal: Option<String>,
    tool_calls: Option<Vec<ToolCall>>,
}

#[derive(Debug, Deserialize)]
struct ToolCall {
    id: Option<String>,
    function: Function,
}

#[derive(Debug, Deserialize)]
struct Function {
    name: String,
    /// A text, as the specification has it; some services send the object that it stands for.
    #[serde(default)]
    arguments: Value,
}

/// What the model said.
pub(super) fn answer(body: &[u8]) -> Result<Answer, Error> {
    let completion = serde_json::from_slice::<Completion>(body).map_err(|cause| {
        tracing::warn!(%cause, "the model's service answered what is no completion");
        no_answer()
    })?;
    let choice = completion.choices.into_iter().next().ok_or_else(no_answer)?;
    match choice.finish_reason.as_deref() {
        Some("length") => {
            return Err(error(ErrorCode::TooLarge, "the model's answer was too long for it"));
        }
        Some("content_filter") => {
            return Err(error(ErrorCode::Unavailable, "the model's service withheld its answer"));
        }
        _ => {}
    }
    let Said { content, refusal, tool_calls } = choice.message;
    let text = content.or(refusal).filter(|text| !text.is_empty());
    let calls: Vec<_> =
        tool_calls.unwrap_or_default().into_iter().enumerate().map(wanted).collect();
    if text.is_none() && calls.is_empty() {
        return Err(no_answer());
    }
    Ok(Answer { text, calls })
}

fn wanted((at, ToolCall { id, function }): (usize, ToolCall)) -> Call {
    let arguments = match function.arguments {
        Value::String(text) => text,
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let id = id.filter(|id| !id.is_empty()).unwrap_or_else(|| format!("call-{at}"));
    Call { id, name: function.name, arguments }
}

fn no_answer() -> Error {
    error(ErrorCode::Unavailable, "the model's service gave no answer that makes sense")
}

/// The word for what went wrong, where the service has one.
pub(super) fn failure_code(body: &[u8]) -> Option<String> {
    let body: Value = serde_json::from_slice(body).ok()?;
    Some(body["error"]["code"].as_str()?.to_owned())
}
