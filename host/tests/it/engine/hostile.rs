//! Guests that mean harm: each ends in an end of its own, and a turn beside it notices nothing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bailiwick::engine::{
    Allocation, Bounds, Cancel, End, EngineOptions, LimitKind, Report, Request,
};
use bailiwick::limits::{Limits, READ_BYTES_MAX, TURN_TEXT_BYTES_MAX, TURN_WAKES_MAX};

use super::{Host, Recorder, limits, wat};
use crate::guests::guest;

/// How long a small turn may take beside a hostile one, on a busy machine.
const BESIDE_MAX: Duration = Duration::from_secs(5);

/// Runs a hostile guest, and beside it small turns for as long as it runs; each must end well
/// and in time.
pub(super) async fn beside_others(host: &Host, guest: &[u8], input: &str) -> Report {
    let hostile = host.load(guest).await;
    let good = host.load(&wat::echo()).await;
    let turn = host.run(&hostile, input);
    tokio::pin!(turn);
    loop {
        tokio::select! {
            biased;
            report = &mut turn => return report,
            () = small_turn(host, &good) => {}
        }
        tokio::select! {
            report = &mut turn => return report,
            () = tokio::time::sleep(Duration::from_millis(20)) => {}
        }
    }
}

async fn small_turn(host: &Host, good: &bailiwick::engine::Component) {
    let started = Instant::now();
    let report = host.run(good, "well").await;
    assert_eq!(report.end, End::Reply("well".to_owned()));
    assert!(started.elapsed() < BESIDE_MAX, "it took {:?}", started.elapsed());
}

pub(super) fn assert_limit(report: &Report, kind: LimitKind) {
    assert!(matches!(&report.end, End::Limit(found, _) if *found == kind), "{:?}", report.end);
}

pub(super) fn reply(report: &Report) -> &str {
    let End::Reply(reply) = &report.end else { panic!("no reply: {:?}", report.end) };
    reply
}

/// An endless loop ends at the turn's time limit.
#[tokio::test]
async fn an_endless_loop_ends_in_time() {
    let host = Host::new(Limits { turn_ms_max: 300, ..limits() });
    let started = Instant::now();
    let report = beside_others(&host, &wat::alone(wat::SPIN), "").await;
    assert_limit(&report, LimitKind::Time);
    assert!(started.elapsed() < BESIDE_MAX);
}

/// Guests that compute on each thread of an executor keep its timers, and with them its sockets,
/// from nobody.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn guests_that_compute_leave_others_their_time() {
    let host = Host::new(Limits { turn_ms_max: 4_000, ..limits() });
    let guest = host.load(&wat::alone(wat::SPIN)).await;
    let mut turns = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let (engine, guest, space) = (host.engine.clone(), guest.clone(), host.space());
        let request = Request::default();
        turns.spawn(async move {
            engine.run(&guest, space, request, Arc::new(()), Cancel::new()).await
        });
    }
    let heard = async {
        for _ in 0..20 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::select! {
        biased;
        _ = turns.join_next() => panic!("a guest was done before others were heard"),
        () = heard => {}
    }
}

/// So does one in the start function of a module, before there is anything to call.
#[tokio::test]
async fn an_endless_start_function_ends_in_time() {
    let host = Host::new(Limits { turn_ms_max: 300, ..limits() });
    let module = format!("(func $spin (loop $l (br $l))) (start $spin) {}", wat::ECHO);
    assert_limit(&beside_others(&host, &wat::alone(&module), "").await, LimitKind::Time);
}

/// A cancelled turn that goes on is ended, computing or calling the host.
#[tokio::test]
async fn a_cancelled_turn_that_goes_on_is_ended() {
    let Some(hostile) = guest("hostile") else { return };
    let host = Host::new(limits());
    let hostile = host.load(&hostile).await;
    for input in ["spin", "calls", "writes"] {
        let started = Instant::now();
        let report = host.cancelled_after(&hostile, input, Duration::from_millis(50)).await;
        assert_eq!(report.end, End::Cancelled, "{input}");
        assert!(started.elapsed() < BESIDE_MAX, "{input} took {:?}", started.elapsed());
    }
}

/// Memory over the bound ends the turn by its name, and not as a bare trap.
#[tokio::test]
async fn a_memory_bomb_ends_at_the_memory_limit() {
    let Some(hostile) = guest("hostile") else { return };
    let host = Host::new(Limits { guest_memory_bytes_max: 32 << 20, ..limits() });
    let report = beside_others(&host, &hostile, "memory").await;
    assert_limit(&report, LimitKind::Memory);
    assert!(report.usage.guest_memory_bytes <= 32 << 20, "{:?}", report.usage);
}

