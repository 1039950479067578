//! Overlapping calls: what one costs, and what many at once save on a store that is some way off.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use bailiwick::clock::SystemClock;
use bailiwick::store::MemoryStore;

use super::{Found, Workload};
use crate::far::FarStore;
use crate::ours::Host;
use crate::race::{Cost, Race, pair, timed};
use crate::setting::Setting;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "overlapping",
    title: "Overlapping calls",
    about: "An asynchronous guest awaits each call on the memory store before the next, against a \
            synchronous guest doing the same: what the asynchronous world costs. Then it reads 100 \
            files of 4 KiB from a memory store that answers after 20 ms, 16 at once against one \
            by one.",
    run: |setting| Box::pin(run(setting)),
};

const PATH: &str = "session/file";
const GUEST: &str = "bench-overlapping";
const CALLS: [(&str, &str); 4] =
    [("empty call", "nothing"), ("stat", "stat"), ("read 4 KiB", "read"), ("write 4 KiB", "write")];
const FILES: usize = 100;
const LATENCY: Duration = Duration::from_millis(20);
const ALL_FILES: &str = "read 100 files";

async fn run(setting: &Setting) -> Result<Found> {
    let times = setting.choose(20_000, 100_000);
    let (overlapping, synchronous) =
        (memory(setting, GUEST).await?, Host::in_memory(setting).await?);
    let far = far(setting).await?;
    overlapping.turn(format!("write {PATH} 1 1")).await?;
    synchronous.turn(format!("write {PATH} 1")).await?;
    let mut race = Race::default();
    for (what, verb) in CALLS {
        let (ours, other) = (overlapping.clone(), synchronous.clone());
        race.enter("async guest", what, move || {
            ours.clone().verb(format!("{verb} {PATH}"), times, "1".to_owned())
        });
        race.enter("guest", what, move || {
            other.clone().verb(format!("{verb} {PATH}"), times, String::new())
        });
    }
    for (whom, in_flight) in [("16 at once", 16), ("one by one", 1)] {
        let far = far.clone();
        race.enter(whom, ALL_FILES, move || read_all(far.clone(), in_flight));
    }
    let raced = race.run(setting.choose(7, 21)).await?;
    let mut figures = Vec::new();
    for (what, _) in CALLS {
        figures.push(raced.added(pair(what, "async guest", "guest"))?);
    }
    figures.push(raced.time(pair(ALL_FILES, "16 at once", "one by one"))?.at_most(0.125));
    Ok(figures.into())
}

async fn memory(setting: &Setting, guest: &str) -> Result<Host> {
    Host::with_guest(setting, Arc::new(MemoryStore::new(Arc::new(SystemClock))), guest).await
}

/// A host over a store that takes its time, with the files in it.
async fn far(setting: &Setting) -> Result<Host> {
    let store = FarStore::new(Arc::new(MemoryStore::new(Arc::new(SystemClock))), LATENCY);
    let host = Host::with_guest(setting, Arc::new(store), GUEST).await?;
    host.turn(format!("write {PATH} {FILES} 16 {FILES}")).await?;
    Ok(host)
}

async fn read_all(far: Host, in_flight: usize) -> Result<Cost> {
    Ok(timed(far.turn(format!("read {PATH} {FILES} {in_flight} {FILES}"))).await?.1)
}
