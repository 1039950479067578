//! What a model is told of the places that its next turn has.

use super::conversation::{Conversation, Reading};
use crate::api::problem::Problem;
use crate::space::Guidance;

impl Conversation<Reading> {
    /// For a turn that was queued now: what it is granted is what the settings say, whatever the
    /// token allows.
    pub(in crate::api) async fn guidance(&self) -> Result<String, Problem> {
        let grant = self.host.effective(self.found).await?.grant();
        let bindings = self.host.0.catalog.bindings(self.agent).await?;
        let sent = bindings.into_iter().filter(|binding| binding.sent.is_some());
        let skills = sent.map(|binding| binding.slug).collect();
        let guidance = Guidance {
            has_session: true,
            agent: grant.agent,
            workspace: grant.workspace,
            skills,
            unmounted: Vec::new(),
        };
        Ok(guidance.to_string())
    }
}
