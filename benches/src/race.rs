//! Contestants measured in turns: each round runs every one of them once, so that what else the
//! machine does meanwhile falls on all alike, and a ratio is one of neighbours in time.

use std::collections::HashMap;
use std::time::Instant;

use anyhow::{Context, Result};
use futures::future::BoxFuture;

use crate::figure::{Figure, Kind, Unit};
use crate::machine;
use crate::statistics::Spread;

/// What something took, per call.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    /// On the clock.
    pub(crate) seconds: f64,
    /// Of processors, all threads of this process together.
    pub(crate) cpu_seconds: f64,
}

impl Cost {
    /// The share of one of so many calls.
    pub(crate) fn per(self, calls: usize) -> Self {
        let calls = calls.max(1) as f64;
        Self { seconds: self.seconds / calls, cpu_seconds: self.cpu_seconds / calls }
    }

    /// What is left when another cost is taken off.
    pub(crate) fn less(self, other: Self) -> Self {
        Self {
            seconds: self.seconds - other.seconds,
            cpu_seconds: self.cpu_seconds - other.cpu_seconds,
        }
    }
}

/// Runs something and says what it took.
pub(crate) async fn timed<T>(work: impl Future<Output = Result<T>>) -> Result<(T, Cost)> {
    let (cpu, start) = (machine::cpu_seconds(), Instant::now());
    let done = work.await?;
    let seconds = start.elapsed().as_secs_f64();
    Ok((done, Cost { seconds, cpu_seconds: machine::cpu_seconds() - cpu }))
}

type Measure<'a> = Box<dyn FnMut() -> BoxFuture<'static, Result<Cost>> + Send + 'a>;

/// Contestants before the start.
#[derive(Default)]
pub(crate) struct Race<'a> {
    contestants: Vec<Contestant<'a>>,
}

struct Contestant<'a> {
    whom: String,
    what: String,
    measure: Measure<'a>,
    costs: Vec<Cost>,
}

impl<'a> Race<'a> {
    /// Adds somebody who does something. Each measurement runs as a task of its own, as a turn
    /// does.
    pub(crate) fn enter<F>(
        &mut self,
        whom: &str,
        what: &str,
        mut measure: impl FnMut() -> F + Send + 'a,
    ) where
        F: Future<Output = Result<Cost>> + Send + 'static,
    {
        self.contestants.push(Contestant {
            whom: whom.to_owned(),
            what: what.to_owned(),
            measure: Box::new(move || Box::pin(measure())),
            costs: Vec::new(),
        });
    }

    /// Runs one round to warm up and then so many that count. Each round begins with another
    /// contestant.
    pub(crate) async fn run(mut self, rounds: usize) -> Result<Raced> {
        let count = self.contestants.len();
        for round in 0..=rounds {
            for at in (0..count).map(|at| (at + round) % count) {
                let contestant = &mut self.contestants[at];
                let cost = tokio::spawn((contestant.measure)()).await?;
                let named = || format!("measuring {}, {}", contestant.whom, contestant.what);
                let cost = cost.with_context(named)?;
                if round > 0 {
                    contestant.costs.push(cost);
                }
            }
        }
        let costs = self.contestants.into_iter().map(|one| ((one.whom, one.what), one.costs));
        Ok(Raced { costs: costs.collect() })
    }
}

/// What each contestant took in each round.
pub(crate) struct Raced {
    costs: HashMap<(String, String), Vec<Cost>>,
}

/// Who is compared with whom, doing what.
#[derive(Clone, Copy)]
pub(crate) struct Pair<'a> {
    pub(crate) what: &'a str,
    pub(crate) ours: &'a str,
    pub(crate) against: &'a str,
}

impl Raced {
    /// One part of what somebody took, round by round.
    ///
    /// # Errors
    /// If nobody of that name did that.
    pub(crate) fn samples(
        &self,
        whom: &str,
        what: &str,
        part: fn(&Cost) -> f64,
    ) -> Result<Vec<f64>> {
        let costs = self.costs.get(&(whom.to_owned(), what.to_owned()));
        let costs = costs.with_context(|| format!("no contestant {whom} does {what}"))?;
        Ok(costs.iter().map(part).collect())
    }

    fn compare(&self, pair: Pair<'_>, part: fn(&Cost) -> f64, kind: Kind) -> Result<Figure> {
        let left = self.samples(pair.ours, pair.what, part)?;
        let right = self.samples(pair.against, pair.what, part)?;
        let each = |(left, right): (&f64, &f64)| match kind {
            Kind::Ratio => left / right,
            Kind::Speed { .. } => right / left,
            Kind::Added | Kind::Amount => left - right,
        };
        let reached: Vec<_> = left.iter().zip(&right).map(each).collect();
        let absolute = |samples: &[f64]| match kind {
            Kind::Speed { amount } => amount as f64 / Spread::of(samples).median,
            Kind::Ratio | Kind::Added | Kind::Amount => Spread::of(samples).median,
        };
        Ok(Figure {
            ours_median: absolute(&left),
            against: Some((pair.against.to_owned(), absolute(&right))),
            ..Figure::new(pair.what, pair.ours, kind, Unit::Seconds, &reached)
        })
    }

    /// Time over time.
    pub(crate) fn time(&self, pair: Pair<'_>) -> Result<Figure> {
        self.compare(pair, |cost| cost.seconds, Kind::Ratio)
    }

    /// Processor time over processor time.
    pub(crate) fn cpu(&self, pair: Pair<'_>) -> Result<Figure> {
        let figure = self.compare(pair, |cost| cost.cpu_seconds, Kind::Ratio)?;
        Ok(Figure { what: format!("{}, CPU", pair.what), ..figure })
    }

    /// What ours takes longer.
    pub(crate) fn added(&self, pair: Pair<'_>) -> Result<Figure> {
        self.compare(pair, |cost| cost.seconds, Kind::Added)
    }

    /// Speed over speed, where one measurement moves so many bytes, or does so many of something.
    pub(crate) fn speed(&self, pair: Pair<'_>, amount: u64, unit: Unit) -> Result<Figure> {
        let figure = self.compare(pair, |cost| cost.seconds, Kind::Speed { amount })?;
        Ok(Figure { unit, ..figure })
    }

    /// Processor time of one contestant by itself, times a factor.
    pub(crate) fn cpu_amount(&self, what: &str, ours: &str, factor: f64) -> Result<Figure> {
        let samples = self.samples(ours, what, |cost| cost.cpu_seconds)?;
        let scaled: Vec<_> = samples.iter().map(|sample| sample * factor).collect();
        Ok(Figure::new(what, ours, Kind::Amount, Unit::Seconds, &scaled))
    }
}

/// Short for a [`Pair`].
pub(crate) fn pair<'a>(what: &'a str, ours: &'a str, against: &'a str) -> Pair<'a> {
    Pair { what, ours, against }
}
