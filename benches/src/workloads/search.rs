//! Searching many text files.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use regex::bytes::Regex;

use super::{Found, Workload};
use crate::ours::{Host, coordinates, key, like_a_key};
use crate::race::{Cost, Race, pair, timed};
use crate::setting::Setting;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "search",
    title: "Searching 10,000 text files",
    about: "A guest searches 10,000 files of 4 KiB, in a hundred folders of a directory, for a \
            pattern that one line in some 3,000 has, page by page until there is no more. Against \
            a loop on one thread for blocking work that walks the same tree by `cap-std`, reads \
            each file, passes over binary ones and runs the same expression of the `regex` crate \
            over its lines.",
    run: |setting| Box::pin(run(setting)),
};

const FOLDERS: usize = 100;
const FILES: usize = 100;
const FILE_BYTES: usize = 4096;
const PATTERN: &str = "penguin-[0-9]+";

async fn run(setting: &Setting) -> Result<Found> {
    let root = setting.folder()?;
    let host = Host::in_directory(setting, &root.path().join("ours")).await?;
    // Put where the store keeps them, without its syncs.
    for folder in 0..FOLDERS {
        let key = key(coordinates(1), &format!("session/{folder:02}/00.txt"))?;
        fill(&root.path().join("ours").join(key.as_str()), folder)?;
    }
    for folder in 0..FOLDERS {
        let file = root.path().join("raw").join(like_a_key(&format!("{folder:02}/00.txt")));
        fill(&file, folder)?;
    }
    let raw = Arc::new(Dir::open_ambient_dir(root.path().join("raw"), ambient_authority())?);
    let expected = raw_search(&raw)?;
    ensure!(expected > 0, "nothing to be found");
    let mut race = Race::default();
    race.enter("guest", "search", || {
        let host = host.clone();
        async move {
            let input = format!("search session#{PATTERN} 1");
            let (found, cost) = timed(host.turn(input)).await?;
            ensure!(found == expected.to_string(), "{found} lines were found, not {expected}");
            Ok(cost)
        }
    });
    race.enter("regex", "search", || natively(raw.clone()));
    let raced = race.run(setting.choose(7, 21)).await?;
    Ok(vec![raced.time(pair("search", "guest", "regex"))?.at_most(1.3)].into())
}

/// Fills the folder that a file is in.
fn fill(first: &Path, at: usize) -> Result<()> {
    let folder = first.parent().context("a file without a folder")?;
    std::fs::create_dir_all(folder)?;
    for file in 0..FILES {
        std::fs::write(folder.join(format!("{file:02}.txt")), text(at * FILES + file))?;
    }
    Ok(())
}

/// Lines of some fifty bytes, of which one in 3,000 matches.
fn text(file: usize) -> String {
    let mut text = String::with_capacity(FILE_BYTES + 64);
    let mut line = 0;
    while text.len() < FILE_BYTES {
        let number = file * 83 + line;
        let bird = if number.is_multiple_of(3_000) { "penguin-" } else { "albatross " };
        _ = writeln!(text, "{number}: the colony counted {bird}{number} this year");
        line += 1;
    }
    text
}

async fn natively(dir: Arc<Dir>) -> Result<Cost> {
    let all = async { tokio::task::spawn_blocking(move || raw_search(&dir)).await? };
    Ok(timed(all).await?.1)
}

fn raw_search(dir: &Dir) -> Result<usize> {
    let regex = Regex::new(PATTERN)?;
    let mut found = 0;
    let root = dir.open_dir(like_a_key(""))?;
    for folder in sorted(&root)? {
        let folder = root.open_dir(&folder)?;
        for name in sorted(&folder)? {
            let bytes = folder.read(&name)?;
            if !bytes.contains(&0) {
                found +=
                    bytes.split(|byte| *byte == b'\n').filter(|line| regex.is_match(line)).count();
            }
        }
    }
    Ok(found)
}

fn sorted(dir: &Dir) -> Result<Vec<std::ffi::OsString>> {
    let names = dir.entries()?.map(|entry| Ok(entry?.file_name()));
    let mut names = names.collect::<Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}
