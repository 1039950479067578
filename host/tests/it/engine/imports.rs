//! What an embedder offers to guests: which turns have it, and that its calls are bounded as a
//! turn is.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bailiwick::engine::wasmtime::{self, StoreContextMut, component::Linker};
use bailiwick::engine::{
    Beginning, Cancel, End, Engine, EngineOptions, Import, Imports, LimitKind, Request, TurnState,
    Verdict,
};
use bailiwick::limits::Limits;
use bailiwick::space::Unmounted;

use super::{Host, limits, wat};

/// A bell that rings at once, or never.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bell {
    Rings,
    IsStuck,
    /// No turn has it.
    IsKept,
}

/// A bell of the platform's, which says how often it rang in a turn.
struct OwnBell {
    bell: Bell,
    waiting: Arc<AtomicUsize>,
}

/// One turn's bell.
struct Rope {
    bell: Bell,
    rings: u32,
    waiting: Arc<AtomicUsize>,
}

/// Counts a call that waits, until it does not any more.
struct Waits(Arc<AtomicUsize>);

impl Waits {
    fn new(waiting: Arc<AtomicUsize>) -> Self {
        waiting.fetch_add(1, Ordering::SeqCst);
        Self(waiting)
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Import for OwnBell {
    type Turn = Rope;

    fn link(&self, linker: &mut Linker<TurnState>) -> wasmtime::Result<()> {
        linker.instance("test:own/bell@0.1.0")?.func_wrap_async(
            "ring",
            |mut store: StoreContextMut<'_, TurnState>, (): ()| {
                Box::new(async move {
                    let Some(rope) = store.data_mut().offered::<OwnBell>() else {
                        return Ok((0_u32,));
                    };
                    if rope.bell == Bell::IsStuck {
                        let _waits = Waits::new(rope.waiting.clone());
                        std::future::pending::<()>().await;
                    }
                    rope.rings += 1;
                    Ok((rope.rings,))
                })
            },
        )
    }

    fn begin(&self, turn: &Beginning<'_>) -> Option<Rope> {
        assert!(turn.coordinates.session.is_some() && !turn.cancel.is_cancelled());
        let Self { bell, waiting } = self;
        (*bell != Bell::IsKept).then(|| Rope { bell: *bell, rings: 0, waiting: waiting.clone() })
    }
}

const IMPORTS: &str =
    r#"(import "test:own/bell@0.1.0" (instance $bell (export "ring" (func (result u32)))))"#;
const LOWERED: &str = r#"
    (core func $ring (canon lower (func $bell "ring")))
    (core instance $host (export "ring" (func $ring)))"#;
/// A `run` that rings twice, and replies with the digit that the second ring gave it.
const RINGS: &str = r#"
    (import "host" "ring" (func $ring (result i32)))
    (func (export "run") (param i32 i32 i32 i32 i32 i32) (result i32)
        (drop (call $ring))
        (i32.store8 (i32.const 2048) (i32.add (i32.const 48) (call $ring)))
        (i32.store8 (i32.const 1024) (i32.const 0))
        (i32.store8 (i32.const 1028) (i32.const 0))
        (i32.store (i32.const 1032) (i32.const 2048))
        (i32.store (i32.const 1036) (i32.const 1))
        (i32.const 1024))"#;

fn ringing() -> Vec<u8> {
    wat::turn(IMPORTS, LOWERED, RINGS)
}

fn overlapping_ringing() -> Vec<u8> {
    wat::async_turn(IMPORTS, LOWERED, RINGS)
}

fn host_with(limits: Limits, bell: Bell) -> (Host, Arc<AtomicUsize>) {
    let waiting = Arc::new(AtomicUsize::new(0));
    let imports = Imports::default().with(OwnBell { bell, waiting: waiting.clone() });
    (Host::with(limits, EngineOptions { imports, ..EngineOptions::default() }), waiting)
}

/// A guest calls what the embedder offers, its calls share what its turn was given and no other
/// turn has, and they count as the contract's do; whether its calls overlap or not.
#[tokio::test]
async fn a_guest_calls_what_is_offered() {
    let (host, _) = host_with(limits(), Bell::Rings);
    for bytes in [ringing(), overlapping_ringing()] {
        let guest = host.load(&bytes).await;
        for _ in 0..2 {
            let report = host.run(&guest, "").await;
            assert_eq!(report.end, End::Reply("2".to_owned()));
            assert_eq!(report.usage.host_calls, 2);
        }
    }
}

/// A turn that was not given it has nothing of it, though its component is linked.
#[tokio::test]
async fn a_turn_that_was_given_nothing_has_nothing() {
    let (host, _) = host_with(limits(), Bell::IsKept);
    let report = host.run(&host.load(&ringing()).await, "").await;
    assert_eq!(report.end, End::Reply("0".to_owned()));
}

/// Keeps what it is told that its turns have.
struct Listener(Arc<Mutex<Vec<String>>>);

impl Import for Listener {
    type Turn = ();

