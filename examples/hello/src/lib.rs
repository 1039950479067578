//! The smallest guest: a function and one macro.

use bailiwick_guest::{Failure, Request, agent};

agent!(run);

fn run(request: Request) -> Result<String, Failure> {
    let name = request.input.trim();
    if name.is_empty() {
        return Err("Say who you are: the input is empty.".into());
    }
    Ok(format!("Hello, {name}."))
}
