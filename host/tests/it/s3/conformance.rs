//! The suite of all stores, over real servers.

use super::{SEAWEED_LACKS, subject};
use crate::conformance::{Ability, Subject, conformance};
use crate::proxy::{Losses, Proxy};
use crate::servers;

async fn on_seaweed() -> Option<Subject> {
    let server = servers::seaweed()?;
    Some(subject("SeaweedFS", server, &server.config(server.port)).await.lacking(SEAWEED_LACKS))
}

async fn on_moto() -> Option<Subject> {
    let server = servers::moto()?;
    Some(subject("moto", server, &server.config(server.port)).await)
}

/// With every twentieth answer lost after the server has acted.
async fn on_seaweed_losing_answers() -> Option<Subject> {
    let server = servers::seaweed()?;
    let proxy = Proxy::before(server.port, Losses { percent: 5, seed: 7 }).await;
    let subject = subject("SeaweedFS losing answers", server, &server.config(proxy.port)).await;
    let subject = subject.lacking(SEAWEED_LACKS).lacking([Ability::WhoDeleted]);
    Some(subject.with_model_runs(4).guarded_by(proxy))
}

conformance!(seaweed_losing_answers: on_seaweed_losing_answers());
conformance!(seaweed: on_seaweed());
conformance!(moto: on_moto());
