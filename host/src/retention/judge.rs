use std::sync::Arc;

use super::policy::{Policy, judge};
use crate::catalog::{Cascade, Judge, Reason, SessionFacts};
use crate::clock::Clock;
use crate::limits::Limits;
use crate::settings::Effective;

/// Decides by what is set, at the time that it is.
#[derive(Clone, Debug)]
pub struct Settled {
    limits: Limits,
    clock: Arc<dyn Clock>,
}

impl Settled {
    /// Decides where these limits hold, by this clock.
    pub fn new(limits: Limits, clock: Arc<dyn Clock>) -> Self {
        Self { limits, clock }
    }

    /// How long sessions are kept where these settings hold.
    pub fn policy(&self, settings: &Cascade) -> Policy {
        Policy::of(&Effective::read(&self.limits, settings.levels()))
    }

    /// What the clock says, in milliseconds since the Unix epoch.
    pub fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }
}

impl Judge for Settled {
    fn kept(&self, settings: &Cascade) -> Option<u64> {
        self.policy(settings).keep_last
    }

    fn sentence(&self, facts: &SessionFacts, settings: &Cascade) -> Option<Reason> {
        judge(facts, &self.policy(settings)).by(self.now_ms())
    }
}
