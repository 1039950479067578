//! `wasi:keyvalue` of wasmtime, in memory, beside our memory store.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;

use super::{Found, Workload};
use crate::bare::{self, Peers};
use crate::ours::Host;
use crate::race::{Cost, Race, pair, timed};
use crate::setting::Setting;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "key-value",
    title: "Beside wasi:keyvalue",
    about: "A guest reads and writes 4 KiB in our memory store, beside a guest that gets and sets \
            4 KiB through `wasi:keyvalue` on wasmtime's own host of it, which keeps values in a \
            hash map of one instance: no other turn can see them, nothing is checked, and nothing \
            is bounded.",
    run: |setting| Box::pin(run(setting)),
};

async fn run(setting: &Setting) -> Result<Found> {
    let times = setting.choose(20_000, 100_000);
    let host = Host::in_memory(setting).await?;
    host.turn("write session/file 1").await?;
    let peers = Peers::new(&bare::engine()?, &setting.guest("bench-peers")?)?;
    let folder: Arc<Path> = setting.scratch.as_path().into();
    let mut race = Race::default();
    for (what, verb, peers_verb) in [("read 4 KiB", "read", "get"), ("write 4 KiB", "write", "set")]
    {
        let host = host.clone();
        race.enter("guest", what, move || {
            host.clone().verb(format!("{verb} session/file"), times, String::new())
        });
        let (peers, folder) = (peers.clone(), folder.clone());
        race.enter("wasi:keyvalue", what, move || {
            peer(peers.clone(), folder.clone(), format!("{peers_verb} file"), times, "4096 1")
        });
    }
    let raced = race.run(setting.choose(11, 31)).await?;
    Ok(vec![
        raced.time(pair("read 4 KiB", "guest", "wasi:keyvalue"))?,
        raced.time(pair("write 4 KiB", "guest", "wasi:keyvalue"))?,
    ]
    .into())
}

/// What one call of a verb costs in the peers' guest; `rest` follows the number of calls.
pub(super) async fn peer(
    peers: Peers,
    folder: Arc<Path>,
    verb: String,
    times: usize,
    rest: &'static str,
) -> Result<Cost> {
    let (_, none) = timed(peers.run(&folder, format!("{verb} 0 {rest}"))).await?;
    let (_, all) = timed(peers.run(&folder, format!("{verb} {times} {rest}"))).await?;
    Ok(all.less(none).per(times))
}
