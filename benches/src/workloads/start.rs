//! The start of a turn, and of the command.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::{Result, ensure};
use bailiwick::clock::SystemClock;
use bailiwick::store::MemoryStore;

use super::{Found, Workload};
use crate::bare::{self, Agent};
use crate::figure::{Figure, Kind, Unit};
use crate::ours::Host;
use crate::race::{Cost, Race, pair, timed};
use crate::setting::Setting;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "start",
    title: "Start of a turn",
    about: "A turn of `hello` from its store to its end (instantiate, run, drop), against \
            wasmtime alone with the same component and settings. Then `bailiwick run` of the same \
            component as a process, compiled code in its disk cache, catalog and files in a data \
            directory; against a process that maps the same compiled code and runs it on \
            wasmtime, and keeps nothing.",
    run: |setting| Box::pin(run(setting)),
};

const CAUSE: &str = "the bare process beside it takes as long as what is to be reached, and \
`bailiwick --version` 3 ms: a program of 60 MB, with 90,000 relocations. The rest is processor time \
of opening a catalog, a store and an engine; some 250 times the process changes threads, since sqlx \
gives each statement to a thread of SQLite's and waits; and four syncs make the beginning and the end \
of the turn durable. Opening the catalog while the component is loaded, and one unit of compilation, \
took it from 16.9 to 14.3 ms in quiet runs; not closing the catalog, and one connection instead of two, \
took off one more before that; packed relocations nothing.";

async fn run(setting: &Setting) -> Result<Found> {
    let memory = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
    let host = Host::with_guest(setting, memory, "hello").await?;
    let hello = setting.guest("hello")?;
    let agent = Agent::new(&bare::engine()?, &hello)?;
    let times = setting.choose(300, 1_000);
    let folder = setting.folder()?;
    let compiled = folder.path().join("hello.compiled");
    bare::compile(&hello, &compiled)?;
    let data = folder.path().join("data");
    let command = setting.command.clone();
    let guest = setting.guests.join("hello.wasm");
    let bench: PathBuf = std::env::current_exe()?;
    let mut race = Race::default();
    race.enter("Engine", "turn", || {
        let host = host.clone();
        async move { repeated(times, || host.turn("Ada")).await }
    });
    race.enter("wasmtime", "turn", || {
        let agent = agent.clone();
        async move { repeated(times, || agent.turn("Ada")).await }
    });
    race.enter("bailiwick run", "process", || {
        let mut process = Command::new(&command);
        process.arg("run").arg(&guest).arg("--data-dir").arg(&data);
        process.args(["-w", "acme", "-a", "bench", "-s", "one", "--input", "Ada"]);
        processes(process, setting.choose(3, 10))
    });
    race.enter("wasmtime", "process", || {
        let mut process = Command::new(&bench);
        process.arg("bare").arg(&compiled);
        processes(process, setting.choose(3, 10))
    });
    let raced = race.run(setting.choose(11, 31)).await?;
    let process = raced.samples("bailiwick run", "process", |cost| cost.seconds)?;
    Ok(vec![
        raced.time(pair("turn", "Engine", "wasmtime"))?.at_most(1.3),
        Figure::new("process", "bailiwick run", Kind::Amount, Unit::Seconds, &process)
            .at_most(5e-3)
            .because(CAUSE),
        raced.time(pair("process", "bailiwick run", "wasmtime"))?,
    ]
    .into())
}

async fn repeated<F>(times: usize, turn: impl Fn() -> F) -> Result<Cost>
where
    F: Future<Output = Result<String>>,
{
    let turns = async {
        for _ in 0..times {
            turn().await?;
        }
        Ok(())
    };
    Ok(timed(turns).await?.1.per(times))
}

/// One process after the other, on a thread that may wait.
async fn processes(mut command: Command, times: usize) -> Result<Cost> {
    command.stdin(Stdio::null());
    let all = async {
        tokio::task::spawn_blocking(move || {
            for _ in 0..times {
                let output = command.output()?;
                let said = String::from_utf8_lossy(&output.stdout);
                let failed = String::from_utf8_lossy(&output.stderr);
                ensure!(said.contains("Hello, Ada."), "it said `{said}`, `{failed}`");
            }
            Ok(())
        })
        .await?
    };
    Ok(timed(all).await?.1.per(times))
}
