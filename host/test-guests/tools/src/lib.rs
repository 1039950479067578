//! Calls one tool, as a model loop would: the input is `{"name", "arguments"}`, the reply
//! `{"content", "is_error"}`. The input `{}` is answered with the definitions of the tools.

use bailiwick_guest::{Failure, Request, Tool, agent, dispatch, tools};
use serde_json::Value;

agent!(run);

fn run(request: Request) -> Result<String, Failure> {
    let call: Value = serde_json::from_str(&request.input)?;
    let Some(name) = call["name"].as_str() else {
        return Ok(Value::from_iter(tools().iter().map(Tool::to_json)).to_string());
    };
    Ok(dispatch(name, &call["arguments"].to_string()).to_json().to_string())
}
