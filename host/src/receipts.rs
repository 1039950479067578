//! Receipts of promotions in the catalog: the one place where a space and the catalog meet over
//! them.

use std::sync::Arc;

use async_trait::async_trait;
use uuid::Uuid;

use crate::catalog::{Catalog, Lease, Promoter, PromotionId};
use crate::scope::Coordinates;
use crate::space;
use crate::store::Revision;

/// Keeps the receipts of one space in the catalog.
#[derive(Debug)]
pub struct Receipts {
    catalog: Catalog,
    promoting: Promoting,
}

#[derive(Debug)]
enum Promoting {
    Turn(Lease),
    Person(Coordinates, Promoter),
}

impl Receipts {
    /// Of a turn, for as long as its lease is held.
    pub fn of_turn(catalog: Catalog, lease: Lease) -> Arc<Self> {
        Arc::new(Self { catalog, promoting: Promoting::Turn(lease) })
    }

    /// Of somebody who promotes outside of a turn.
    pub fn of_person(catalog: Catalog, at: Coordinates, by: Promoter) -> Arc<Self> {
        Arc::new(Self { catalog, promoting: Promoting::Person(at, by) })
    }
}

#[async_trait]
impl space::Receipts for Receipts {
    async fn open(&self, source: &str, target: &str) -> anyhow::Result<Uuid> {
        let opened = match &self.promoting {
            Promoting::Turn(lease) => self.catalog.open_turn_receipt(*lease, source, target).await,
            Promoting::Person(at, by) => self.catalog.open_receipt(*at, by, source, target).await,
        };
        Ok(opened?.0)
    }

    async fn complete(&self, receipt: Uuid, revision: &Revision) -> anyhow::Result<()> {
        Ok(self.catalog.complete_receipt(PromotionId(receipt), &revision.0).await?)
    }

    async fn withdraw(&self, receipt: Uuid) -> anyhow::Result<()> {
        Ok(self.catalog.withdraw_receipt(PromotionId(receipt)).await?)
    }
}
