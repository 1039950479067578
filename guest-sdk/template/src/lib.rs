//! An agent guest: one turn takes what the caller sent and returns the reply.

use bailiwick_guest::{ErrorCode, Failure, Request, agent, files, text};

/// Kept as long as the agent, across its sessions.
const NOTES: &str = "agent/notes.md";

agent!(run);

fn run(request: Request) -> Result<String, Failure> {
    let notes = match files::read_to_string(NOTES) {
        Ok(notes) => notes,
        Err(error) if error.code == ErrorCode::NotFound => String::new(),
        Err(error) => return Err(error.into()),
    };
    text::append(NOTES, &format!("- {}\n", request.input.trim()))?;
    Ok(format!("You said “{}”. Before that you said:\n{notes}", request.input.trim()))
}
