//! Correctness on S3 conditions alone: behind a proxy that loses answers after the server has
//! acted on the request, nothing is lost, doubled, or refused because of its own success.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;

use aws_sdk_s3::config::retry::RetryConfig;
use bailiwick::clock::SystemClock;
use bailiwick::limits::Limits;
use bailiwick::scope::{
    Access, AgentId, Coordinates, Grant, MountTable, SessionId, SkillTable, WorkspaceId,
};
use bailiwick::space::{Space, Storage};
use bailiwick::store::s3::{Condition, S3Store};
use bailiwick::store::{ObjectStore, Precondition, StoreError};
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::conformance::{Place, content, read_whole};
use crate::proxy::{Losses, Proxy};
use crate::servers::{self, Server};

const LOSSES: Losses = Losses { percent: 20, seed: 2 };
const HOSTS: usize = 4;
const APPENDERS: usize = 20;

/// Enough for an answer to be lost where it matters.
const LINES_ALONE: usize = 100;

/// How much of each: all of it where everything is tried, elsewhere a part.
struct Amounts {
    lines: usize,
    copies: u64,
    uploads: u64,
}

fn amounts() -> Amounts {
    match std::env::var_os("CI") {
        Some(_) => Amounts { lines: 100, copies: 100, uploads: 6 },
        None => Amounts { lines: 8, copies: 10, uploads: 2 },
    }
}

/// What a client was told, held against what is there.
#[derive(Debug, Default, PartialEq, Eq)]
struct Count {
    acknowledged: usize,
    /// Acknowledged, and not there.
    lost: usize,
    /// There more than once.
    doubled: usize,
    /// Refused by a condition that nobody else can have broken.
    false_conflicts: usize,
    /// Neither acknowledged nor refused.
    unknown: usize,
}

impl Count {
    /// Counts lines that should each be there once.
    fn of_lines(text: &str, acknowledged: Vec<String>, unknown: usize) -> Self {
        let mut there = BTreeMap::<&str, usize>::new();
        for line in text.lines() {
            *there.entry(line).or_default() += 1;
        }
        let lost = acknowledged.iter().filter(|line| !there.contains_key(line.as_str())).count();
        let doubled = there.values().filter(|count| **count > 1).count();
        Self { acknowledged: acknowledged.len(), lost, doubled, unknown, ..Self::default() }
    }

    /// Nothing is lost, doubled or refused falsely, and of thousands at most one is left open: one
    /// that lost so many answers in a row that too much was written since.
    #[track_caller]
    fn assert_all(&self, all: usize) {
        let expected =
            Self { acknowledged: all - self.unknown, unknown: self.unknown, ..Self::default() };
        assert_eq!(*self, expected);
        assert!(self.unknown * 2000 <= all, "too much is left open: {self:?}");
    }
}

/// Twenty appenders on four hosts append a hundred lines each: two thousand lines are there.
async fn appends(server: &'static Server) {
    let proxy = Proxy::before(server.port, LOSSES).await;
    let config = server.config(proxy.port);
    let place = coordinates();
    let mut hosts = Vec::new();
    for _ in 0..HOSTS {
        let store = servers::open(&config).await;
        hosts.push(Storage::new(Arc::new(store), Arc::new(SystemClock), Limits::default()));
    }
    let started = Instant::now();
    let mut appenders = JoinSet::new();
    for appender in 0..APPENDERS {
        let space = space(&hosts[appender % HOSTS], place);
        appenders.spawn(async move { append_lines(&space, appender).await });
    }
    let (mut acknowledged, mut unknown) = (Vec::new(), 0);
    for (lines, failures) in appenders.join_all().await {
        acknowledged.extend(lines);
        unknown += failures;
    }
    let text = read_text(&space(&hosts[0], place)).await;
    let count = Count::of_lines(&text, acknowledged, unknown);
    report(server, "appends", &count, &proxy, started);
    count.assert_all(APPENDERS * amounts().lines);
}

async fn append_lines(space: &Space, appender: usize) -> (Vec<String>, usize) {
    let (mut acknowledged, mut unknown) = (Vec::new(), 0);
    for line in 0..amounts().lines {
        let line = format!("appender {appender} line {line}");
        match space.append("session/log", &format!("{line}\n")).await {
            Ok(_) => acknowledged.push(line),
            Err(error) => {
                eprintln!("{line}: {error:?}");
                unknown += 1;
            }
        }
    }
    (acknowledged, unknown)
}

async fn read_text(space: &Space) -> String {
    let mut text = Vec::new();
    loop {
        let chunk = space.read("session/log", text.len() as u64, 1 << 20).await.unwrap();
        text.extend_from_slice(&chunk.bytes);
        if text.len() as u64 >= chunk.size {
            return String::from_utf8(text).unwrap();
        }
    }
}

/// Copies to where nothing is are made once, and told so; copies that are refused change nothing.
async fn copies(server: &'static Server) {
    let proxy = Proxy::before(server.port, LOSSES).await;
    let store = servers::open(&server.config(proxy.port)).await;
    let place = Place::new();
    let mut count = Count::default();
    let started = Instant::now();
    for copy in 0..amounts().copies {
        let (source, target) = (place.key(&format!("source-{copy}")), place.key("target"));
        let bytes = content(copy, 1000);
        let made = store.put(&source, bytes.clone(), &Precondition::IfAbsent).await.unwrap();
        let when = match copy {
            0 => Precondition::IfAbsent,
            _ => Precondition::IfRevision(store.head(&target).await.unwrap().revision),
        };
        match store.copy(&source, Some(&made.revision), &target, &when).await {
            Ok(_) => count.acknowledged += 1,
            Err(StoreError::PreconditionFailed) => count.false_conflicts += 1,
            Err(error) => {
                eprintln!("copy {copy}: {error:?}");
                count.unknown += 1;
            }
        }
        if read_whole(&store, &target).await != bytes {
            count.lost += 1;
        }
        let late = store.copy(&source, None, &target, &Precondition::IfAbsent).await;
        assert!(matches!(late, Err(StoreError::PreconditionFailed)), "{late:?}");
    }
    report(server, "copies", &count, &proxy, started);
    count.assert_all(usize::try_from(amounts().copies).unwrap());
}

