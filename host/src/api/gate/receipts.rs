//! Seeing receipts of promotions.

use super::conversation::{Conversation, Reading};
use super::desks::Wanted;
use super::{Desk, OfWorkspace, Right};
use crate::api::authority::Authority;
use crate::api::problem::Problem;
use crate::catalog::{Promotion, PromotionId, ReceiptsOf};

/// To see what was promoted in conversations: names of their files.
#[derive(Debug)]
pub(in crate::api) enum Auditing {}

impl Wanted for Auditing {
    const RIGHT: Right = Right::AnyOf(&[Authority::SessionsRead]);
}

impl Desk<OfWorkspace, Auditing> {
    pub(in crate::api) async fn receipts(
        &self,
        before: Option<PromotionId>,
        limit: u32,
    ) -> Result<Vec<Promotion>, Problem> {
        let of = ReceiptsOf::Workspace(self.owner.0);
        Ok(self.host.0.catalog.receipts(of, before, limit).await?)
    }
}

impl Conversation<Reading> {
    pub(in crate::api) async fn receipts(
        &self,
        before: Option<PromotionId>,
        limit: u32,
    ) -> Result<Vec<Promotion>, Problem> {
        let of = ReceiptsOf::Session(self.session);
        Ok(self.host.0.catalog.receipts(of, before, limit).await?)
    }
}
