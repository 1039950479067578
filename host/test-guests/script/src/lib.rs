//! Does the calls that its input names, one after the other, each as it stands in the contract,
//! and replies with their answers.
//!
//! The input is an array of steps, such as
//! `[{"do": "write", "path": "session/a", "bytes": "hello"}, {"do": "stat", "path": "session/a"}]`;
//! the reply is an array of as many `{"ok": …}` or `{"error": {code, reason, message, suggestions}}`.
//! A text `$0.revision` stands for `revision` of what step 0 answered. Bytes are a text,
//! `{"hex": "…"}` or `{"fill": "x", "size": 70000}`; a condition (`if`) is `"absent"` or
//! `{"revision": "…"}`. Handles are named: `{"do": "open-reader", "path": …, "as": "r"}`, then
//! `{"do": "reader-read", "on": "r"}`.

mod arguments;
mod files;
mod handles;
mod others;
mod values;

use arguments::Step;
use bailiwick_guest::{Error, Failure, Request, agent};
use handles::Handles;
use serde_json::{Value, json};

agent!(run);

/// What a step came to: an answer of the host, or a step that is none.
type Done = Result<Result<Value, Error>, Failure>;

fn run(request: Request) -> Result<String, Failure> {
    let steps: Vec<Value> = serde_json::from_str(&request.input)?;
    let mut handles = Handles::default();
    let mut answers = Vec::new();
    for step in steps {
        let step = Step::new(step, &answers, &request)?;
        answers.push(answer(perform(&step, &mut handles)?));
    }
    Ok(Value::from(answers).to_string())
}

fn perform(step: &Step, handles: &mut Handles) -> Done {
    let verb = step.text("do")?;
    if verb.contains("reader") || verb.contains("writer") {
        return handles.perform(verb, step);
    }
    match files::perform(verb, step)? {
        Some(answer) => Ok(answer),
        None => others::perform(verb, step),
    }
}

fn answer(result: Result<Value, Error>) -> Value {
    match result {
        Ok(value) => json!({ "ok": value }),
        Err(error) => json!({ "error": values::error(&error) }),
    }
}
