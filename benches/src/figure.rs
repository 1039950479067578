//! One line of the results: what was reached, against what, and what is to be reached.

use serde::{Deserialize, Serialize};

use crate::statistics::Spread;

/// How a figure compares.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Kind {
    /// Ours over the other's, per round: less is better.
    Ratio,
    /// As speeds, so that more is better; a measurement moves so many bytes or does so many.
    Speed {
        /// Bytes, or how many of something.
        amount: u64,
    },
    /// Ours less the other's.
    Added,
    /// By itself.
    Amount,
}

/// What the medians beside a figure are of.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Unit {
    Seconds,
    BytesPerSecond,
    PerSecond,
    Bytes,
    Count,
}

/// What is to be reached.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Target {
    AtMost(f64),
    AtLeast(f64),
}

/// One line of the results.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Figure {
    /// Of what.
    pub(crate) what: String,
    /// Whose it is.
    pub(crate) ours: String,
    /// Its median, by itself.
    pub(crate) ours_median: f64,
    /// Beside whom, and their median.
    pub(crate) against: Option<(String, f64)>,
    /// How they compare.
    pub(crate) kind: Kind,
    /// Of the medians, and of what is reached where that is no ratio.
    pub(crate) unit: Unit,
    /// Over all rounds.
    pub(crate) reached: Spread,
    /// `None` where it is only to be known.
    pub(crate) target: Option<Target>,
    /// Why the target is missed, where it is.
    pub(crate) cause: Option<String>,
}

impl Figure {
    /// A figure without a target.
    pub(crate) fn new(what: &str, ours: &str, kind: Kind, unit: Unit, samples: &[f64]) -> Self {
        let reached = Spread::of(samples);
        Self {
            what: what.to_owned(),
            ours: ours.to_owned(),
            ours_median: reached.median,
            against: None,
            kind,
            unit,
            reached,
            target: None,
            cause: None,
        }
    }

    /// Ours over another's where each was measured by itself.
    pub(crate) fn ratio(
        what: &str,
        ours: (&str, &[f64]),
        against: (&str, &[f64]),
        unit: Unit,
    ) -> Self {
        let ratios: Vec<_> =
            ours.1.iter().zip(against.1).map(|(ours, other)| ours / other).collect();
        Self {
            ours_median: Spread::of(ours.1).median,
            against: Some((against.0.to_owned(), Spread::of(against.1).median)),
            ..Self::new(what, ours.0, Kind::Ratio, unit, &ratios)
        }
    }

    /// What may not be exceeded.
    pub(crate) fn at_most(self, bound: f64) -> Self {
        Self { target: Some(Target::AtMost(bound)), ..self }
    }

    /// What must be there at least.
    pub(crate) fn at_least(self, bound: f64) -> Self {
        Self { target: Some(Target::AtLeast(bound)), ..self }
    }

    /// What the cause is, shown where the target is missed.
    pub(crate) fn because(self, cause: &str) -> Self {
        Self { cause: Some(cause.to_owned()), ..self }
    }

    /// Whether the median is within the target; `None` without one.
    pub(crate) fn is_met(&self) -> Option<bool> {
        Some(match self.target? {
            Target::AtMost(bound) => self.reached.median <= bound,
            Target::AtLeast(bound) => self.reached.median >= bound,
        })
    }

    /// A number of what is reached, as a person reads it.
    pub(crate) fn shown(&self, number: f64) -> String {
        match self.kind {
            Kind::Ratio | Kind::Speed { .. } => format!("{number:.2}"),
            Kind::Added | Kind::Amount => self.unit.shown(number),
        }
    }
}

impl Unit {
    /// A number with its unit, three digits that count.
    pub(crate) fn shown(self, number: f64) -> String {
        const SECONDS: [(f64, &str); 4] = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")];
        const BYTES: [(f64, &str); 4] = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")];
        const BYTES_PER_SECOND: [(f64, &str); 3] = [(1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")];
        const PER_SECOND: [(f64, &str); 3] = [(1e6, "M/s"), (1e3, "k/s"), (1.0, "/s")];
        match self {
            Self::Seconds => scaled(number, &SECONDS),
            Self::Bytes => scaled(number, &BYTES),
            Self::BytesPerSecond => scaled(number, &BYTES_PER_SECOND),
            Self::PerSecond => scaled(number, &PER_SECOND),
            Self::Count => format!("{number:.1}"),
        }
    }
}

fn scaled(number: f64, steps: &[(f64, &str)]) -> String {
    let fits = |(step, _): &&(f64, &str)| number.abs() >= *step * 0.9995;
    let Some((step, name)) = steps.iter().find(fits).or(steps.last()) else {
        return number.to_string();
    };
    let number = number / step;
    let digits = match number.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        _ => 2,
    };
    format!("{number:.digits$} {name}")
}
