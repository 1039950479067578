//! The suite of all stores, over real servers.

use super::{SEAWEED_LACKS, subject};
use crate::conformance::{Subject, conformance};
use crate::servers;

async fn on_seaweed() -> Option<Subject> {
    let server = servers::seaweed()?;
    Some(subject("SeaweedFS", server, &server.config(server.port)).await.lacking(SEAWEED_LACKS))
}

async fn on_moto() -> Option<Subject> {
    let server = servers::moto()?;
    Some(subject("moto", server, &server.config(server.port)).await)
}

conformance!(seaweed: on_seaweed());
conformance!(moto: on_moto());
