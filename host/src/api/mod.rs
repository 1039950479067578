//! The HTTP door: the same spaces that guests have, for people and platforms.
//!
//! A request carries a token ([`token`]); what it may do is decided in one place (`gate`), from
//! what its route needs and what the token and the settings allow. Routes and their needs stand
//! on one page (`router`).

use std::sync::Arc;

use axum::Router;

use crate::catalog::Catalog;
use crate::engine::Engine;
use crate::proofs::ReceiptKey;
use crate::space::Storage;

mod administration;
pub mod authority;
mod components;
mod erasures;
mod files;
mod gate;
mod health;
mod http;
mod metrics;
mod openapi;
mod places;
mod problem;
mod receipts;
mod retention;
mod router;
mod serve;
mod skills;
pub mod token;
mod traces;
mod turns;

pub use gate::{Needs, On, Right};
pub use metrics::Metrics;
pub use router::Route;
pub use serve::{ServeOptions, Served};

/// The API over a catalog and a store.
#[derive(Clone, Debug)]
pub struct Api(gate::Host);

impl Api {
    /// The API, whose tokens are checked by `verifier`, and which counts in `metrics`. `engine`
    /// looks at components that are uploaded; turns are for a [`crate::worker::Worker`], here or
    /// elsewhere.
    pub fn new(
        catalog: Catalog,
        storage: Arc<Storage>,
        engine: Engine,
        verifier: token::Verifier,
        metrics: Metrics,
    ) -> Self {
        Self(gate::Host::new(catalog, storage, engine, verifier, metrics))
    }

    /// Removes what is to go and the files of what was deleted, for as long as it is polled. A process
    /// that serves the API runs it beside.
    pub fn sweeping(&self) -> impl Future<Output = ()> + Send + use<> {
        self.0.clone().sweep_for_ever()
    }

    /// Removes contents of skills that nobody needs any more, for as long as it is polled. A process
    /// that serves the API runs it beside.
    pub fn collecting(&self) -> impl Future<Output = ()> + Send + use<> {
        self.0.clone().collect_for_ever()
    }

    /// Works on erasures, and signs their receipts, for as long as it is polled. A process that
    /// serves the API runs it beside.
    pub fn erasing(&self, key: ReceiptKey) -> impl Future<Output = ()> + Send + use<> {
        self.0.clone().erase_for_ever(key)
    }

    fn metrics(&self) -> &Metrics {
        self.0.metrics()
    }

    /// What answers requests.
    pub fn router(&self) -> Router {
        router::routes().serve(self.0.clone())
    }

    /// The API as OpenAPI 3.1 describes it.
    pub fn openapi() -> serde_json::Value {
        openapi::document()
    }

    /// Every route, and what it needs.
    pub fn table() -> Vec<Route> {
        router::routes().table
    }
}