/// A turn may be held to less than the host allows, and never to more.
#[tokio::test]
async fn a_turn_has_bounds_of_its_own() {
    let Some(hostile) = guest("hostile") else { return };
    let host = Host::new(Limits { guest_memory_bytes_max: 32 << 20, ..limits() });
    let hostile = host.load(&hostile).await;
    let tight = Bounds { turn_ms_max: 200, guest_memory_bytes_max: 8 << 20 };
    for (input, bounds, kind, held) in [
        ("spin", tight, LimitKind::Time, 8 << 20),
        ("memory", tight, LimitKind::Memory, 8 << 20),
        ("memory", Bounds::default(), LimitKind::Memory, 32 << 20),
    ] {
        let request = Request { input: input.to_owned(), bounds, ..Request::default() };
        let turn = host.engine.run(&hostile, host.space(), request, Arc::new(()), Cancel::new());
        let report = turn.await;
        assert_limit(&report, kind);
        assert!(report.usage.guest_memory_bytes <= held, "{input}: {:?}", report.usage);
    }
    assert_eq!(host.engine.guest_memory_left(), limits().host_guest_memory_bytes_max);
}

/// All guests together have a bound as well; what one held is there again once it is gone.
#[tokio::test]
async fn the_memories_of_all_guests_are_bounded_together() {
    let Some(hostile) = guest("hostile") else { return };
    let host = Host::new(Limits { host_guest_memory_bytes_max: 32 << 20, ..limits() });
    let hostile = host.load(&hostile).await;
    for _ in 0..3 {
        // By itself: others are refused too while one holds all that there is.
        let report = host.run(&hostile, "memory").await;
        assert_limit(&report, LimitKind::HostMemory);
        assert!(report.usage.guest_memory_bytes <= 32 << 20, "{:?}", report.usage);
    }
}

/// The bound holds for all memories of a guest together.
#[tokio::test]
async fn memories_are_bounded_together() {
    let host = Host::new(Limits { guest_memory_bytes_max: 8 << 20, ..limits() });
    let many: String = (0..8).map(|_| "(memory 32)").collect();
    let guest = wat::alone(&format!("{many} {}", wat::ECHO));
    assert_limit(&beside_others(&host, &guest, "").await, LimitKind::Memory);
}

/// What the engine collects for a guest is memory of the guest's.
#[tokio::test]
async fn the_collected_heap_counts_as_memory() {
    for allocation in [Allocation::OnDemand, Allocation::Pooling] {
        let limits = Limits { guest_memory_bytes_max: 32 << 20, host_turns_max: 4, ..limits() };
        let host = Host::with(limits, EngineOptions { allocation, ..EngineOptions::default() });
        let guest = wat::alone(wat::COLLECTED_HEAP_BOMB);
        let report = beside_others(&host, &guest, "").await;
        assert_limit(&report, LimitKind::Memory);
        assert!(report.usage.guest_memory_bytes > 1 << 20, "{:?}", report.usage);
    }
}

/// A growth that fails gives nothing back of what was granted before.
#[tokio::test]
async fn failed_growths_do_not_make_room() {
    for allocation in [Allocation::OnDemand, Allocation::Pooling] {
        let limits = Limits { guest_memory_bytes_max: 8 << 20, host_turns_max: 4, ..limits() };
        let host = Host::with(limits, EngineOptions { allocation, ..EngineOptions::default() });
        let report = beside_others(&host, &wat::alone(wat::FAILED_GROWTHS), "").await;
        assert_limit(&report, LimitKind::Memory);
        assert!(report.usage.guest_memory_bytes <= 8 << 20, "{:?}", report.usage);
    }
}

/// Tables are bounded as memories are.
#[tokio::test]
async fn table_growth_ends_at_the_table_limit() {
    let host = Host::new(limits());
    let guest = wat::alone(wat::TABLE_BOMB);
    assert_limit(&beside_others(&host, &guest, "").await, LimitKind::Table);
}

/// Calls without end overflow the guest's own stack, and the one that compilers keep in memory.
#[tokio::test]
async fn a_stack_overflow_is_the_guests_own() {
    let host = Host::new(limits());
    let deep = wat::alone(wat::DEEP_CALLS);
    assert_limit(&beside_others(&host, &deep, "").await, LimitKind::Stack);
    let calling = wat::deep_host_calls();
    assert_limit(&beside_others(&host, &calling, "x").await, LimitKind::Stack);
    let Some(hostile) = guest("hostile") else { return };
    let report = beside_others(&host, &hostile, "stack").await;
    assert!(matches!(&report.end, End::Trapped(why) if why.contains("stack")), "{:?}", report.end);
}

