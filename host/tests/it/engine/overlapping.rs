//! Guests whose calls overlap: what they gain, and that they harm nobody.

use std::time::Duration;

use bailiwick::engine::{Cancel, End, LimitKind, Request, Verdict};
use bailiwick::limits::{Limits, OVERLAPPING_INSTANCES_MAX};
use bailiwick::store::Precondition;
use bytes::Bytes;
use tokio::time::Instant;

use super::hostile::{assert_limit, beside_others, reply};
use super::{Host, limits, wat};
use crate::faulty::{Fault, POISON, Plan};
use crate::guests::guest;

/// As each call of a store takes that is some way off.
const LATENCY: Duration = Duration::from_millis(20);

/// The guest of these tests; `None`, told loudly, where none are built.
fn overlapping() -> Option<Vec<u8>> {
    guest("overlapping")
}

async fn write_files(host: &Host, number: usize) {
    for index in 0..number {
        let path = format!("session/notes/{index}.md");
        let text = Bytes::from(format!("note number {index}\n"));
        host.space().write(&path, text, Precondition::Always).await.unwrap();
    }
}

/// On a store that answers in 20 ms, a guest that reads a hundred files 16 at once is done in an
/// eighth of the time that it takes one by one.
#[tokio::test(start_paused = true)]
async fn sixteen_at_once_take_an_eighth_of_the_time() {
    let Some(gather) = guest("gather") else { return };
    let host = Host::new(limits());
    let gather = host.load(&gather).await;
    write_files(&host, 100).await;
    host.store.slow_down(LATENCY);
    let mut took = Vec::new();
    for (in_flight, most) in [(1, 1), (16, 16)] {
        host.store.most_at_once();
        let started = Instant::now();
        let report = host.run(&gather, &format!("session/notes {in_flight}")).await;
        took.push(started.elapsed());
        assert!(reply(&report).starts_with("100 files have 300 words."), "{}", reply(&report));
        assert_eq!(host.store.most_at_once(), most);
    }
    assert!(took[1] * 8 <= took[0], "{took:?}");
}

/// More calls than are worked on at once wait for their turn, and the store sees no more of them.
#[tokio::test(start_paused = true)]
async fn further_calls_wait_for_their_turn() {
    let Some(guest) = overlapping() else { return };
    let host = Host::new(limits());
    let guest = host.load(&guest).await;
    host.store.slow_down(LATENCY);
    let report = host.run(&guest, "awaited 300").await;
    assert_eq!(reply(&report), "300 answered, 0 refused: none");
    assert_eq!(host.store.most_at_once(), limits().turn_operations_max);
}

/// Every verb does what it does in `files`.
#[tokio::test]
async fn overlapping_verbs_are_those_of_files() {
    let Some(guest) = overlapping() else { return };
    let host = Host::new(limits());
    let report = host.run(&host.load(&guest).await, "verbs").await;
    assert_eq!(
        reply(&report),
        "session/verbs/c.txt session/verbs/d.txt Some(\"not-found\") a text \
         [\"session/verbs/c.txt\", \"session/verbs/d.txt\"]"
    );
    assert_eq!(report.events.len(), 6);
}

/// Streams carry bytes of any number, however they are cut.
#[tokio::test]
async fn streams_carry_what_was_written() {
    let Some(guest) = overlapping() else { return };
    let host = Host::new(limits());
    let guest = host.load(&guest).await;
    for bytes in [0, 1, 262_144, 5_000_000] {
        let report = host.run(&guest, &format!("copy {bytes}")).await;
        assert_eq!(reply(&report), format!("{bytes} bytes, the same: true"));
        let report = host.run(&guest, &format!("piped {bytes}")).await;
        assert_eq!(reply(&report), format!("{bytes} bytes, the same: true"));
    }
    assert_eq!(reply(&host.run(&guest, "bytewise 3000").await), "3000 bytes, one by one");
}

/// A read of a stream that is given up loses no byte.
#[tokio::test]
async fn a_read_that_is_given_up_loses_nothing() {
    let Some(guest) = overlapping() else { return };
    let host = Host::new(limits());
    let guest = host.load(&guest).await;
    host.store.slow_down(Duration::from_millis(1));
    let report = host.run(&guest, "given-up-reads 50").await;
    assert_eq!(reply(&report), "1048576 bytes, the same: true");
}

/// A stream that is given up, that had another size than was said, or that is open when the turn
/// ends, leaves nothing; what is refused is told.
#[tokio::test]
async fn a_stream_that_ends_early_leaves_nothing() {
    let Some(guest) = overlapping() else { return };
    let host = Host::new(limits());
    let guest = host.load(&guest).await;
    let not_found = "Some(\"not-found\")";
    assert_eq!(reply(&host.run(&guest, "dropped 3000000").await), not_found);
    let incomplete = "[Some(\"incomplete\"), Some(\"incomplete\"), Some(\"incomplete\")]";
    let wrong = host.run(&guest, "wrong-size 1000").await;
    assert_eq!(reply(&wrong), format!("{incomplete} {not_found}"));
    assert_eq!(
        reply(&host.run(&guest, "unfinished 3000000").await),
        "left a stream of 3000000 bytes"
    );
    assert_eq!(host.space().stat("session/target.bin").await.unwrap_err().reason, "not-found");
    let denied = host.run(&guest, "denied").await;
    assert_eq!(reply(&denied), "Some(\"read-only\") Some(\"read-only\") Some(\"skill-not-bound\")");
    host.storage.settled(Duration::from_secs(5)).await;
    assert_eq!(host.store.under_way(), 0);
}

