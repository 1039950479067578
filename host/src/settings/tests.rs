use proptest::prelude::*;

use super::*;

const NONE: FileAccess = FileAccess(None);
const READ: FileAccess = FileAccess(Some(Access::ReadOnly));
const WRITE: FileAccess = FileAccess(Some(Access::ReadWrite));

fn said<T>(value: Option<T>, cap: Option<T>) -> Said<T> {
    Said { value, cap }
}

fn chain<T: Copy>(levels: [(Option<T>, Option<T>); 3]) -> [(Level, Said<T>); 3] {
    let [deployment, workspace, agent] = levels.map(|(value, cap)| said(value, cap));
    [(Level::Deployment, deployment), (Level::Workspace, workspace), (Level::Agent, agent)]
}

/// The nearest value wins, within every cap; unset is inherited; each value knows its origin.
#[test]
fn the_nearest_value_wins_within_every_cap() {
    use Level::{Agent, Deployment, Host, Workspace};
    let (w, r, n) = (Some(WRITE), Some(READ), Some(NONE));
    for (levels, value, origin) in [
        ([(None, None), (None, None), (None, None)], READ, Origin::Value(Host)),
        ([(w, None), (None, None), (None, None)], WRITE, Origin::Value(Deployment)),
        ([(w, None), (n, None), (None, None)], NONE, Origin::Value(Workspace)),
        ([(n, None), (n, None), (w, None)], WRITE, Origin::Value(Agent)),
        ([(None, r), (None, None), (w, None)], READ, Origin::Cap(Deployment)),
        ([(None, r), (None, w), (w, None)], READ, Origin::Cap(Deployment)),
        ([(w, None), (None, n), (w, w)], NONE, Origin::Cap(Workspace)),
        ([(w, None), (None, None), (None, n)], NONE, Origin::Cap(Agent)),
        ([(w, n), (w, w), (w, w)], NONE, Origin::Cap(Deployment)),
        ([(None, r), (None, r), (r, None)], READ, Origin::Value(Agent)),
    ] {
        let resolved = resolve((READ, WRITE), &chain(levels));
        assert_eq!((resolved.value, resolved.origin), (value, origin), "{levels:?}");
    }
}

/// What cannot be understood grants nothing, and is refused where somebody says it.
#[test]
fn what_is_not_understood_grants_nothing() {
    for bad in
        [json!(""), json!("rw"), json!("Read-Write"), json!(1), json!(true), json!([]), json!({})]
    {
        for part in ["value", "cap"] {
            let kept = json!({ "workspace_files": { part: bad }, "turn_ms": { part: bad } });
            let settings = Settings::read(&kept);
            let effective = Effective::of(&Limits::default(), &[(Level::Workspace, settings)]);
            assert!(Settings::parse(&kept).is_err(), "{kept}");
            assert_eq!(effective.workspace_files.value, NONE, "{kept}");
            assert!(effective.turn_ms.value <= Amount::of(1), "{kept}");
        }
        if !bad.is_object() {
            let whole = Settings::read(&json!({ "agent_files": bad }));
            assert_eq!(whole.agent_files, said(Some(NONE), Some(NONE)), "{bad}");
        }
    }
    for unset in
        [json!(null), json!({}), json!({ "agent_files": null, "turn_ms": { "cap": null } })]
    {
        assert_eq!(Settings::read(&unset), Settings::default(), "{unset}");
    }
    for wrong in [
        json!(null),
        json!([]),
        json!({ "agent_file": {} }),
        json!({ "agent_files": "none" }),
        json!({ "agent_files": { "values": "none" } }),
        json!({ "turn_ms": { "value": -1 } }),
        json!({ "turn_ms": { "value": 0.5 } }),
        json!({ "turn_ms": { "value": 1u64 << 53 } }),
        json!({ "turn_ms": { "value": "Unlimited" } }),
    ] {
        assert!(Settings::parse(&wrong).is_err(), "{wrong}");
    }
}

/// The host's own limits are caps that no level lifts.
#[test]
fn no_level_lifts_a_limit_of_the_host() {
    let limits = Limits::default();
    let wanted = json!({
        "turn_ms": { "value": "unlimited", "cap": "unlimited" },
        "guest_memory_bytes": { "value": 1u64 << 52 },
        "spill_bytes": { "value": 100 },
        "retention_keep_last": { "cap": 7 },
    });
    let settings = Settings::parse(&wanted).unwrap();
    assert_eq!(settings.to_json(), wanted);
    let effective = Effective::of(&limits, &[(Level::Agent, settings)]);
    assert_eq!(effective.turn_ms.value.number(), Some(limits.turn_ms_max));
    assert_eq!(effective.turn_ms.origin, Origin::Cap(Level::Host));
    assert_eq!(
        effective.guest_memory_bytes.value.number(),
        Some(limits.guest_memory_bytes_max as u64)
    );
    assert_eq!(effective.spill_bytes.value.number(), Some(100));
    assert_eq!(effective.retention_keep_last.value.number(), Some(7));
    assert_eq!(effective.retention_idle_days.value.number(), Some(30));
    let shown = effective.to_json();
    assert_eq!(
        shown["spill_bytes"],
        json!({ "value": 100, "from": "agent", "by": "value", "cap": 32768, "cap_from": "host" })
    );
    assert_eq!(shown["workspace_files"]["value"], "read-only");
}

fn any_said() -> impl Strategy<Value = (Option<u8>, Option<u8>)> {
    (proptest::option::of(0..4u8), proptest::option::of(0..4u8))
}

proptest! {
    /// Whatever is said: within every cap, and a value that somebody said or a cap.
    #[test]
    fn what_holds_is_within_every_cap(
        levels in [any_said(), any_said(), any_said()],
        host in (0..4u8, 0..4u8),
    ) {
        let chain = chain(levels);
        let resolved = resolve(host, &chain);
        let caps = || chain.iter().filter_map(|(_, said)| said.cap).chain([host.1]);
        let nearest = chain.iter().rev().find_map(|(_, said)| said.value).unwrap_or(host.0);
        prop_assert_eq!(Some(resolved.cap), caps().min());
        prop_assert_eq!(resolved.value, nearest.min(resolved.cap));
        // A cap that is lowered never lets more through.
        for (at, _) in chain.iter().enumerate() {
            let mut lowered = chain;
            lowered[at].1.cap = Some(lowered[at].1.cap.map_or(1, |cap| cap.min(1)));
            prop_assert!(resolve(host, &lowered).value <= resolved.value);
        }
    }

    /// What was said is kept as it was.
    #[test]
    fn what_is_said_is_kept(levels in [any_said(), any_said()]) {
        let [turn, idle] = levels.map(|(value, cap)| {
            let amount = |part: u8| if part == 3 { Amount::UNLIMITED } else { Amount::of(part.into()) };
            said(value.map(amount), cap.map(amount))
        });
        let keeping = |amount: Amount| amount.number().map_or(Keeping::ALL, Keeping::of);
        let idle = said(idle.value.map(keeping), idle.cap.map(keeping));
        let settings = Settings { turn_ms: turn, retention_idle_days: idle, ..Settings::default() };
        let kept = settings.to_json();
        prop_assert_eq!(&Settings::read(&kept), &settings);
        prop_assert_eq!(Settings::parse(&kept), Ok(settings));
    }
}
