//! One claimed turn, from its lease to its end.

use std::sync::PoisonError;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tracing::field::Empty;
use tracing::{Instrument, Span, info_span};

use super::lease::{Journal, Keeper, Taken};
use super::{Inner, record, told};
use crate::catalog::{CatalogError, Claimed, Finish, Lease};
use crate::engine::{Bounds, Cancel, Component, End, Report, Request};
use crate::receipts::Receipts;
use crate::scope::{MountTable, Sha256};
use crate::settings::Effective;
use crate::space::{Space, Terms, Unmounted};

/// How long the recording of an end is tried again, and how often.
const PAUSE: Duration = Duration::from_secs(1);

/// What became of a claimed turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It ended, or is another host's.
    Over,
    /// Nothing of it was run: the catalog did not say what to run.
    Untried,
}

/// What whoever traces this host sees of a turn: whose it is and how it ended, nothing that was said.
pub(super) fn span(claimed: &Claimed) -> Span {
    let Claimed { coordinates, lease, .. } = claimed;
    info_span!(
        "turn",
        otel.kind = "consumer",
        otel.status_code = Empty,
        workspace = %coordinates.workspace,
        agent = %coordinates.agent,
        session = coordinates.session.map(tracing::field::display),
        turn = %lease.turn,
        attempt = lease.attempt,
        ending = Empty,
        elapsed_ms = Empty,
        guest_memory_bytes = Empty,
        host_calls = Empty,
    )
}

/// Runs a turn that was claimed, unless its lease is lost before it ends.
pub(super) async fn run(inner: &Inner, claimed: Claimed) -> Outcome {
    let lease = claimed.lease;
    let keeper = Keeper::new(inner.catalog.clone(), inner.storage.limits(), lease);
    let (journal, cancel) = (keeper.journal(), Cancel::new());
    let turn = async {
        let ready = match prepare(inner, &claimed, &journal).instrument(info_span!("prepare")).await
        {
            Ok(ready) => ready,
            Err(Unready::Unfit(end)) => return Some(Report::unstarted(end)),
            Err(Unready::Untold) => return None,
        };
        let Ready { component, space, bounds, unmounted } = ready;
        let (input, answer, attempt) = (claimed.input, claimed.answer, lease.attempt);
        let request = Request { input, answer, attempt, bounds, unmounted, ..Request::default() };
        let run = inner.engine.run(&component, space, request, journal.clone(), cancel.clone());
        Some(run.instrument(info_span!("guest")).await)
    };
    match keeper.during(turn, &cancel).await {
        None => {
            tracing::warn!(turn = %lease.turn, "the lease of a turn was lost: it is another host's");
            Outcome::Over
        }
        Some(None) => Outcome::Untried,
        Some(Some(report)) => {
            if let End::HostFault(error) = &report.end {
                tracing::error!(turn = %lease.turn, error, "this host failed a turn");
            }
            trace_end(&report);
            record_end(inner, lease, &finish(&report, &journal)).await;
            Outcome::Over
        }
    }
}

/// Says in the span of this turn how it ended.
fn trace_end(report: &Report) {
    let span = Span::current();
    let ending = record::word_of(&report.end);
    let has_failed = !matches!(report.end, End::Reply(_) | End::Parked(_));
    span.record("ending", ending);
    span.record("otel.status_code", if has_failed { "ERROR" } else { "OK" });
    span.record("elapsed_ms", report.usage.elapsed_ms);
    span.record("guest_memory_bytes", report.usage.guest_memory_bytes);
    span.record("host_calls", report.usage.host_calls);
}

/// Why a turn cannot be run.
enum Unready {
    /// It ends so.
    Unfit(End),
    /// The catalog did not say what it needs: it may do so later, or elsewhere.
    Untold,
}

impl From<CatalogError> for Unready {
    fn from(error: CatalogError) -> Self {
        let error = told(error);
        tracing::warn!(error, "a turn cannot begin here");
        Self::Untold
    }
}

/// All that a turn needs.
struct Ready {
    component: Component,
    space: Space,
    bounds: Bounds,
    unmounted: Vec<Unmounted>,
}

async fn prepare(inner: &Inner, claimed: &Claimed, journal: &Journal) -> Result<Ready, Unready> {
    let coordinates = claimed.coordinates;
    let cascade = inner.catalog.cascade(coordinates.workspace, Some(coordinates.agent)).await?;
    let effective = Effective::read(inner.storage.limits(), cascade.levels());
    let skills = inner.skills.table(&inner.catalog, claimed.lease.turn).await?;
    let table = MountTable::new(coordinates, effective.grant(), skills);
    let receipts = Receipts::of_turn(inner.catalog.clone(), claimed.lease);
    let spill_bytes_min = Some(effective.spill_bytes.value.bytes());
    let changed = Some(journal.changed());
    let terms = Terms { spill_bytes_min, receipts: Some(receipts), changed };
    let space = inner.storage.space_on(terms, table);
    journal.follow(space.clone());
    let component = component(inner, claimed.component).await?;
    let mounted = inner.mounting.mount(&inner.catalog, &space, &component, coordinates.agent);
    let unmounted = mounted.await.map_err(Unready::Unfit)?;
    Ok(Ready { component, space, bounds: bounds(&effective), unmounted })
}

fn bounds(effective: &Effective) -> Bounds {
    let (turn_ms, memory) = (effective.turn_ms.value, effective.guest_memory_bytes.value);
    Bounds {
        turn_ms_max: turn_ms.number().unwrap_or(u64::MAX),
        guest_memory_bytes_max: memory.bytes(),
    }
}

async fn component(inner: &Inner, sha256: Sha256) -> Result<Component, Unready> {
    let loaded = || inner.components.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(component) = loaded().get(&sha256) {
        return Ok(component.clone());
    }
    let fault = |why: String| Unready::Unfit(End::HostFault(why));
    let bytes = inner.catalog.component(sha256).await?;
    let bytes = bytes.ok_or_else(|| fault("its component is not kept any more".to_owned()))?;
    let loading = inner.engine.load(&bytes).await;
    let component = loading.map_err(|error| {
        fault(format!("its component cannot be loaded: {:#}", anyhow::Error::from(error)))
    })?;
    loaded().put(sha256, component.clone());
    Ok(component)
}

fn finish(report: &Report, journal: &Journal) -> Finish {
    let Taken { recorded, mut events } = journal.take();
    events.extend(record::events_of(&report.events));
    events.extend(record::dropped_lines(report.log_lines_dropped));
    Finish {
        ending: record::ending_of(&report.end),
        said: report.said.clone(),
        wakes: record::wakes_of(&report.wakes),
        events,
        recorded,
        invoked: record::invoked_of(&report.invocations),
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
        let error = told(error);
        if is_lost || began.elapsed() > patience {
            tracing::warn!(turn = %lease.turn, error, "the end of a turn was not recorded");
            return;
        }
        tracing::warn!(turn = %lease.turn, error, "the end of a turn is not recorded; trying again");
        sleep(PAUSE).await;
    }
}