/// A stream is pinned to the content that it was opened at.
#[tokio::test]
async fn a_stream_never_mixes_two_contents() {
    let Some(guest) = overlapping() else { return };
    let host = Host::new(limits());
    let report = host.run(&host.load(&guest).await, "changed").await;
    assert_eq!(reply(&report), "Some(\"conflict\")");
}

/// Ten thousand calls that nobody awaits are let in up to the bound, and gone with their turn.
#[tokio::test]
async fn calls_that_nobody_awaits_are_bounded_and_end_with_their_turn() {
    let Some(guest) = overlapping() else { return };
    let host = Host::new(limits());
    host.store.plan(Plan::Every(Fault::Hang));
    let report = beside_others(&host, &guest, "left 10000").await;
    assert_eq!(reply(&report), "left 10000 calls");
    assert_eq!(host.store.most_at_once(), limits().turn_operations_max);
    assert_eq!(host.store.under_way(), 0);
    host.store.plan(Plan::None);
    let left = host.space().stat("session/left/0.txt").await.unwrap_err();
    assert_eq!(left.reason, "not-found");
}

/// One call more than may be under way is refused by name, and the others are answered.
#[tokio::test(start_paused = true)]
async fn calls_under_way_are_bounded() {
    let Some(guest) = overlapping() else { return };
    let host = Host::new(Limits { turn_calls_max: 100, ..limits() });
    let guest = host.load(&guest).await;
    host.store.slow_down(LATENCY);
    let report = host.run(&guest, "awaited 120").await;
    assert_eq!(reply(&report), "100 answered, 20 refused: calls");
    let report = host.run(&guest, "large-writes 5").await;
    assert_eq!(reply(&report), "2 written, 3 refused: calls");
}

/// What calls under way hold counts with the memories of all guests.
#[tokio::test]
async fn calls_count_as_memory_of_guests() {
    let Some(guest) = overlapping() else { return };
    let host = Host::new(Limits { host_guest_memory_bytes_max: 40 << 20, ..limits() });
    host.store.slow_down(Duration::from_millis(100));
    let report = host.run(&host.load(&guest).await, "large-writes 2").await;
    // The guest itself has more than 16 MiB.
    assert_eq!(reply(&report), "0 written, 2 refused: busy");
}

/// Calls that are begun and given up without a pause end as they were begun.
#[tokio::test]
async fn calls_that_are_given_up_leave_room() {
    let Some(guest) = overlapping() else { return };
    let host = Host::new(limits());
    host.store.slow_down(Duration::from_millis(50));
    let report = beside_others(&host, &guest, "given-up 20000").await;
    assert_eq!(reply(&report), "gave up 20000 calls");
    assert_eq!(host.store.under_way(), 0);
}

/// A guest that computes, waits for ever, or writes without end is ended in time, with its calls.
#[tokio::test]
async fn a_turn_with_calls_under_way_ends_in_time() {
    let Some(guest) = overlapping() else { return };
    let host = Host::new(Limits { turn_ms_max: 500, ..limits() });
    host.store.slow_down(Duration::from_millis(1));
    for input in ["left-and-spin 100", "endless", "large-reads-and-spin 100"] {
        let report = beside_others(&host, &guest, input).await;
        assert_limit(&report, LimitKind::Time);
        assert_eq!(host.store.under_way(), 0, "{input}");
    }
    assert_eq!(host.space().stat("session/target.bin").await.unwrap_err().reason, "not-found");
}

/// Calls go on while their guest computes: they hold nothing of the host for longer than they take.
#[tokio::test]
async fn calls_go_on_while_their_guest_computes() {
    let Some(guest) = overlapping() else { return };
    let host = Host::new(Limits { turn_ms_max: 1_500, ..limits() });
    host.store.slow_down(Duration::from_millis(50));
    let report = beside_others(&host, &guest, "left-and-spin 10").await;
    assert_limit(&report, LimitKind::Time);
    for index in 0..10 {
        host.space().stat(&format!("session/left/{index}.txt")).await.unwrap();
    }
}

/// A cancelled turn is ended with its calls.
#[tokio::test]
async fn a_cancelled_turn_is_ended_with_its_calls() {
    let Some(guest) = overlapping() else { return };
    let host = Host::new(limits());
    host.store.plan(Plan::Every(Fault::Hang));
    let guest = host.load(&guest).await;
    for input in ["left-and-spin 20", "left-and-wait 20", "awaited 20"] {
        let report = host.cancelled_after(&guest, input, Duration::from_millis(50)).await;
        assert_eq!(report.end, End::Cancelled, "{input}");
        assert_eq!(host.store.under_way(), 0, "{input}");
    }
}