/// A panic is a trap, and its words are in the log.
#[tokio::test]
async fn a_panic_of_a_guest_is_a_trap() {
    let Some(hostile) = guest("hostile") else { return };
    let host = Host::new(limits());
    let hostile = host.load(&hostile).await;
    let seen = Arc::new(Recorder::default());
    let report = host.observed(&hostile, "panic 7", seen.clone()).await;
    assert!(matches!(report.end, End::Trapped(_)), "{:?}", report.end);
    let logged = seen.logged();
    assert!(
        logged.iter().any(|(_, line)| line.contains("a panic with the number 7")),
        "{logged:?}"
    );
}

/// Ten million lines are cut at the bound with one notice, and counted.
#[tokio::test]
async fn a_flood_of_log_lines_is_cut() {
    let host = Host::new(limits());
    let guest = host.load(&wat::line_flood()).await;
    let seen = Arc::new(Recorder::default());
    let report = host.observed(&guest, "", seen.clone()).await;
    assert_eq!(reply(&report), "");
    let kept = seen.logged().len() as u64;
    // The notice is among those that were seen.
    assert_eq!(report.log_lines_dropped + kept - 1, wat::LINE_FLOOD_LINES);
    assert!(kept * 16 <= limits().log_bytes_max as u64 + 16, "{kept}");
    let notices = seen.logged().iter().filter(|(_, line)| line.contains("not kept")).count();
    assert_eq!(notices, 1);
}

/// A line over its bound is cut, a text said over its bound is cut, and neither is a trap.
#[tokio::test]
async fn long_lines_and_long_speeches_are_cut() {
    let Some(hostile) = guest("hostile") else { return };
    let host = Host::new(Limits { log_bytes_max: 1 << 20, ..limits() });
    let hostile = host.load(&hostile).await;
    let seen = Arc::new(Recorder::default());
    let report = host.observed(&hostile, "log-line 1000000", seen.clone()).await;
    reply(&report);
    assert!(seen.logged()[0].1.len() <= limits().log_line_bytes_max + '…'.len_utf8());
    let report = host.run(&hostile, "say-part 5000000").await;
    reply(&report);
    assert_eq!(report.said.len(), TURN_TEXT_BYTES_MAX);
    let report = host.run(&hostile, "log 100000").await;
    assert!(report.log_lines_dropped > 0);
}

/// A flood of pieces ends at the bound of all pieces together.
#[tokio::test]
async fn a_flood_of_pieces_is_cut() {
    let Some(hostile) = guest("hostile") else { return };
    let host = Host::new(limits());
    let report = beside_others(&host, &hostile, "say 300000").await;
    reply(&report);
    assert!(report.said.len() <= TURN_TEXT_BYTES_MAX);
    assert!(report.said.starts_with("part 0 of a flood"));
}

/// A reply over its bound ends the turn with a sentence, and so does a failure.
#[tokio::test]
async fn a_reply_over_its_bound_is_told() {
    let Some(hostile) = guest("hostile") else { return };
    let host = Host::new(limits());
    for input in ["reply 4194305", "error 4194305"] {
        assert_limit(&beside_others(&host, &hostile, input).await, LimitKind::Reply);
    }
    let report = host.run(&host.load(&hostile).await, "reply 4194304").await;
    assert_eq!(reply(&report).len(), TURN_TEXT_BYTES_MAX);
}

/// A call that hands over more than the largest legal one ends the turn.
#[tokio::test]
async fn a_call_with_too_many_bytes_ends_the_turn() {
    let Some(hostile) = guest("hostile") else { return };
    let host = Host::new(limits());
    let report = beside_others(&host, &hostile, "write-bytes 60000000").await;
    assert_limit(&report, LimitKind::CallBytes);
    let report = beside_others(&host, &hostile, "write-bytes 16777217").await;
    assert_eq!(reply(&report), "write: too-large");
}

/// Sixteen wakes, and a refusal from then on.
#[tokio::test]
async fn wakes_are_bounded() {
    let Some(hostile) = guest("hostile") else { return };
    let host = Host::new(limits());
    let report = beside_others(&host, &hostile, "wake 1000").await;
    assert!(reply(&report).starts_with("16 wakes, then"), "{}", reply(&report));
    assert_eq!(report.wakes.len(), TURN_WAKES_MAX);
}

/// What the wakes of a turn hold is bounded too.
#[tokio::test]
async fn inputs_of_wakes_are_bounded_together() {
    let host = Host::new(limits());
    let report = beside_others(&host, &wat::long_wakes(), "still").await;
    assert_eq!(reply(&report), "still");
    assert_eq!(report.wakes.len(), 1);
}

