//! What stands between a path and a store: parsing it, checking the grant, making the key.

use std::hint::black_box;
use std::time::Instant;

use anyhow::{Result, anyhow};
use bailiwick::scope::{GuestPath, MountTable, Need, Resolved};

use super::{Found, Workload};
use crate::allocations;
use crate::figure::{Figure, Kind, Unit};
use crate::ours::{coordinates, table};
use crate::setting::Setting;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "scope-check",
    title: "Scope check",
    about: "Parsing a path, checking the grant and making the object's key, as each verb does \
            before any store is asked; on one thread. The key itself is one allocation. Beside it \
            stands a plain concatenation of the prefix and the rest.",
    run: |setting| Box::pin(run(setting)),
};

const PATH: &str = "session/notes/2026/summary of the week.md";

async fn run(setting: &Setting) -> Result<Found> {
    let times = setting.choose(100_000, 1_000_000);
    let table = table(coordinates(1));
    let (resolved, allocations) = allocations::during(|| resolve(&table));
    let resolved = resolved?;
    let prefix = resolved.key.as_str().strip_suffix("notes/2026/summary of the week.md");
    let prefix = prefix.ok_or_else(|| anyhow!("another key than was expected"))?;
    let (mut ours, mut plain) = (Vec::new(), Vec::new());
    for _ in 0..setting.choose(15, 41) {
        ours.push(per_call(times, || resolve(&table).is_ok()));
        plain.push(per_call(times, || [black_box(prefix), black_box(PATH)].concat().is_empty()));
    }
    Ok(vec![
        Figure::new("parse, grant, key", "scope", Kind::Amount, Unit::Seconds, &ours)
            .at_most(0.3e-6),
        Figure::ratio(
            "parse, grant, key",
            ("scope", &ours),
            ("concatenation", &plain),
            Unit::Seconds,
        ),
        Figure::new("allocations", "scope", Kind::Amount, Unit::Count, &[allocations as f64])
            .at_most(1.0),
    ]
    .into())
}

fn resolve(table: &MountTable) -> Result<Resolved> {
    let path = GuestPath::parse(black_box(PATH)).map_err(|refusal| anyhow!("{refusal}"))?;
    table.resolve(&path, Need::Read).map_err(|refusal| anyhow!("{refusal}"))
}

fn per_call(times: usize, mut call: impl FnMut() -> bool) -> f64 {
    let start = Instant::now();
    for _ in 0..times {
        black_box(call());
    }
    start.elapsed().as_secs_f64() / times as f64
}