/// A turn that is dropped takes its calls with it.
#[tokio::test]
async fn a_dropped_turn_takes_its_calls_along() {
    let Some(guest) = overlapping() else { return };
    let host = Host::new(limits());
    host.store.plan(Plan::Every(Fault::Hang));
    let guest = host.load(&guest).await;
    let (space, input) = (host.space(), "left-and-wait 20".to_owned());
    let request = Request { input, attempt: 1, ..Request::default() };
    let turn =
        host.engine.run(&guest, space.clone(), request, std::sync::Arc::new(()), Cancel::new());
    assert!(tokio::time::timeout(Duration::from_millis(300), turn).await.is_err());
    assert_eq!(host.store.under_way(), 0);
    assert_eq!(space.stat("session/a.txt").await.unwrap_err().reason, "turn-over");
}

/// A panic and a wait for nothing are traps; calls under way end with them.
#[tokio::test]
async fn traps_take_calls_along() {
    let Some(guest) = overlapping() else { return };
    let host = Host::new(limits());
    host.store.slow_down(Duration::from_millis(200));
    for (input, words) in [("panic", "unreachable"), ("deadlock", "deadlock")] {
        let report = beside_others(&host, &guest, input).await;
        assert!(
            matches!(&report.end, End::Trapped(why) if why.contains(words)),
            "{:?}",
            report.end
        );
    }
    assert_eq!(host.space().stat("session/left/0.txt").await.unwrap_err().reason, "not-found");
}

/// A store that panics ends the turn whose call it was, with its other calls, and no other turn.
#[tokio::test]
async fn a_panic_in_an_overlapping_call_ends_one_turn() {
    let Some(guest) = overlapping() else { return };
    let host = Host::new(limits());
    let guest = host.load(&guest).await;
    for latency in [Duration::ZERO, Duration::from_millis(5)] {
        host.store.slow_down(latency);
        host.store.meanwhile(7, async { panic!("a panic in the store") });
        let report = host.run(&guest, "awaited 20").await;
        let is_told = matches!(&report.end, End::HostFault(why) if why.contains("in the store"));
        assert!(is_told, "{:?}", report.end);
        assert_eq!(host.store.under_way(), 0);
        reply(&host.run(&guest, "awaited 20").await);
    }
}

/// An asynchronous turn is bounded as any other one, whatever made it; and in its instances, each
/// of which may hold a stack, more closely.
#[tokio::test]
async fn an_asynchronous_turn_is_bounded_like_another() {
    let host = Host::new(Limits { turn_ms_max: 500, guest_memory_bytes_max: 8 << 20, ..limits() });
    let echo = host.load(&wat::overlapping_alone(wat::ECHO)).await;
    assert_eq!(reply(&host.run(&echo, "well").await), "well");
    for (module, kind) in [
        (wat::SPIN, LimitKind::Time),
        (wat::DEEP_CALLS, LimitKind::Stack),
        (wat::TABLE_BOMB, LimitKind::Table),
        (wat::FAILED_GROWTHS, LimitKind::Memory),
    ] {
        assert_limit(&beside_others(&host, &wat::overlapping_alone(module), "").await, kind);
    }
    let few = host.load(&wat::many_overlapping_instances(OVERLAPPING_INSTANCES_MAX - 4)).await;
    assert_eq!(reply(&host.run(&few, "well").await), "well");
    let many = wat::many_overlapping_instances(OVERLAPPING_INSTANCES_MAX);
    assert_limit(&beside_others(&host, &many, "").await, LimitKind::Instances);
}

/// Open streams are bounded as readers are.
#[tokio::test]
async fn open_streams_are_bounded() {
    let Some(guest) = overlapping() else { return };
    let host = Host::new(limits());
    let report = beside_others(&host, &guest, "unread 5000").await;
    assert_eq!(reply(&report), "64 open, then readers");
}

/// Nothing of a failing store is told by these doors either.
#[tokio::test]
async fn no_answer_of_an_overlapping_call_holds_what_failed_below() {
    let Some(guest) = overlapping() else { return };
    let host = Host::new(limits());
    let guest = host.load(&guest).await;
    host.store.plan(Plan::Every(Fault::Before));
    for input in ["verbs", "copy 1000", "unread 1"] {
        let report = host.run(&guest, input).await;
        let End::GuestError(told) = &report.end else { panic!("{input}: {:?}", report.end) };
        assert!(told.contains("storage did not answer"), "{told}");
        assert!(POISON.iter().all(|word| !told.contains(word)), "{told}");
    }
}

/// Which world a component is of is told without running it.
#[tokio::test]
async fn an_inspection_tells_the_asynchronous_world() {
    let Some(guest) = overlapping() else { return };
    let inspection = Host::new(limits()).engine.inspect(&guest).await;
    assert_eq!(inspection.verdict, Verdict::AsyncTurn);
    assert!(inspection.imports.iter().any(|name| name == "bailiwick:storage/async-files@0.1.0"));
    assert!(inspection.to_string().contains("its calls may overlap"), "{inspection}");
}
