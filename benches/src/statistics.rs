//! Medians and quartiles: what is said of samples, since the mean of a noisy machine says little.

use serde::{Deserialize, Serialize};

/// A median and how far the samples lie from it.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Spread {
    /// First quartile.
    pub(crate) low: f64,
    /// Half of the samples are below it.
    pub(crate) median: f64,
    /// Third quartile.
    pub(crate) high: f64,
    /// How many samples there are.
    pub(crate) count: usize,
}

impl Spread {
    /// Of samples, in any order; all zero for none.
    pub(crate) fn of(samples: &[f64]) -> Self {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |share| quantile(&sorted, share);
        Self { low: at(0.25), median: at(0.5), high: at(0.75), count: sorted.len() }
    }
}

/// By linear interpolation between the two nearest samples.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let place = share * last as f64;
    let below = sorted[place.floor() as usize];
    let above = sorted[place.ceil() as usize];
    below + (above - below) * place.fract()
}