/// Uploads in parts are completed once, and told so, and none is left open.
async fn completes(server: &'static Server) {
    let proxy = Proxy::before(server.port, LOSSES).await;
    let mut config = server.config(proxy.port);
    config.tuning.part_bytes = 5 << 20;
    let store = servers::open(&config).await;
    let when = match offers(&store, Condition::CompleteIfAbsent).await {
        true => Precondition::IfAbsent,
        false => Precondition::Always,
    };
    let place = Place::new();
    let mut count = Count::default();
    let started = Instant::now();
    for seed in 0..amounts().uploads {
        let key = place.key(&format!("upload-{seed}"));
        let bytes = content(seed, (5 << 20) + 1000);
        let mut upload = store.upload(&key, when.clone()).await.unwrap();
        upload.write(bytes.clone()).await.unwrap();
        match upload.complete().await {
            Ok(object) => {
                count.acknowledged += 1;
                assert_eq!(store.head(&key).await.unwrap().revision, object.revision);
            }
            Err(StoreError::PreconditionFailed) => count.false_conflicts += 1,
            Err(error) => {
                eprintln!("upload {seed}: {error:?}");
                count.unknown += 1;
            }
        }
        if read_whole(&store, &key).await != bytes {
            count.lost += 1;
        }
    }
    report(server, "completes", &count, &proxy, started);
    count.assert_all(usize::try_from(amounts().uploads).unwrap());
}

async fn offers(store: &S3Store, condition: Condition) -> bool {
    let report = store.report().await.unwrap();
    report.support(condition) == Some(bailiwick::store::s3::Support::Kept)
}

/// What the same losses do to a client without write ids: it sends a conditional put again, as
/// the SDK does by itself, and is refused by its own success. Who then reads and appends again,
/// doubles a line.
async fn appends_without_write_ids(server: &'static Server) {
    let proxy = Proxy::before(server.port, LOSSES).await;
    let mut config = server.client(proxy.port).config().to_builder();
    config.set_retry_config(Some(RetryConfig::standard().with_max_attempts(8)));
    let client = aws_sdk_s3::Client::from_conf(config.build());
    let key = Uuid::new_v4().to_string();
    let (mut acknowledged, mut text, mut e_tag) = (Vec::new(), String::new(), None::<String>);
    let (mut false_conflicts, mut unknown) = (0, 0);
    let started = Instant::now();
    for line in 0..LINES_ALONE {
        let line = format!("line {line}");
        for _ in 0..10 {
            let mut next = text.clone();
            writeln!(next, "{line}").unwrap();
            let put = client.put_object().bucket(server.bucket()).key(&key);
            let put = match &e_tag {
                Some(e_tag) => put.if_match(e_tag),
                None => put.if_none_match("*"),
            };
            let sent = put.body(next.clone().into_bytes().into()).send().await;
            let status = sent.as_ref().err().and_then(|error| error.raw_response());
            let refused = status.is_some_and(|answer| answer.status().as_u16() == 412);
            match sent {
                Ok(answer) => {
                    (text, e_tag) = (next, answer.e_tag);
                    acknowledged.push(line.clone());
                    break;
                }
                // Nobody else writes here.
                Err(_) if refused => false_conflicts += 1,
                Err(_) => unknown += 1,
            }
            let got = client.get_object().bucket(server.bucket()).key(&key).send().await;
            if let Ok(got) = got {
                e_tag = got.e_tag;
                text = String::from_utf8(got.body.collect().await.unwrap().to_vec()).unwrap();
            }
        }
    }
    let count = Count::of_lines(&text, acknowledged, unknown);
    let count = Count { false_conflicts, ..count };
    report(server, "appends of one client without write ids", &count, &proxy, started);
    assert!(count.false_conflicts > 0 && count.doubled > 0, "the proxy loses nothing");
}

fn report(server: &Server, what: &str, count: &Count, proxy: &Proxy, started: Instant) {
    let ((requests, dropped), seconds) = (proxy.counts(), started.elapsed().as_secs_f64());
    println!(
        "{}, {what}: {count:?}; {dropped} of {requests} answers lost, {seconds:.1} s",
        server.name
    );
}

fn coordinates() -> Coordinates {
    Coordinates {
        workspace: WorkspaceId(Uuid::new_v4()),
        agent: AgentId(Uuid::new_v4()),
        session: Some(SessionId(Uuid::new_v4())),
    }
}

fn space(host: &Arc<Storage>, place: Coordinates) -> Space {
    let all = Some(Access::ReadWrite);
    let grant = Grant { agent: all, workspace: all };
    host.space(MountTable::new(place, grant, SkillTable::default()))
}

macro_rules! before {
    ($server:ident: $($case:ident),*) => {
        mod $server {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    let Some(server) = $crate::servers::$server() else { return };
                    super::$case(server).await;
                }
            )*
        }
    };
}

before!(seaweed: appends, copies, completes, appends_without_write_ids);
before!(moto: appends, copies, completes, appends_without_write_ids);
