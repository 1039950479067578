//! Loops over a model and the tools of the SDK until the model has nothing more to do, and
//! remembers the conversation in a file of the session.

mod conversation;
mod model;

use bailiwick_guest::{Failure, Request, agent, dispatch, session};
use conversation::Conversation;
use model::{Call, Message, Outcome};

agent!(run);

const PURPOSE: &str = "You are an assistant who keeps files. `session/` lasts as long as this \
    conversation, `agent/` is your own and lasts, `workspace/` is what you may read of others. \
    Use the tools to look before you answer, and say what you wrote where.";

/// How often the model is asked in one turn, at most: one that calls tools for ever has lost its
/// way.
const STEPS_MAX: usize = 24;

fn run(request: Request) -> Result<String, Failure> {
    let tools = model::tools();
    let mut conversation = Conversation::load()?;
    conversation.push(Message::User(request.input));
    for _ in 0..STEPS_MAX {
        let answer = model::ask(PURPOSE, conversation.messages(), &tools)?;
        conversation.push(Message::Assistant(answer.clone()));
        let text = answer.text.unwrap_or_default();
        if answer.calls.is_empty() {
            // Kept whole or not at all: a model refuses a call that has no outcome.
            conversation.keep()?;
            return Ok(text);
        }
        if !text.is_empty() {
            session::say(format!("{text}\n"));
        }
        for call in answer.calls {
            conversation.push(Message::Tool(done(&call)));
        }
    }
    Err(format!("the model came to no end in {STEPS_MAX} steps").into())
}

fn done(call: &Call) -> Outcome {
    let answer = dispatch(&call.name, &call.arguments);
    Outcome { id: call.id.clone(), content: answer.content }
}