/// Thousands of readers and writers are refused at their bound, by its name.
#[tokio::test]
async fn open_handles_are_bounded() {
    let Some(hostile) = guest("hostile") else { return };
    let host = Host::new(limits());
    let report = beside_others(&host, &hostile, "readers 5000").await;
    assert!(reply(&report).starts_with("64 open, then too-large"), "{}", reply(&report));
    let report = beside_others(&host, &hostile, "writers 5000").await;
    assert!(reply(&report).starts_with("16 open, then too-large"), "{}", reply(&report));
}

/// Awkward numbers in every argument are answered, each with a refusal or what exists.
#[tokio::test]
async fn numbers_are_attacks() {
    let Some(hostile) = guest("hostile") else { return };
    let host = Host::new(limits());
    let report = beside_others(&host, &hostile, "numbers").await;
    let answers = reply(&report);
    assert!(answers.lines().count() > 100, "{answers}");
    for line in answers.lines() {
        let known = ["ok ", "invalid", "too-large", "closed"];
        assert!(known.iter().any(|known| line.contains(known)), "{line}");
    }
    assert!(answers.contains(&format!("read {} 1: ok 0", u64::MAX)), "{answers}");
    assert!(!answers.contains(&format!("read 0 {}: ok", READ_BYTES_MAX + 1)), "{answers}");
}

/// A cursor that no listing made is refused.
#[tokio::test]
async fn forged_cursors_are_refused() {
    let Some(hostile) = guest("hostile") else { return };
    let host = Host::new(limits());
    let report = beside_others(&host, &hostile, "cursors").await;
    for line in reply(&report).lines() {
        assert!(line.ends_with(": invalid"), "{line}");
    }
}

/// A writer is closed for good by its first error.
#[tokio::test]
async fn a_poisoned_writer_stays_closed() {
    let Some(hostile) = guest("hostile") else { return };
    let host = Host::new(limits());
    let report = beside_others(&host, &hostile, "poisoned-writer").await;
    let answers = "too much: too-large\nagain: closed\nfinish: closed\nfinish again: closed";
    assert_eq!(reply(&report), answers);
    assert_eq!(host.space().stat("session/poisoned.bin").await.unwrap_err().reason, "not-found");
}

/// A writer that is open when its turn ends leaves nothing.
#[tokio::test]
async fn a_writer_left_open_leaves_nothing() {
    let Some(hostile) = guest("hostile") else { return };
    let host = Host::new(limits());
    let report = beside_others(&host, &hostile, "leave-writer 3000000").await;
    assert!(matches!(report.end, End::Trapped(_)), "{:?}", report.end);
    assert_eq!(host.space().stat("session/left.bin").await.unwrap_err().reason, "not-found");
}

/// A flood on standard output ends well, and is cut in the log.
#[tokio::test]
async fn a_flood_on_standard_output_is_cut() {
    let Some(printing) = guest("printing") else { return };
    let host = Host::new(limits());
    let report = beside_others(&host, &printing, "stdout 3000 4000").await;
    assert_eq!(reply(&report), "3000 lines of 4000 bytes");
    assert!(report.log_lines_dropped > 2900, "{}", report.log_lines_dropped);
}

/// A command that floods its standard output learns that it is closed, and its turn ends by the
/// bound of a reply.
#[tokio::test]
async fn a_command_that_replies_too_much_is_told() {
    let Some(command) = guest("command") else { return };
    let host = Host::new(limits());
    assert_limit(&beside_others(&host, &command, "flood 300000").await, LimitKind::Reply);
}

/// An input over its bound never reaches a guest.
#[tokio::test]
async fn an_input_over_its_bound_is_refused() {
    let host = Host::new(limits());
    let report = beside_others(&host, &wat::echo(), &"x".repeat(TURN_TEXT_BYTES_MAX + 1)).await;
    assert_limit(&report, LimitKind::Input);
}

/// Handles held at once are bounded, the host's and the guest's own.
#[tokio::test]
async fn handles_are_bounded() {
    let host = Host::new(limits());
    for guest in [wat::handle_flood(), wat::own_handle_flood()] {
        assert_limit(&beside_others(&host, &guest, "").await, LimitKind::Handles);
    }
}

/// Core instances are bounded by number.
#[tokio::test]
async fn instances_are_bounded() {
    let host = Host::new(limits());
    let guest = wat::many_instances(limits().guest_instances_max);
    assert_limit(&beside_others(&host, &guest, "").await, LimitKind::Instances);
}

/// A guest that leaves without returning has not replied.
#[tokio::test]
async fn an_exit_is_no_reply() {
    let host = Host::new(limits());
    let report = beside_others(&host, &wat::exiting(), "").await;
    assert!(matches!(report.end, End::GuestError(_)), "{:?}", report.end);
}
