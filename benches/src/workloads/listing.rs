//! Listing very many files, page by page: the last page must cost what the first one does.

use anyhow::{Result, ensure};
use bailiwick::space::Space;
use bailiwick::store::{Depth, Precondition};
use bytes::Bytes;

use super::{Found, Workload};
use crate::clients;
use crate::figure::{Figure, Kind, Unit};
use crate::machine::MemoryWatch;
use crate::ours::{Host, coordinates, key};
use crate::race::timed;
use crate::server::Server;
use crate::setting::{Effort, Setting};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "listing",
    title: "Listing a million files",
    about: "A listing of a million files (100,000 in a quick run) in pages of 1,000, on the \
            memory store and, in a full run, on SeaweedFS: the time of a page among the last \
            tenth over that of one among the first, and what the listing adds to resident memory. \
            Quartiles are over ten passes (three on SeaweedFS).",
    run: |setting| Box::pin(run(setting)),
};

const LIMIT: u32 = 1_000;
const FOLDER: usize = 1_000;

async fn run(setting: &Setting) -> Result<Found> {
    let files = setting.choose(100_000, 1_000_000);
    let host = Host::in_memory(setting).await?;
    let space = host.space();
    for file in 0..files {
        space.write(&path(file), Bytes::new(), Precondition::Always).await?;
    }
    let mut figures = passes("memory store", &space, files, 10).await?;
    drop(host);
    if setting.effort == Effort::Full {
        let server = Server::seaweed(setting).await?;
        let host = Host::new(setting, server.store().await?).await?;
        let key = |file| Ok(key(coordinates(1), &path(file))?.as_str().to_owned());
        let keys = (0..files).map(key).collect::<Result<Vec<_>>>()?;
        clients::put_all(&clients::tuned(&server.endpoint()), keys).await?;
        figures.extend(passes("SeaweedFS", &host.space(), files, 3).await?);
    }
    Ok(figures.into())
}

fn path(file: usize) -> String {
    format!("session/{:04}/{file:07}.txt", file / FOLDER)
}

async fn passes(whose: &str, space: &Space, files: usize, passes: usize) -> Result<Vec<Figure>> {
    let (mut first, mut last, mut memory) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..passes {
        let watch = MemoryWatch::start();
        let pages = pages(space, files).await?;
        memory.push(watch.added() as f64);
        let tenth = (pages.len() / 10).max(1);
        let median = |pages: &[f64]| crate::statistics::Spread::of(pages).median;
        first.push(median(&pages[..tenth]));
        last.push(median(&pages[pages.len() - tenth..]));
    }
    let what = format!("{whose}: a page");
    let memory_what = format!("{whose}: memory added");
    Ok(vec![
        Figure::ratio(&what, ("last", &last), ("first", &first), Unit::Seconds).at_most(1.2),
        Figure::new(&memory_what, "listing", Kind::Amount, Unit::Bytes, &memory)
            .at_most(f64::from(8 << 20)),
    ])
}

/// The time that each page took.
async fn pages(space: &Space, files: usize) -> Result<Vec<f64>> {
    let (mut times, mut after, mut found) = (Vec::new(), None::<String>, 0);
    loop {
        let page = async { Ok(space.list("session", Depth::All, after.as_deref(), LIMIT).await?) };
        let (page, cost) = timed(page).await?;
        found += page.files.len();
        // The last one is mostly not a full one.
        let Some(next) = page.next else { break };
        times.push(cost.seconds);
        after = Some(next);
    }
    ensure!(found == files, "{found} files are listed, and not {files}");
    Ok(times)
}
