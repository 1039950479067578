//! A guest that needs a person: it parks with a question, and goes on with the answer.

use bailiwick_guest::{Failure, Outcome, Request, agent, files};

/// What was asked for, kept while nobody answers: the turn that goes on starts afresh.
const ORDER: &str = "session/order.txt";

agent!(run);

fn run(request: Request) -> Result<Outcome, Failure> {
    let Some(answer) = request.answer else {
        files::write(ORDER, &request.input)?;
        return Ok(Outcome::Park(format!("Shall I go on with “{}”? (yes or no)", request.input)));
    };
    let order = files::read_to_string(ORDER)?;
    match answer.trim().to_lowercase().as_str() {
        "yes" => Ok(format!("Done: {order}").into()),
        "no" => Ok(format!("Left undone: {order}").into()),
        _ => Ok(Outcome::Park(format!("“{answer}” is neither yes nor no. Go on with “{order}”?"))),
    }
}