    fn link(&self, _: &mut Linker<TurnState>) -> wasmtime::Result<()> {
        Ok(())
    }

    fn begin(&self, turn: &Beginning<'_>) -> Option<()> {
        self.0.lock().unwrap().push(turn.guidance.to_string());
        None
    }
}

/// An import that speaks to a model is told what the turn really has: what could not be set up for
/// it is not among that.
#[tokio::test]
async fn an_import_is_told_what_its_turn_has() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let imports = Imports::default().with(Listener(heard.clone()));
    let host = Host::with(limits(), EngineOptions { imports, ..EngineOptions::default() });
    let guest = host.load(&wat::echo()).await;
    for unmounted in [Vec::new(), vec![Unmounted::Agent]] {
        let request = Request { attempt: 1, unmounted, ..Request::default() };
        let run = host.engine.run(&guest, host.space(), request, Arc::new(()), Cancel::new());
        run.await;
    }
    let heard = heard.lock().unwrap();
    assert!(heard[0].contains("`/agent` is your own durable folder"), "{heard:?}");
    assert!(heard[1].contains("is not available in this turn"), "{heard:?}");
}

/// Where nobody offers it, a component that wants it is unfit, by name.
#[tokio::test]
async fn what_nobody_offers_is_refused_by_name() {
    let host = Host::new(limits());
    let verdict = host.engine.inspect(&ringing()).await.verdict;
    let Verdict::Unfit(reason) = verdict else { panic!("{verdict:?}") };
    assert!(reason.contains("`test:own/bell@0.1.0`, which this host does not offer"), "{reason}");
}

/// A call that waits ends with its turn, by time or by a stop, and nothing of it is left.
#[tokio::test(start_paused = true)]
async fn a_call_that_waits_ends_with_its_turn() {
    let (host, waiting) = host_with(Limits { turn_ms_max: 5_000, ..limits() }, Bell::IsStuck);
    for bytes in [ringing(), overlapping_ringing()] {
        let guest = host.load(&bytes).await;
        let late = host.run(&guest, "").await;
        assert!(matches!(late.end, End::Limit(LimitKind::Time, _)), "{:?}", late.end);
        let stopped = host.cancelled_after(&guest, "", Duration::from_millis(100)).await;
        assert_eq!(stopped.end, End::Cancelled);
        let request = Request { attempt: 1, ..Request::default() };
        let turn = host.engine.run(&guest, host.space(), request, Arc::new(()), Cancel::new());
        let given_up = tokio::time::timeout(Duration::from_millis(100), turn).await;
        assert!(given_up.is_err());
        assert_eq!(waiting.load(Ordering::SeqCst), 0);
    }
}

/// While one guest's call waits, others run, on the very thread that it waits on.
#[tokio::test]
async fn a_call_that_waits_holds_up_nobody() {
    let (host, waiting) = host_with(limits(), Bell::IsStuck);
    let (stuck, echo) = (host.load(&ringing()).await, host.load(&wat::echo()).await);
    let others = async {
        while waiting.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        host.run(&echo, "on").await.end
    };
    tokio::select! {
        report = host.run(&stuck, "") => panic!("{:?}", report.end),
        end = others => assert_eq!(end, End::Reply("on".to_owned())),
    }
}

/// Pretends to be the contract's.
struct Impostor(&'static str);

impl Import for Impostor {
    type Turn = ();

    fn link(&self, linker: &mut Linker<TurnState>) -> wasmtime::Result<()> {
        let mut interface = linker.instance(self.0)?;
        interface.func_wrap("say", |_: StoreContextMut<'_, TurnState>, (_,): (String,)| Ok(()))?;
        interface.func_wrap("mounts", |_: StoreContextMut<'_, TurnState>, (): ()| Ok(()))
    }

    fn begin(&self, _: &Beginning<'_>) -> Option<()> {
        None
    }
}

/// Nothing of the contract can be replaced.
#[test]
fn the_contract_cannot_be_replaced() {
    for name in ["bailiwick:agent/session@0.1.0", "bailiwick:storage/files@0.1.0"] {
        let imports = Imports::default().with(Impostor(name));
        let options = EngineOptions { imports, ..EngineOptions::default() };
        let refused = Engine::new(limits(), options).unwrap_err();
        assert!(format!("{refused:#}").contains("twice"), "{refused:#}");
    }
}
