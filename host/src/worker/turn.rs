//! One claimed turn, from its lease to its end.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::lease::{self, Journal};
use super::{Inner, record};
use crate::catalog::{CatalogError, Claimed, Finish, Lease};
use crate::engine::{Bounds, Cancel, Component, End, LoadError, Report, Request};
use crate::scope::{MountTable, SkillTable};
use crate::settings::Effective;
use crate::space::Space;

/// How long the recording of an end is tried again, and how often.
const PAUSE: Duration = Duration::from_secs(1);

/// Runs a turn that was claimed, unless its lease is lost before it ends.
pub(super) async fn run(inner: &Inner, claimed: Claimed) {
    let (lease, began) = (claimed.lease, Instant::now());
    let (journal, cancel) = (Arc::new(Journal::default()), Cancel::new());
    let turn = async {
        match prepare(inner, &claimed).await {
            Ok(ready) => {
                journal.follow(ready.space.clone());
                let Ready { component, space, bounds } = ready;
                let request = Request {
                    input: claimed.input,
                    answer: claimed.answer,
                    attempt: lease.attempt,
                    bounds,
                };
                let observer = journal.clone();
                inner.engine.run(&component, space, request, observer, cancel.clone()).await
            }
            Err(end) => Report::unstarted(end),
        }
    };
    let report = tokio::select! {
        report = turn => report,
        // The turn is dropped, and with it its space ends.
        () = lease::kept(inner, lease, &journal, &cancel, began) => {
            tracing::warn!(turn = %lease.turn, "the lease of a turn was lost: it is another host's");
            return;
        }
    };
    if let End::HostFault(error) = &report.end {
        tracing::error!(turn = %lease.turn, error, "this host failed a turn");
    }
    let finish = finish(&report, &journal);
    record_end(inner, lease, &finish).await;
}

/// All that a turn needs.
struct Ready {
    component: Component,
    space: Space,
    bounds: Bounds,
}

/// What cannot be made ready is a fault of this host, or of what was queued.
async fn prepare(inner: &Inner, claimed: &Claimed) -> Result<Ready, End> {
    let coordinates = claimed.coordinates;
    let cascade = inner.catalog.cascade(coordinates.workspace, Some(coordinates.agent)).await;
    let cascade = cascade.map_err(|error| fault("its settings cannot be read", &error))?;
    let levels = [&cascade.deployment, &cascade.workspace, &cascade.agent].map(Option::as_ref);
    let effective = Effective::read(inner.storage.limits(), levels);
    let skills = SkillTable::default();
    let table = MountTable::new(coordinates, effective.grant(), skills);
    let space = inner.storage.space_spilling_over(effective.spill_bytes.value.bytes(), table);
    let component = component(inner, claimed).await?;
    Ok(Ready { component, space, bounds: bounds(&effective) })
}

fn bounds(effective: &Effective) -> Bounds {
    let (turn_ms, memory) = (effective.turn_ms.value, effective.guest_memory_bytes.value);
    Bounds {
        turn_ms_max: turn_ms.number().unwrap_or(u64::MAX),
        guest_memory_bytes_max: memory.bytes(),
    }
}

async fn component(inner: &Inner, claimed: &Claimed) -> Result<Component, End> {
    let sha256 = claimed.component;
    let loaded = || inner.components.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(component) = loaded().get(&sha256) {
        return Ok(component.clone());
    }
    let bytes = inner.catalog.component(sha256).await;
    let bytes = bytes.map_err(|error| fault("its component cannot be read", &error))?;
    let bytes =
        bytes.ok_or_else(|| End::HostFault("its component is not kept any more".to_owned()))?;
    let component = inner.engine.load(&bytes).await.map_err(|error| match error {
        LoadError::Unfit(sentence) => {
            End::HostFault(format!("this host cannot run it: {sentence}"))
        }
        error => fault("its component cannot be loaded", &error),
    })?;
    loaded().put(sha256, component.clone());
    Ok(component)
}

/// For the log: whoever asked is told no more than that this host failed.
fn fault(what: &str, error: &dyn std::error::Error) -> End {
    let error = format!("{error:#}");
    End::HostFault(format!("{what}: {error}"))
}

fn finish(report: &Report, journal: &Journal) -> Finish {
    let mut events = journal.take();
    events.extend(record::events_of(&report.events));
    Finish {
        ending: record::ending_of(&report.end),
        said: report.said.clone(),
        wakes: record::wakes_of(&report.wakes),
        events,
    }
}

/// Until it is recorded, or the lease would be over: then another host runs the turn again.
async fn record_end(inner: &Inner, lease: Lease, finish: &Finish) {
    let began = Instant::now();
    let patience = Duration::from_millis(inner.storage.limits().turn_lease_ms);
    loop {
        let error = match inner.catalog.finish_turn(lease, finish).await {
            Ok(()) => return,
            Err(error) => error,
        };
        let is_lost = matches!(error, CatalogError::LeaseLost | CatalogError::Deleted);
        let error = format!("{error:#}");
        if is_lost || began.elapsed() > patience {
            tracing::warn!(turn = %lease.turn, error, "the end of a turn was not recorded");
            return;
        }
        tracing::warn!(turn = %lease.turn, error, "the end of a turn is not recorded; trying again");
        sleep(PAUSE).await;
    }
}
