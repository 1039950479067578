//! An agent guest whose calls overlap: one turn takes what the caller sent and returns the reply.

use bailiwick_guest::tasks::{files, join};
use bailiwick_guest::{Failure, Request, agent, text};

/// Kept as long as the agent, across its sessions.
const NOTES: &str = "agent/notes.md";

agent!(async run);

async fn run(request: Request) -> Result<String, Failure> {
    text::append(NOTES, &format!("- {}\n", request.input.trim()))?;
    let files = files::list("agent").await?;
    // Sixteen at once: the host works on no more for one turn.
    let texts = join(16, files.iter().map(|file| files::read_to_string(&file.path))).await;
    let mut reply = format!("You said “{}”. What I know by now:\n", request.input.trim());
    for (file, text) in files.iter().zip(texts) {
        reply.push_str(&format!("{}:\n{}", file.path, text?));
    }
    Ok(reply)
}
