//! Copies to longer-lived scopes: none without a receipt.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;

use anyhow::bail;
use async_trait::async_trait;
use bailiwick::scope::{Access, Grant, MountTable, SkillTable};
use bailiwick::space::{self, ErrorCode, FileEvent, Space, Terms};
use bailiwick::store::{Precondition, Revision};
use tokio::task::yield_now;
use uuid::Uuid;

use super::{World, cat, put};
use crate::faulty::{Fault, Plan};

/// Receipts in memory; the n-th call fails, before or after it took effect.
#[derive(Debug, Default)]
struct Ledger(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    receipts: BTreeMap<Uuid, Receipt>,
    calls: usize,
    fault: Option<(usize, Fault)>,
}

#[derive(Clone, Debug, PartialEq)]
struct Receipt {
    way: (String, String),
    revision: Option<Revision>,
}

impl Ledger {
    fn failing(fault: (usize, Fault)) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Kept { fault: Some(fault), ..Kept::default() })))
    }

    fn receipts(&self) -> Vec<Receipt> {
        self.0.lock().unwrap().receipts.values().cloned().collect()
    }

    /// Takes its time before and after, for callers that go away.
    async fn change(
        &self,
        change: impl FnOnce(&mut BTreeMap<Uuid, Receipt>) + Send,
    ) -> anyhow::Result<()> {
        yield_now().await;
        let changed = self.changed(change);
        yield_now().await;
        changed
    }

    fn changed(&self, change: impl FnOnce(&mut BTreeMap<Uuid, Receipt>)) -> anyhow::Result<()> {
        let mut kept = self.0.lock().unwrap();
        kept.calls += 1;
        let fault = kept.fault.filter(|(call, _)| *call == kept.calls).map(|(_, fault)| fault);
        if !matches!(fault, Some(Fault::Before)) {
            change(&mut kept.receipts);
        }
        if fault.is_some() {
            bail!("the ledger does not answer");
        }
        Ok(())
    }
}

#[async_trait]
impl space::Receipts for Ledger {
    async fn open(&self, source: &str, target: &str) -> anyhow::Result<Uuid> {
        let id = Uuid::from_u128(self.0.lock().unwrap().calls as u128);
        let way = (source.to_owned(), target.to_owned());
        self.change(|receipts| _ = receipts.insert(id, Receipt { way, revision: None })).await?;
        Ok(id)
    }

    async fn complete(&self, receipt: Uuid, revision: &Revision) -> anyhow::Result<()> {
        let revision = Some(revision.clone());
        self.change(|receipts| receipts.get_mut(&receipt).unwrap().revision = revision).await
    }

    async fn withdraw(&self, receipt: Uuid) -> anyhow::Result<()> {
        self.change(|receipts| _ = receipts.remove(&receipt)).await
    }
}

fn space_of(world: &World, ledger: &Arc<Ledger>) -> Space {
    let all = Some(Access::ReadWrite);
    let grant = Grant { agent: all, workspace: all };
    let terms = Terms { receipts: Some(ledger.clone()), ..Terms::default() };
    world.storage.space_on(terms, MountTable::new(world.coordinates, grant, SkillTable::default()))
}

/// A copy to a longer-lived scope is a promotion: it has a receipt, and is an event.
#[tokio::test]
async fn promotions_are_recorded() {
    let (world, ledger) = (World::new(), Arc::<Ledger>::default());
    let space = space_of(&world, &ledger);
    put(&space, "session/a", "x").await;
    space.take_events();
    let copied = space.copy("session/a", "agent/a", Precondition::IfAbsent).await.unwrap();
    space.copy("agent/a", "session/b", Precondition::Always).await.unwrap();
    let promoted = FileEvent::Promoted {
        source: "session/a".into(),
        target: "agent/a".into(),
        revision: copied.revision.clone(),
    };
    let written = |path: &str| FileEvent::Written { path: path.into(), size: 1 };
    assert_eq!(space.take_events(), [promoted, written("agent/a"), written("session/b")]);
    assert!(space.take_events().is_empty());
    let way = ("session/a".to_owned(), "agent/a".to_owned());
    assert_eq!(ledger.receipts(), [Receipt { way, revision: Some(copied.revision) }]);
    // However much else was done and nobody took notice of: a receipt is another matter.
    for _ in 0..10_000 {
        put(&space, "session/a", "x").await;
    }
    space.copy("session/a", "workspace/a", Precondition::Always).await.unwrap();
    assert_eq!(ledger.receipts().len(), 2);
}

/// What certainly was not copied leaves no receipt behind.
#[tokio::test]
async fn a_promotion_that_was_refused_leaves_none() {
    let (world, ledger) = (World::new(), Arc::<Ledger>::default());
    let space = space_of(&world, &ledger);
    put(&space, "session/a", "x").await;
    put(&space, "agent/a", "kept").await;
    let refused = space.copy("session/a", "agent/a", Precondition::IfAbsent).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Conflict);
    let missing = space.copy("session/none", "agent/b", Precondition::Always).await.unwrap_err();
    assert_eq!(missing.code, ErrorCode::NotFound);
    assert_eq!(ledger.receipts(), []);
    assert_eq!(cat(&space, "agent/a").await, "kept");
}

/// Whichever call of the store or of who keeps receipts fails, before or after it took effect:
/// there is no copy without its receipt, and what was acknowledged has one that is complete.
#[tokio::test]
async fn no_copy_is_there_without_a_receipt() {
    for fault in [Fault::Before, Fault::After] {
        for (in_ledger, call) in [(true, 1), (true, 2), (false, 0), (false, 1), (false, 2)] {
            let world = World::new();
            put(&world.space(), "session/a", "x").await;
            let ledger = if in_ledger { Ledger::failing((call, fault)) } else { Arc::default() };
            if !in_ledger {
                world.store.plan(Plan::Nth(call, fault));
            }
            let space = space_of(&world, &ledger);
            let moved = space.relocate("session/a", "agent/a", Precondition::Always).await;
            world.store.plan(Plan::None);
            let is_there = world.space().stat("agent/a").await.ok();
            let receipts = ledger.receipts();
            let at = format!("{fault:?} {in_ledger} {call}: {moved:?} {receipts:?}");
            assert!(is_there.is_none() || receipts.len() == 1, "{at}");
            match moved {
                Ok(file) => assert_eq!(receipts[0].revision, Some(file.revision), "{at}"),
                Err(error) => assert_eq!(error.code, ErrorCode::Unavailable, "{at}"),
            }
        }
    }
}

/// Wherever a caller goes away: there is no copy without its receipt.
#[tokio::test]
async fn a_promotion_that_is_dropped_leaves_no_copy_without_a_receipt() {
    let mut polls = 0;
    loop {
        let (world, ledger) = (World::new(), Arc::<Ledger>::default());
        put(&world.space(), "session/a", "x").await;
        let space = space_of(&world, &ledger);
        let is_done = {
            let copy = space.copy("session/a", "agent/a", Precondition::Always);
            let mut copy = pin!(copy);
            let mut left = polls;
            poll_fn(|context| {
                if left == 0 {
                    return Poll::Ready(false);
                }
                left -= 1;
                copy.as_mut().poll(context).map(|copied| copied.is_ok())
            })
            .await
        };
        let is_there = world.space().stat("agent/a").await.is_ok();
        assert!(!is_there || ledger.receipts().len() == 1, "after {polls} polls");
        if is_done {
            assert!(is_there && polls > 3, "after {polls} polls");
            return;
        }
        polls += 1;
    }
}
