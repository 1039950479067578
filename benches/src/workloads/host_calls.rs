//! Host calls on the memory store: what the sandbox adds to a verb.

use anyhow::Result;
use bailiwick::space::Space;
use bailiwick::store::Precondition;
use bytes::Bytes;

use super::{Found, Workload};
use crate::bare::{self, EmptyCalls};
use crate::ours::Host;
use crate::race::{Cost, Race, pair, timed};
use crate::setting::Setting;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "host-calls",
    title: "Host calls",
    about: "A guest calls a verb on the memory store, against the same verb called on `Space` by \
            the host itself: what is added is what the sandbox costs. An empty call is \
            `session.current-status`, against wasmtime's alone, set up alike. Files have 4 KiB.",
    run: |setting| Box::pin(run(setting)),
};

const PATH: &str = "session/file";
const EMPTY: &str = "empty call";
const STAT: &str = "stat";
const READ: &str = "read 4 KiB";
const WRITE: &str = "write 4 KiB";

const CAUSE: &str = "by perf, a seventh of a guest's stat is wasmtime finding the guest's memory \
anew for each of the fifteen values that make a `file`, and another seventh the calls back into \
the guest for room for its three texts, which the guest then gives back. They are lowered from where \
the host has them, without the copies that generated bindings make; one unit of compilation for the \
whole crate took off some 40 ns, in quiet runs side by side (521 to 591 ns against 575 to 621), and \
to answer with the path that the call brought instead of a copy some 30 more. What is left to save is \
in how values are lowered, which is wasmtime's. In quiet runs it was 465, and 490 since calls are \
counted for the record of their turn; a busy hour adds half as much again.";

async fn run(setting: &Setting) -> Result<Found> {
    let times = setting.choose(20_000, 100_000);
    let host = Host::in_memory(setting).await?;
    host.turn(format!("write {PATH} 1")).await?;
    let empty = EmptyCalls::new(&bare::engine()?)?;
    let mut race = Race::default();
    for (what, verb) in [(EMPTY, "nothing"), (STAT, "stat"), (READ, "read"), (WRITE, "write")] {
        let host = host.clone();
        race.enter("guest", what, move || {
            host.clone().verb(format!("{verb} {PATH}"), times, String::new())
        });
    }
    for (what, export) in [(EMPTY, "nothing-times"), (READ, "bytes-times")] {
        let empty = empty.clone();
        race.enter("wasmtime", what, move || bare_calls(empty.clone(), export, times));
    }
    for (what, verb) in [(STAT, Native::Stat), (READ, Native::Read), (WRITE, Native::Write)] {
        let host = &host;
        race.enter("Space", what, move || native(host.space(), verb, times));
    }
    let raced = race.run(setting.choose(15, 41)).await?;
    Ok(vec![
        raced.added(pair(STAT, "guest", "Space"))?.at_most(0.5e-6).because(CAUSE),
        raced.added(pair(READ, "guest", "Space"))?.at_most(1e-6).because(CAUSE),
        raced.added(pair(WRITE, "guest", "Space"))?.at_most(1e-6).because(CAUSE),
        raced.time(pair(EMPTY, "guest", "wasmtime"))?,
        raced.time(pair(READ, "guest", "wasmtime"))?,
    ]
    .into())
}

async fn bare_calls(empty: EmptyCalls, export: &'static str, times: usize) -> Result<Cost> {
    let (_, none) = timed(empty.clone().call(export, 0)).await?;
    let (_, all) = timed(empty.call(export, u32::try_from(times)?)).await?;
    Ok(all.less(none).per(times))
}

#[derive(Clone, Copy)]
enum Native {
    Stat,
    Read,
    Write,
}

async fn native(space: Space, verb: Native, times: usize) -> Result<Cost> {
    let calls = async {
        for _ in 0..times {
            match verb {
                Native::Stat => drop(space.stat(PATH).await?),
                Native::Read => drop(space.read(PATH, 0, 4096).await?),
                Native::Write => {
                    // Copied, as from a guest.
                    let bytes = Bytes::from(vec![b'x'; 4096]);
                    drop(space.write(PATH, bytes, Precondition::Always).await?);
                }
            }
        }
        Ok(())
    };
    Ok(timed(calls).await?.1.per(times))
}
