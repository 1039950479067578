//! Tries to get out of what the turn was given, and shows each refusal. It fails if one way is
//! open, or if a refusal says more than it should.

mod ways;

use bailiwick_guest::{Error, Failure, Request, agent, log};

agent!(run);

fn run(_: Request) -> Result<String, Failure> {
    let mut shown = Vec::new();
    let mut open = Vec::new();
    for way in ways::all() {
        match (way.attempt)() {
            Ok(got) => open.push(format!("{}: {got}", way.name)),
            Err(error) if reveals(&error) => {
                open.push(format!("{}: the refusal says “{error}”", way.name));
            }
            Err(error) => shown.push(line(&way.name, &error)),
        }
    }
    if open.is_empty() {
        return Ok(format!("{}\n{} ways tried, none is open.", shown.join("\n"), shown.len()));
    }
    log::error(format_args!("{} ways are open", open.len()));
    Err(format!("These ways are open:\n{}", open.join("\n")).into())
}

fn line(name: &str, error: &Error) -> String {
    format!("{name}: {} ({}): {error}", error.code.name(), error.reason)
}

/// Whether a refusal holds an id that this guest did not supply: any run of 32 hex digits,
/// dashes aside, but for the one that [`ways`] tries.
fn reveals(error: &Error) -> bool {
    let text = error.advice().replace(ways::OTHER_ID, "");
    let mut run = 0;
    text.chars().filter(|character| *character != '-').any(|character| {
        run = if character.is_ascii_hexdigit() { run + 1 } else { 0 };
        run >= 32
    })
}
