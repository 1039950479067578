use proptest::prelude::*;
use uuid::Uuid;

use super::*;
use crate::scope::{AgentId, SessionId, WorkspaceId};

const START_MS: u64 = 1_000 * DAY_MS;

fn facts() -> SessionFacts {
    SessionFacts {
        session: SessionId(Uuid::nil()),
        agent: AgentId(Uuid::nil()),
        workspace: WorkspaceId(Uuid::nil()),
        name: "monday".into(),
        active_ms: START_MS,
        closed_ms: None,
        held_ms: None,
        to_come: None,
        newer: 0,
    }
}

const POLICY: Policy =
    Policy { idle_ms: Some(30 * DAY_MS), after_close_ms: None, keep_last: None, hold: Hold::Free };

/// Whichever rule says first that a session is to go, it goes; none goes that was just in use.
#[test]
fn a_session_goes_by_the_rule_that_is_first() {
    let known = START_MS + ACTIVITY_KNOWN_MS;
    let goes = |why, at_ms| Verdict::Goes { why, at_ms };
    let days = |days: u64| Some(days * DAY_MS);
    let closed = SessionFacts { closed_ms: Some(START_MS + DAY_MS), ..facts() };
    let fifth = SessionFacts { newer: 4, ..facts() };
    let closing = Policy { after_close_ms: days(2), ..POLICY };
    let at_once = Policy { idle_ms: Some(0), ..POLICY };
    let four = Policy { keep_last: Some(4), ..POLICY };
    for (facts, policy, verdict) in [
        (&facts(), POLICY, goes(Reason::Idle, known + 30 * DAY_MS)),
        (&facts(), closing, goes(Reason::Idle, known + 30 * DAY_MS)),
        (&closed, closing, goes(Reason::Closed, START_MS + 3 * DAY_MS)),
        (&closed, Policy { idle_ms: days(1), ..closing }, goes(Reason::Idle, known + DAY_MS)),
        (&facts(), at_once, goes(Reason::Idle, known + SESSION_QUIET_MS)),
        (&fifth, four, goes(Reason::BeyondLast, known + SESSION_QUIET_MS)),
        (&fifth, Policy { keep_last: Some(5), ..four }, goes(Reason::Idle, known + 30 * DAY_MS)),
        (
            &fifth,
            Policy { keep_last: Some(0), ..four },
            goes(Reason::BeyondLast, known + SESSION_QUIET_MS),
        ),
        (&closed, Policy { idle_ms: None, ..POLICY }, Verdict::Stays(Stay::Unbounded)),
        (&facts(), Policy { idle_ms: None, ..closing }, Verdict::Stays(Stay::Unbounded)),
        (&facts(), Policy { idle_ms: Some(u64::MAX), ..POLICY }, Verdict::Stays(Stay::Unbounded)),
        (&facts(), Policy { hold: Hold::Held, ..at_once }, Verdict::Stays(Stay::Held)),
    ] {
        assert_eq!(judge(facts, &policy), verdict, "{facts:?} {policy:?}");
    }
}

fn amount() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![Just(None), (0..4_u64).prop_map(|days| Some(days * DAY_MS)), Just(Some(u64::MAX))]
}

fn policies() -> impl Strategy<Value = Policy> {
    let last = prop_oneof![Just(None), (0..4_u64).prop_map(Some)];
    let hold = prop_oneof![3 => Just(Hold::Free), 1 => Just(Hold::Held)];
    (amount(), amount(), last, hold).prop_map(|(idle_ms, after_close_ms, keep_last, hold)| Policy {
        idle_ms,
        after_close_ms,
        keep_last,
        hold,
    })
}

fn some_facts() -> impl Strategy<Value = SessionFacts> {
    let times = || 0..6 * DAY_MS;
    let to_come = prop_oneof![
        4 => Just(None),
        1 => Just(Some(ToCome::Running)),
        1 => Just(Some(ToCome::Queued)),
        1 => Just(Some(ToCome::Question)),
        1 => Just(Some(ToCome::Wakeup)),
    ];
    let closed = proptest::option::of(times());
    let held = prop_oneof![4 => Just(None), 1 => times().prop_map(Some)];
    (times(), closed, held, to_come, 0..5_u64).prop_map(
        |(active_ms, closed_ms, held_ms, to_come, newer)| SessionFacts {
            active_ms,
            closed_ms,
            held_ms,
            to_come,
            newer,
            ..facts()
        },
    )
}

/// Whether the first is no longer than the second.
fn is_shorter(one: &Policy, other: &Policy) -> bool {
    let most = |amount: Option<u64>| amount.unwrap_or(u64::MAX);
    most(one.idle_ms) <= most(other.idle_ms)
        && most(one.after_close_ms) <= most(other.after_close_ms)
        && most(one.keep_last) <= most(other.keep_last)
        && (one.hold == Hold::Free || other.hold == Hold::Held)
}

/// The longer of two in each respect.
fn longer(one: &Policy, other: &Policy) -> Policy {
    let most = |one: Option<u64>, other: Option<u64>| Some(one?.max(other?));
    Policy {
        idle_ms: most(one.idle_ms, other.idle_ms),
        after_close_ms: most(one.after_close_ms, other.after_close_ms),
        keep_last: most(one.keep_last, other.keep_last),
        hold: one.hold.min(other.hold),
    }
}

proptest! {
    /// Whatever is set, nothing goes in which something is to come, that is held, or that was just
    /// in use.
    #[test]
    fn nothing_goes_that_is_needed(facts in some_facts(), policy in policies(), now in 0..9 * DAY_MS) {
        let is_needed = facts.to_come.is_some()
            || facts.held_ms.is_some()
            || policy.hold == Hold::Held
            || now < facts.active_ms + ACTIVITY_KNOWN_MS + SESSION_QUIET_MS;
        if judge(&facts, &policy).by(now).is_some() {
            prop_assert!(!is_needed, "{facts:?} {policy:?} {now}");
        }
    }

    /// To shorten how long things are kept brings nothing back, to lengthen it removes nothing: what
    /// goes goes under all that is shorter, at every later time.
    #[test]
    fn shortening_brings_nothing_back_and_lengthening_removes_nothing(
        facts in some_facts(),
        one in policies(),
        other in policies(),
        now in 0..9 * DAY_MS,
        later in 0..DAY_MS,
    ) {
        let longest = longer(&one, &other);
        prop_assert!(is_shorter(&one, &longest) && is_shorter(&other, &longest));
        if judge(&facts, &longest).by(now).is_some() {
            for shorter in [one, other] {
                let verdict = judge(&facts, &shorter);
                prop_assert!(verdict.by(now).is_some(), "{facts:?} {shorter:?} {longest:?} {now}");
                prop_assert!(verdict.by(now + later).is_some());
            }
        }
    }

    /// More that happened never makes a session go earlier.
    #[test]
    fn what_happens_never_makes_a_session_go_earlier(
        facts in some_facts(),
        policy in policies(),
        more in 0..DAY_MS,
    ) {
        let active = SessionFacts { active_ms: facts.active_ms + more, ..facts.clone() };
        if let (Verdict::Goes { at_ms: before, .. }, Verdict::Goes { at_ms: after, .. }) =
            (judge(&facts, &policy), judge(&active, &policy))
        {
            prop_assert!(before <= after);
        }
    }
}
