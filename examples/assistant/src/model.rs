//! The model that the platform offers.

use std::error::Error as StdError;

use bindings::example::model::chat;

pub(crate) use chat::{Answer, Call, Message, Outcome, Tool};

/// Generated from what the platform offers.
mod bindings {
    wit_bindgen::generate!({
        path: "../embed/wit",
        world: "chats",
        additional_derives: [PartialEq, serde::Serialize, serde::Deserialize],
    });
}

/// The tools of the SDK, as the model is told of them.
pub(crate) fn tools() -> Vec<Tool> {
    let told = |tool: bailiwick_guest::Tool| Tool {
        name: tool.name.to_owned(),
        description: tool.description.to_owned(),
        input_schema: tool.input_schema.to_string(),
    };
    bailiwick_guest::tools().into_iter().map(told).collect()
}

/// Has the model go on with a conversation.
pub(crate) fn ask(
    purpose: &str,
    messages: &[Message],
    tools: &[Tool],
) -> Result<Answer, Box<dyn StdError + Send + Sync>> {
    let mut all = vec![Message::System(purpose.to_owned())];
    all.extend_from_slice(messages);
    chat::complete(&all, tools).map_err(|error| error.message.into())
}
