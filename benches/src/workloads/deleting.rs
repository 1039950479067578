//! Deleting very many objects.

use std::sync::Arc;

use anyhow::Result;
use aws_sdk_s3::Client;
use aws_sdk_s3::types::{Delete, ObjectIdentifier};
use bailiwick::scope::ObjectKey;
use bailiwick::store::{ObjectStore, S3Store};

use super::{Found, Workload};
use crate::clients;
use crate::figure::{Figure, Unit};
use crate::ours::{coordinates, key};
use crate::race::{Cost, Race, pair, timed};
use crate::server::{BUCKET, Server};
use crate::setting::Setting;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "deleting",
    title: "Deleting a million objects",
    about: "`delete_many` of the S3 store, a thousand objects per call, against a loop of \
            DeleteObjects by the SDK. First against the server that answers at once: a million in \
            a full run, 100,000 in a quick one. Then against SeaweedFS, which deletes objects \
            that are there: 5,000 by each in every round, 2,000 in a quick run.",
    run: |setting| Box::pin(run(setting)),
};

pub(super) const PAGE: usize = 1_000;

async fn run(setting: &Setting) -> Result<Found> {
    let stub = Server::stub()?;
    let rounds = setting.choose(5, 10);
    let objects = setting.choose(20_000, 100_000);
    let mut figures =
        vec![race("answers at once", &stub, objects, rounds, Objects::Imagined).await?];
    let seaweed = Server::seaweed(setting).await?;
    let objects = setting.choose(2_000, 5_000);
    figures.push(race("SeaweedFS", &seaweed, objects, rounds, Objects::Made).await?);
    Ok(figures.into())
}

/// Whether there is anything to delete.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Objects {
    Imagined,
    Made,
}

async fn race(
    what: &str,
    server: &Server,
    count: usize,
    rounds: usize,
    objects: Objects,
) -> Result<Figure> {
    let store = server.store().await?;
    let client = clients::tuned(&server.endpoint());
    let (ours, theirs) = (Arc::new(keys(1, count)?), Arc::new(keys(2, count)?));
    let mut race = Race::default();
    race.enter("delete_many", what, || {
        let (store, client, keys) = (store.clone(), client.clone(), ours.clone());
        async move {
            make(&client, &keys, objects).await?;
            delete_many(&store, &keys).await
        }
    });
    race.enter("DeleteObjects", what, || {
        let (client, keys) = (client.clone(), theirs.clone());
        async move {
            make(&client, &keys, objects).await?;
            delete_objects(&client, &keys).await
        }
    });
    let raced = race.run(rounds).await?;
    let figure =
        raced.speed(pair(what, "delete_many", "DeleteObjects"), count as u64, Unit::PerSecond)?;
    Ok(figure.at_least(0.9))
}

fn keys(session: u128, count: usize) -> Result<Vec<ObjectKey>> {
    let path = |file: usize| format!("session/{:04}/{file:07}.txt", file / PAGE);
    (0..count).map(|file| key(coordinates(session), &path(file))).collect()
}

async fn make(client: &Client, keys: &[ObjectKey], objects: Objects) -> Result<()> {
    match objects {
        Objects::Imagined => Ok(()),
        Objects::Made => clients::put_all(client, names(keys)).await,
    }
}

fn names(keys: &[ObjectKey]) -> Vec<String> {
    keys.iter().map(|key| key.as_str().to_owned()).collect()
}

async fn delete_many(store: &S3Store, keys: &[ObjectKey]) -> Result<Cost> {
    let all = async {
        for page in keys.chunks(PAGE) {
            store.delete_many(page).await?;
        }
        Ok(())
    };
    Ok(timed(all).await?.1)
}

pub(super) async fn delete_objects(client: &Client, keys: &[ObjectKey]) -> Result<Cost> {
    let all = async {
        for page in keys.chunks(PAGE) {
            let named = |key: &ObjectKey| ObjectIdentifier::builder().key(key.as_str()).build();
            let objects = page.iter().map(named).collect::<Result<Vec<_>, _>>()?;
            let delete = Delete::builder().quiet(true).set_objects(Some(objects)).build()?;
            client.delete_objects().bucket(BUCKET).delete(delete).send().await?;
        }
        Ok(())
    };
    Ok(timed(all).await?.1)
}
