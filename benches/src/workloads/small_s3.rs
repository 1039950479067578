//! Small files on S3, one turn at a time and many at once.

use std::sync::Arc;

use anyhow::{Context, Result};
use aws_sdk_s3::Client;
use aws_sdk_s3::primitives::ByteStream;
use bytes::Bytes;
use futures::future::try_join_all;
use object_store::ObjectStoreExt;
use object_store::aws::AmazonS3;
use object_store::path::Path as PeerPath;

use super::{Found, Workload};
use crate::clients;
use crate::figure::Figure;
use crate::ours::{Host, coordinates, like_a_key};
use crate::race::{Cost, Race, Raced, pair, timed};
use crate::server::{BUCKET, Server};
use crate::setting::Setting;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "small-s3",
    title: "Small files on S3",
    about: "Guests read, write and stat files of 4 KiB, a turn by itself, 16 and 64 at once, \
            each with files of its own. Beside them, as many tasks of the host's do the same with \
            `aws-sdk-s3`, tuned by hand (no checksum that is not required, no retries, no watch \
            over stalled streams), and with `object_store` as it comes. The server is one that \
            answers at once, a process of its own, so that the client is what is measured: time \
            per call, and processor time of the client. The last figures are against SeaweedFS.",
    run: |setting| Box::pin(run(setting)),
};

const VERBS: [&str; 3] = ["read", "write", "stat"];

#[derive(Clone)]
struct Contest {
    host: Host,
    sdk: Client,
    peer: Arc<AmazonS3>,
    at_once: usize,
}

async fn run(setting: &Setting) -> Result<Found> {
    let stub = Server::stub()?;
    let mut figures = Vec::new();
    let calls = setting.choose(600, 4_000);
    for at_once in [1, 16, 64] {
        let raced = race(setting, &stub, at_once, calls.max(at_once * 10)).await?;
        for verb in VERBS {
            figures.extend(compared(&raced, &what(verb, at_once))?);
        }
    }
    let seaweed = Server::seaweed(setting).await?;
    let raced = race(setting, &seaweed, 16, setting.choose(320, 1_600)).await?;
    for verb in VERBS {
        let figure = raced.time(pair(&what(verb, 16), "guest", "aws-sdk-s3"))?.at_most(1.05);
        figures.push(Figure { what: format!("SeaweedFS: {}", figure.what), ..figure });
    }
    Ok(figures.into())
}

fn compared(raced: &Raced, what: &str) -> Result<Vec<Figure>> {
    let (sdk, peer) = (pair(what, "guest", "aws-sdk-s3"), pair(what, "guest", "object_store"));
    Ok(vec![
        raced.time(sdk)?.at_most(1.05),
        raced.cpu(sdk)?.at_most(1.10),
        raced.time(peer)?,
        raced.cpu(peer)?.at_most(1.0),
    ])
}

fn what(verb: &str, at_once: usize) -> String {
    format!("{verb}, {at_once} at once")
}

async fn race(setting: &Setting, server: &Server, at_once: usize, calls: usize) -> Result<Raced> {
    let contest = Contest {
        host: Host::new(setting, server.store().await?).await?,
        sdk: clients::tuned(&server.endpoint()),
        peer: Arc::new(clients::peer(&server.endpoint())?),
        at_once,
    };
    contest.clone().ours("write", 1).await?;
    contest.clone().raw("write", 1).await?;
    let mut race = Race::default();
    for verb in VERBS {
        let what = what(verb, at_once);
        race.enter("guest", &what, || contest.clone().ours(verb, calls / at_once));
        race.enter("aws-sdk-s3", &what, || contest.clone().raw(verb, calls / at_once));
        race.enter("object_store", &what, || contest.clone().peer(verb, calls / at_once));
    }
    race.run(setting.choose(9, 31)).await
}

impl Contest {
    async fn ours(self, verb: &'static str, times: usize) -> Result<Cost> {
        let none = self.turns(verb, 0).await?;
        let all = self.turns(verb, times).await?;
        Ok(all.less(none).per(times * self.at_once))
    }

    async fn turns(&self, verb: &'static str, times: usize) -> Result<Cost> {
        let turns = (0..self.at_once).map(|session| {
            let host = self.host.clone();
            let coordinates = coordinates(session as u128);
            let input = format!("{verb} session/file {times}");
            tokio::spawn(async move { host.turn_of(coordinates, input).await })
        });
        let turns = async {
            for turn in try_join_all(turns).await? {
                turn?;
            }
            Ok(())
        };
        Ok(timed(turns).await?.1)
    }

    async fn raw(self, verb: &'static str, times: usize) -> Result<Cost> {
        let (sdk, at_once) = (self.sdk, self.at_once);
        tasks(at_once, times, move |task| sdk_call(sdk.clone(), verb, key(task))).await
    }

    async fn peer(self, verb: &'static str, times: usize) -> Result<Cost> {
        let (peer, at_once) = (self.peer, self.at_once);
        tasks(at_once, times, move |task| peer_call(peer.clone(), verb, key(task))).await
    }
}

fn key(task: usize) -> String {
    like_a_key(&format!("raw-{task}"))
}

/// So many tasks with so many calls each; the cost of one call.
async fn tasks<F>(
    at_once: usize,
    times: usize,
    call: impl Fn(usize) -> F + Clone + Send + 'static,
) -> Result<Cost>
where
    F: Future<Output = Result<()>> + Send + 'static,
{
    let tasks = (0..at_once).map(|task| {
        let call = call.clone();
        tokio::spawn(async move {
            for _ in 0..times {
                call(task).await?;
            }
            anyhow::Ok(())
        })
    });
    let all = async {
        for task in try_join_all(tasks).await? {
            task?;
        }
        Ok(())
    };
    Ok(timed(all).await?.1.per(times * at_once))
}

async fn sdk_call(sdk: Client, verb: &str, key: String) -> Result<()> {
    match verb {
        "read" => {
            let answer = sdk.get_object().bucket(BUCKET).key(key).range("bytes=0-4095").send();
            let bytes = answer.await?.body.collect().await?.into_bytes();
            (bytes.len() == 4096).then_some(()).context("another length")
        }
        "write" => {
            let body = ByteStream::from(Bytes::from(vec![b'x'; 4096]));
            let put = sdk.put_object().bucket(BUCKET).key(key).body(body);
            put.send().await.map(drop).context("put")
        }
        _ => sdk.head_object().bucket(BUCKET).key(key).send().await.map(drop).context("head"),
    }
}

async fn peer_call(peer: Arc<AmazonS3>, verb: &str, key: String) -> Result<()> {
    let path = PeerPath::from(key);
    match verb {
        "read" => {
            let bytes = peer.get_range(&path, 0..4096).await?;
            (bytes.len() == 4096).then_some(()).context("another length")
        }
        "write" => {
            let bytes = Bytes::from(vec![b'x'; 4096]);
            peer.put(&path, bytes.into()).await.map(drop).context("put")
        }
        _ => peer.head(&path).await.map(drop).context("head"),
    }
}
