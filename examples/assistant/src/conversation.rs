//! What was said in a session, in a file of it.

use bailiwick_guest::{Error, ErrorCode, Failure, files};

use crate::model::Message;

const FILE: &str = "session/conversation.json";
/// How much of a conversation the model is told, in bytes of its file. What is older is
/// forgotten.
const BYTES_MAX: usize = 256 << 10;

/// The messages so far, the oldest first.
pub(crate) struct Conversation(Vec<Message>);

impl Conversation {
    /// As the last turn left it.
    pub(crate) fn load() -> Result<Self, Failure> {
        match files::read_to_string(FILE) {
            Ok(text) => Ok(Self(serde_json::from_str(&text)?)),
            Err(Error { code: ErrorCode::NotFound, .. }) => Ok(Self(Vec::new())),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn messages(&self) -> &[Message] {
        &self.0
    }

    pub(crate) fn push(&mut self, message: Message) {
        self.0.push(message);
    }

    /// For the next turn.
    pub(crate) fn keep(mut self) -> Result<(), Failure> {
        let mut text = serde_json::to_string(&self.0)?;
        while text.len() > BYTES_MAX && self.forget_one_turn() {
            text = serde_json::to_string(&self.0)?;
        }
        files::write_all(FILE, text)?;
        Ok(())
    }

    /// Drops all before the second thing that a person said: a conversation starts with one.
    fn forget_one_turn(&mut self) -> bool {
        let said =
            |(at, message): (usize, &Message)| matches!(message, Message::User(_)).then_some(at);
        let second = self.0.iter().enumerate().filter_map(said).nth(1);
        second.map(|at| self.0.drain(..at)).is_some()
    }
}
