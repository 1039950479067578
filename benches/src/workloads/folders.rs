//! One large plain file through a scope as a folder, beside a folder of the host's.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, ensure};
use bailiwick::space::ErrorCode;
use bailiwick::store::Precondition;

use super::{Found, Workload};
use crate::figure::Unit;
use crate::ours::Host;
use crate::plain::Program;
use crate::race::{Cost, Race, pair, timed};
use crate::setting::Setting;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "folders",
    title: "Plain files",
    about: "A program of plain files, which knows nothing of this host, writes 1 GiB (128 MiB in a \
            quick run) with `std::fs`, syncs it, and reads it back from the page cache, 1 MiB per \
            call: over a scope as a folder on the directory store, and over a folder of the host's \
            that `wasmtime-wasi` opens for it, set up as for asynchronous hosts: calls that block go \
            to threads for that. Both for WASI 0.2 and, through the adapter, for 0.1. Before it \
            writes, what was written last is deleted, off the clock.",
    run: |setting| Box::pin(run(setting)),
};

/// Of which WASI, and what the guest of it is called.
const PROGRAMS: [(&str, &str); 2] = [("0.2", "bench-plain"), ("0.1", "bench-plain-wasip1")];
const PEER: &str = "wasmtime-wasi";

#[derive(Clone)]
struct Contest {
    host: Host,
    program: Program,
    folder: Arc<Path>,
    bytes: usize,
}

async fn run(setting: &Setting) -> Result<Found> {
    let bytes = setting.choose(128 << 20, 1 << 30);
    let mut figures = Vec::new();
    for (wasi, guest) in PROGRAMS {
        let root = setting.folder()?;
        let folder = root.path().join("peer");
        std::fs::create_dir(&folder)?;
        let store = root.path().join("ours");
        let contest = Contest {
            host: Host::program_in_directory(setting, &store, guest).await?,
            program: Program::new(&setting.guest(guest)?)?,
            folder: folder.into(),
            bytes,
        };
        let (write, read) = (format!("write, WASI {wasi}"), format!("read, WASI {wasi}"));
        let mut race = Race::default();
        race.enter("folder", &write, || contest.clone().our_write());
        race.enter(PEER, &write, || contest.clone().peer_write());
        race.enter("folder", &read, || contest.clone().ours("read /session/large".to_owned()));
        race.enter(PEER, &read, || contest.clone().peer("read /session/large".to_owned()));
        let raced = race.run(setting.choose(5, 9)).await?;
        for what in [&write, &read] {
            let figure =
                raced.speed(pair(what, "folder", PEER), bytes as u64, Unit::BytesPerSecond)?;
            figures.push(figure.at_least(0.8));
        }
    }
    Ok(figures.into())
}

impl Contest {
    async fn our_write(self) -> Result<Cost> {
        let gone = self.host.space().delete("session/large", Precondition::Always).await;
        if let Err(error) = gone {
            ensure!(error.code == ErrorCode::NotFound, "{error}");
        }
        let input = format!("write /session/large {}", self.bytes);
        self.ours(input).await
    }

    async fn peer_write(self) -> Result<Cost> {
        let file = self.folder.join("large");
        if file.exists() {
            std::fs::remove_file(file)?;
        }
        let input = format!("write /session/large {}", self.bytes);
        self.peer(input).await
    }

    async fn ours(self, input: String) -> Result<Cost> {
        let (moved, cost) = timed(self.host.turn(input)).await?;
        self.moved_all(&moved)?;
        Ok(cost)
    }

    async fn peer(self, input: String) -> Result<Cost> {
        let (moved, cost) = timed(self.program.run(&self.folder, input)).await?;
        self.moved_all(&moved)?;
        Ok(cost)
    }

    fn moved_all(&self, moved: &str) -> Result<()> {
        ensure!(moved.trim() == self.bytes.to_string(), "{moved} bytes were moved");
        Ok(())
    }
}
