//! The end of a turn: what is recorded of it, and what is shown.

use std::process::ExitCode;

use bailiwick::catalog::{Ending, Failure as Kind, Finish, Lease};
use bailiwick::engine::{End, Report};
use bailiwick::space::FileEvent;
use bailiwick::worker::{Taken, ending_of, events_of, invoked_of, wakes_of};
use serde_json::{Value, json};

use super::super::Outcome;
use super::super::exit;
use super::super::failure::say;
use super::super::output::{Output, counted};
use super::Run;

/// What the catalog keeps: what the journal still holds, then the files in order.
pub(super) fn record(report: &Report, taken: Taken, component: Vec<u8>) -> Finish {
    let Taken { recorded, mut events } = taken;
    events.extend(events_of(&report.events));
    let mut ending = ending_of(&report.end);
    if let Ending::Asked { component: asking, .. } = &mut ending {
        *asking = Some(component);
    }
    let (wakes, invoked) = (wakes_of(&report.wakes), invoked_of(&report.invocations));
    Finish { ending, said: report.said.clone(), wakes, events, recorded, invoked }
}

/// A turn without a reply, in words.
struct Told {
    failure: Kind,
    exit: u8,
    sentence: String,
    /// As a person is told it.
    shown: String,
}

fn told(end: &End) -> Told {
    let (failure, exit, sentence, what) = match end {
        // These two are told by their own words.
        End::Reply(_) | End::Parked(_) => (Kind::HostFault, exit::HOST_FAULT, "", ""),
        End::GuestError(error) => {
            (Kind::GuestError, exit::GUEST_ERROR, error.as_str(), "the guest reports an error: ")
        }
        End::Trapped(error) => {
            (Kind::Trapped, exit::TRAPPED, error.as_str(), "the guest trapped: ")
        }
        End::Limit(_, error) => (Kind::Limit, exit::LIMIT, error.as_str(), "the turn was ended: "),
        End::Cancelled => (Kind::Cancelled, exit::CANCELLED, "the turn was cancelled", ""),
        End::HostFault(error) => {
            (Kind::HostFault, exit::HOST_FAULT, error.as_str(), "this host failed the turn: ")
        }
    };
    Told { failure, exit, sentence: sentence.to_owned(), shown: format!("{what}{sentence}") }
}

/// Shows how a turn ended, and gives the exit code for it.
pub(super) fn show(report: &Report, run: &Run, lease: Lease) -> Outcome {
    if report.log_lines_dropped > 0 {
        say(&format!("{} log lines over the bound were dropped", report.log_lines_dropped));
    }
    let mut output = Output::new();
    if run.json {
        output.json(&as_json(report, run, lease))?;
        output.flush()?;
        return Ok(ExitCode::from(code(&report.end)));
    }
    output.text(&unsaid(&report.end, &report.said))?;
    output.flush()?;
    match &report.end {
        End::Reply(_) => {}
        End::Parked(_) => say(&format!("the turn is parked; answer with: {}", run.how_to_answer())),
        end => say(&told(end).shown),
    }
    if !report.wakes.is_empty() && code(&report.end) <= exit::PARKED {
        let turns = counted(report.wakes.len() as u64, "more turn");
        say(&format!("the guest asked for {turns} later: kept, but nothing here runs them"));
    }
    Ok(ExitCode::from(code(&report.end)))
}

fn code(end: &End) -> u8 {
    match end {
        End::Reply(_) => 0,
        End::Parked(_) => exit::PARKED,
        end => told(end).exit,
    }
}

/// What is still to be printed after what was said: the reply or the question, unless the guest
/// said all of it, or the rest, if it said its start. The whole ends in a newline.
fn unsaid(end: &End, said: &str) -> String {
    let last = match end {
        End::Reply(text) | End::Parked(text) => text.as_str(),
        _ => "",
    };
    let rest = if last.trim_end() == said.trim_end() { "" } else { last };
    let rest = rest.strip_prefix(said).unwrap_or(rest);
    let is_start = last.starts_with(said);
    let open_line = !said.is_empty() && !said.ends_with('\n');
    let mut printed = String::new();
    if open_line && !rest.is_empty() && !is_start {
        printed.push('\n');
    }
    printed.push_str(rest);
    let whole_ends_open = if printed.is_empty() { open_line } else { !printed.ends_with('\n') };
    if whole_ends_open {
        printed.push('\n');
    }
    printed
}

fn as_json(report: &Report, run: &Run, lease: Lease) -> Value {
    let (outcome, reply, question, error) = match &report.end {
        End::Reply(reply) => ("reply", Some(reply.clone()), None, None),
        End::Parked(question) => ("parked", None, Some(question.clone()), None),
        end => {
            let Told { failure, sentence, .. } = told(end);
            (failure.as_str(), None, None, Some(sentence))
        }
    };
    let names = &run.names;
    json!({
        "workspace": names.agent.workspace.workspace.as_str(),
        "agent": names.agent.agent.as_str(),
        "session": names.session.as_str(),
        "turn": lease.turn.to_string(),
        "attempt": lease.attempt,
        "outcome": outcome,
        "reply": reply,
        "question": question,
        "error": error,
        "said": report.said,
        "events": report.events.iter().map(event_as_json).collect::<Vec<_>>(),
        "unstored": report.unstored,
        "wakes": report.wakes,
        "log_lines_dropped": report.log_lines_dropped,
        "usage": report.usage,
    })
}

fn event_as_json(event: &FileEvent) -> Value {
    match event {
        FileEvent::Written { path, size } => {
            json!({ "kind": "written", "path": path, "size": size })
        }
        FileEvent::Deleted { path } => json!({ "kind": "deleted", "path": path }),
        FileEvent::Promoted { source, target, revision } => {
            let revision = &revision.0;
            json!({ "kind": "promoted", "path": source, "target": target, "revision": revision })
        }
        FileEvent::Spilled { path } => json!({ "kind": "spilled", "path": path }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reply that was said is not printed again, however much of it was said.
    #[test]
    fn a_reply_is_printed_once() {
        let reply = |text: &str| End::Reply(text.to_owned());
        for (said, last, printed) in [
            ("", "whole", "whole\n"),
            ("", "", ""),
            ("whole", "whole", "\n"),
            ("whole\n", "whole", ""),
            ("who", "whole", "le\n"),
            ("thinking", "whole", "\nwhole\n"),
            ("thinking\n", "whole\n", "whole\n"),
            ("thinking", "", "\n"),
        ] {
            assert_eq!(unsaid(&reply(last), said), printed, "{said:?} then {last:?}");
        }
        assert_eq!(unsaid(&End::Cancelled, "part"), "\n");
    }
}
