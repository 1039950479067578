//! `example:model/chat`: an import of this platform's own.
//!
//! A call is a request to a service elsewhere. It is awaited beside other turns, ends with its
//! turn, and is bounded in what it sends, what it takes, how long it takes and how many there are.

use std::collections::HashSet;
use std::sync::Arc;

use bailiwick::engine::wasmtime::{self, component::Linker};
use bailiwick::engine::{Beginning, Cancel, Import, Offered, TurnState};
use bailiwick::scope::AgentId;
use tokio::sync::Semaphore;

pub mod openai;
pub mod script;
mod wire;

/// The interface, as Rust sees it; generated from `wit/`.
#[expect(missing_docs, reason = "generated")]
pub mod bindings {
    bailiwick::engine::wasmtime::component::bindgen!({
        path: "wit",
        world: "chats",
        imports: { default: async },
        additional_derives: [PartialEq],
        wasmtime_crate: bailiwick::engine::wasmtime,
    });
}

use bindings::example::model::chat;
pub use chat::{Answer, Call, Error, ErrorCode, Host, Message, Outcome, Tool};
use openai::OpenAi;
use script::Script;

/// Calls of one turn.
pub const TURN_CALLS_MAX: u32 = 50;
/// Calls that are under way at once, of all turns; more wait.
pub const CALLS_MAX: usize = 32;
/// Texts of one call, all together, in bytes.
pub const PROMPT_BYTES_MAX: usize = 2 << 20;
/// Messages of one call.
pub const MESSAGES_MAX: usize = 4_096;
/// Tools of one call.
pub const TOOLS_MAX: usize = 128;

/// Who answers.
#[derive(Debug)]
pub enum Backend {
    /// A service that speaks as OpenAI's does.
    OpenAi(OpenAi),
    /// Nobody: the answers stand in a file.
    Script(Script),
}

/// The model, for the agents that have it.
#[derive(Debug)]
pub struct Model {
    shared: Arc<Shared>,
    agents: HashSet<AgentId>,
}

#[derive(Debug)]
struct Shared {
    backend: Backend,
    calls: Semaphore,
}

impl Model {
    /// For the turns of these agents, and of nobody else.
    pub fn new(backend: Backend, agents: impl IntoIterator<Item = AgentId>) -> Self {
        let shared = Arc::new(Shared { backend, calls: Semaphore::new(CALLS_MAX) });
        Self { shared, agents: agents.into_iter().collect() }
    }
}

/// The model, for one turn.
#[derive(Debug)]
pub struct Chat {
    shared: Arc<Shared>,
    cancel: Cancel,
    calls_left: u32,
}

impl Import for Model {
    type Turn = Chat;

    fn link(&self, linker: &mut Linker<TurnState>) -> wasmtime::Result<()> {
        chat::add_to_linker::<_, Offered<Self>>(linker, TurnState::offered::<Self>)
    }

    fn begin(&self, turn: &Beginning<'_>) -> Option<Chat> {
        self.agents.contains(&turn.coordinates.agent).then(|| Chat {
            shared: self.shared.clone(),
            cancel: turn.cancel.clone(),
            calls_left: TURN_CALLS_MAX,
        })
    }
}

impl Host for Option<&mut Chat> {
    async fn complete(
        &mut self,
        messages: Vec<Message>,
        tools: Vec<Tool>,
    ) -> Result<Answer, Error> {
        match self {
            Some(chat) => chat.complete(&messages, &tools).await,
            None => Err(error(ErrorCode::Denied, "this turn has no model")),
        }
    }
}

impl Chat {
    async fn complete(&mut self, messages: &[Message], tools: &[Tool]) -> Result<Answer, Error> {
        let Some(left) = self.calls_left.checked_sub(1) else {
            let sentence = format!("a turn asks the model at most {TURN_CALLS_MAX} times");
            return Err(error(ErrorCode::TooLarge, sentence));
        };
        self.calls_left = left;
        check(messages, tools)?;
        tokio::select! {
            answer = self.shared.complete(messages, tools) => answer,
            () = self.cancel.asked() => {
                Err(error(ErrorCode::Cancelled, "this turn was asked to stop"))
            }
        }
    }
}

impl Shared {
    async fn complete(&self, messages: &[Message], tools: &[Tool]) -> Result<Answer, Error> {
        // Never closed. Whoever waits here can be stopped, as everywhere.
        let _place = self.calls.acquire().await;
        match &self.backend {
            Backend::OpenAi(service) => service.complete(messages, tools).await,
            Backend::Script(script) => script.complete(messages),
        }
    }
}

/// Refuses what is too large before any of it is copied: a guest may send a lot.
fn check(messages: &[Message], tools: &[Tool]) -> Result<(), Error> {
    if messages.is_empty() {
        return Err(error(ErrorCode::Invalid, "nothing was said"));
    }
    let bytes = messages.iter().map(message_bytes).chain(tools.iter().map(tool_bytes));
    let bytes = bytes.fold(0, usize::saturating_add);
    if messages.len() > MESSAGES_MAX || tools.len() > TOOLS_MAX || bytes > PROMPT_BYTES_MAX {
        let sentence = format!(
            "the model is told at most {MESSAGES_MAX} messages and {TOOLS_MAX} tools, of {PROMPT_BYTES_MAX} bytes in all: leave older messages out"
        );
        return Err(error(ErrorCode::TooLarge, sentence));
    }
    Ok(())
}

fn message_bytes(message: &Message) -> usize {
    match message {
        Message::System(text) | Message::User(text) => text.len(),
        Message::Tool(outcome) => outcome.id.len() + outcome.content.len(),
        Message::Assistant(Answer { text, calls }) => {
            let calls = calls.iter().map(|c| c.id.len() + c.name.len() + c.arguments.len() + 1);
            text.as_deref().unwrap_or_default().len() + calls.sum::<usize>()
        }
    }
}

fn tool_bytes(tool: &Tool) -> usize {
    tool.name.len() + tool.description.len() + tool.input_schema.len()
}

fn error(code: ErrorCode, message: impl Into<String>) -> Error {
    Error { code, message: message.into() }
}
