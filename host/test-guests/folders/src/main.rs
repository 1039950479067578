//! Does what its input names, one step after the other, and prints what came of each. It has plain
//! files alone: no SDK.
//!
//! The input is an array of steps, such as `[["write", "/agent/a", "text"], ["ls", "/agent"]]`; what
//! is printed is an array of as many `{"ok": …}` or `{"error": "NotFound"}`. The steps `raw-…` call
//! `wasi:filesystem` as it is, and fail with its codes.

#![expect(clippy::disallowed_methods, reason = "plain files are what this is about")]

mod files;
mod handles;
mod large;
#[cfg(target_family = "wasm")]
mod raw;

use std::io::Read;

use handles::Handles;
use serde_json::{Value, json};

/// What a step came to; the word for why not.
type Done = Result<Value, String>;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input)?;
    let steps: Vec<Vec<Value>> = serde_json::from_str(&input)?;
    let mut handles = Handles::default();
    let mut answers = Vec::new();
    for step in &steps {
        answers.push(match perform(&Step(step), &mut handles) {
            Ok(value) => json!({ "ok": value }),
            Err(error) => json!({ "error": error }),
        });
    }
    println!("{}", Value::from(answers));
    Ok(())
}

fn perform(step: &Step<'_>, handles: &mut Handles) -> Done {
    let verb = step.text(0);
    #[cfg(target_family = "wasm")]
    if let Some(verb) = verb.strip_prefix("raw-") {
        return raw::perform(verb, step);
    }
    if let Some(verb) = verb.strip_prefix("h-") {
        return handles.perform(verb, step);
    }
    match verb {
        "fill" | "sum" | "copy-large" => large::perform(verb, step),
        "trap" => std::process::abort(),
        "spin" => loop {
            std::hint::spin_loop();
        },
        "exit" => std::process::exit(i32::try_from(step.number(1)).unwrap_or(1)),
        "environment" => Ok(std::env::vars().map(|(name, value)| json!([name, value])).collect()),
        "arguments" => Ok(std::env::args().map(Value::from).collect()),
        _ => files::perform(verb, step),
    }
}

/// A verb and what it is about.
struct Step<'a>(&'a [Value]);

impl Step<'_> {
    fn text(&self, at: usize) -> &str {
        self.0.get(at).and_then(Value::as_str).unwrap_or_default()
    }

    fn number(&self, at: usize) -> u64 {
        self.0.get(at).and_then(Value::as_u64).unwrap_or_default()
    }
}

/// A failure of a file, in a word.
fn word(error: std::io::Error) -> String {
    let kind = format!("{:?}", error.kind());
    match error.raw_os_error() {
        // The standard library has no word for it.
        Some(number) if kind == "Uncategorized" => format!("errno {number}"),
        _ => kind,
    }
}
