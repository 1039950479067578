//! Every code of the contract, provoked from every language by one list of cases.

use std::collections::BTreeSet;
use std::time::Duration;

use bailiwick::engine::{Component, End};
use bailiwick::limits::Limits;
use serde::Deserialize;
use serde_json::Value;

use super::{Host, limits};
use crate::faulty::{Fault, Plan};
use crate::guests::program;

/// The guests that do what a list of steps says, each with the SDK of its language.
const INTERPRETERS: [&str; 4] = ["script", "python-script", "js-script", "c-script"];

/// Every code but `text-pending`: this host reads no text out of documents.
const CODES: [&str; 12] = [
    "busy",
    "closed",
    "conflict",
    "denied",
    "invalid",
    "no-match",
    "no-scope",
    "no-text",
    "not-found",
    "too-large",
    "unavailable",
    "unsupported",
];

/// Steps, of which the last one is refused with this code and all others are answered.
#[derive(Deserialize)]
struct Case {
    code: String,
    #[serde(default)]
    store: Store,
    steps: Vec<Value>,
}

/// What the store does meanwhile.
#[derive(Clone, Copy, Default, Deserialize)]
enum Store {
    #[default]
    #[serde(rename = "answers")]
    Answers,
    #[serde(rename = "cannot")]
    Cannot,
    #[serde(rename = "fails")]
    Fails,
    #[serde(rename = "short of room")]
    ShortOfRoom,
}

fn cases() -> Vec<Case> {
    serde_json::from_str(include_str!("codes.json")).unwrap()
}

/// The list of cases has every code that this host gives.
#[test]
fn the_cases_have_every_code() {
    let found: BTreeSet<_> = cases().into_iter().map(|case| case.code).collect();
    assert_eq!(found, CODES.map(str::to_owned).into());
}

/// A refusal has the same code, reason and suggestions in every language.
#[tokio::test]
async fn every_code_reaches_every_language() {
    let mut told = Vec::new();
    for name in INTERPRETERS {
        let Some(bytes) = program(name) else { continue };
        let limits =
            Limits { host_operations_max: 1, turn_operations_max: 1, busy_ms_max: 200, ..limits() };
        let host = Host::new(limits);
        let guest = host.load(&bytes).await;
        let mut refusals = Vec::new();
        for case in cases() {
            let error = refusal(&host, &guest, &case, name).await;
            refusals.push((
                error["code"].clone(),
                error["reason"].clone(),
                error["suggestions"].clone(),
            ));
        }
        told.push((name, refusals));
    }
    for (name, refusals) in &told {
        assert_eq!(*refusals, told[0].1, "{name}");
    }
}

/// The refusal of a case's last step.
async fn refusal(host: &Host, guest: &Component, case: &Case, name: &str) -> Value {
    let fault = match case.store {
        Store::Answers => None,
        Store::Cannot => Some(Fault::Cannot),
        Store::Fails => Some(Fault::Before),
        Store::ShortOfRoom => Some(Fault::Hang),
    };
    host.store.plan(fault.map_or(Plan::None, Plan::Every));
    let Store::ShortOfRoom = case.store else { return last(host, guest, case, name).await };
    // What another turn has under way takes the host's room.
    let space = host.space();
    let other = tokio::spawn(async move { space.stat("session/other.txt").await });
    while host.store.under_way() == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let error = last(host, guest, case, name).await;
    other.abort();
    let _ = other.await;
    error
}

async fn last(host: &Host, guest: &Component, case: &Case, name: &str) -> Value {
    let report = host.run(guest, &serde_json::to_string(&case.steps).unwrap()).await;
    let End::Reply(reply) = report.end else { panic!("{name}, {}: {:?}", case.code, report.end) };
    let mut answers: Vec<Value> = serde_json::from_str(&reply).unwrap();
    let answer = answers.pop().unwrap();
    assert_eq!(answer["error"]["code"], *case.code, "{name}: {answer}");
    for before in answers {
        assert!(before["error"].is_null(), "{name}, {}: {before}", case.code);
    }
    answer["error"].clone()
}
