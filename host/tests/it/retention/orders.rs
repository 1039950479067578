//! What happens at once, in every order: a file being copied, one being sent in pieces, a worker that
//! lost its lease, a turn being queued, a sweep and an erasure, each stopped before and after each of
//! its calls of the store, and let go on in every order up to a bound.
//!
//! Whatever the order: a file that was acknowledged is there unless its session went later, nothing
//! is there once it is proved that nothing is, and what was proved once is proved no second time.

use std::fs::File;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use axum::body::Body;
use axum::http::{Method, StatusCode};
use bailiwick::api::authority::Authority;
use bailiwick::api::{Api, Metrics};
use bailiwick::catalog::{CatalogError, Reason, Removable, Removal};
use bailiwick::clock::Clock;
use bailiwick::engine::{Engine, EngineOptions};
use bailiwick::limits::Limits;
use bailiwick::retention::Sweeper;
use bailiwick::scope::{AgentId, KeyPrefix, ObjectKey, SessionId};
use bailiwick::space::Storage;
use bailiwick::store::{
    Depth, Layer, ListToken, Listing, MemoryStore, Object, ObjectStore, Precondition, Remain,
    Remains, Revision, Spare, StoreError, Upload,
};
use bytes::Bytes;
use futures::future::{BoxFuture, FutureExt as _};
use tokio::sync::mpsc;
use tower::ServiceExt as _;

use super::{DAY_MS, Ground, HandClock, turn};
use crate::api::{Who, request, verifier};

/// Where one actor stops, until the scheduler lets it go on.
#[derive(Clone, Debug)]
struct Gate {
    stops: mpsc::UnboundedSender<()>,
    goes: Arc<tokio::sync::Mutex<mpsc::UnboundedReceiver<()>>>,
    clock: Arc<HandClock>,
    change_ms_max: u64,
}

impl Gate {
    async fn stop(&self) {
        // Nobody listens to one that was given up.
        let _ = self.stops.send(());
        let _ = self.goes.lock().await.recv().await;
    }
}

/// A store of which one actor knows: it stops before and after each call. A call that is let go on too
/// late is given up, as those are that a host makes.
#[derive(Clone, Debug)]
struct Gated {
    inner: MemoryStore,
    gate: Gate,
}

impl Gated {
    async fn run<T>(
        &self,
        call: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let began_ms = self.gate.clock.now_ms();
        self.gate.stop().await;
        if self.gate.clock.now_ms() >= began_ms + self.gate.change_ms_max {
            return Err(StoreError::unchanged(anyhow::anyhow!("it took too long")));
        }
        let done = call.await;
        self.gate.stop().await;
        done
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl ObjectStore for Gated {
    async fn head(&self, key: &ObjectKey) -> Result<Object, StoreError> {
        self.run(self.inner.head(key)).await
    }

    async fn get(
        &self,
        key: &ObjectKey,
        range: Range<u64>,
        pinned: Option<&Revision>,
    ) -> Result<(Object, Bytes), StoreError> {
        self.run(self.inner.get(key, range, pinned)).await
    }

    async fn put(
        &self,
        key: &ObjectKey,
        bytes: Bytes,
        when: &Precondition,
    ) -> Result<Object, StoreError> {
        self.run(self.inner.put(key, bytes, when)).await
    }

    async fn upload(
        &self,
        key: &ObjectKey,
        when: Precondition,
    ) -> Result<Box<dyn Upload>, StoreError> {
        let inner = self.inner.upload(key, when).await?;
        Ok(Box::new(GatedUpload { store: self.clone(), inner }))
    }

    async fn delete(&self, key: &ObjectKey, when: &Precondition) -> Result<(), StoreError> {
        self.run(self.inner.delete(key, when)).await
    }

    async fn delete_many(&self, keys: &[ObjectKey]) -> Result<(), StoreError> {
        self.run(self.inner.delete_many(keys)).await
    }

    async fn list(
        &self,
        prefix: &KeyPrefix,
        depth: Depth,
        after: Option<&ListToken>,
        limit: usize,
    ) -> Result<Listing, StoreError> {
        self.run(self.inner.list(prefix, depth, after, limit)).await
    }

    async fn copy(
        &self,
        source: &ObjectKey,
        pinned: Option<&Revision>,
        target: &ObjectKey,
        when: &Precondition,
    ) -> Result<Object, StoreError> {
        self.run(self.inner.copy(source, pinned, target, when)).await
    }

    /// Stops where files are looked for: at every layer there would be orders without end.
    async fn remains(
        &self,
        prefix: &KeyPrefix,
        layer: Layer,
        after: Option<&ListToken>,
        limit: usize,
    ) -> Result<Remains, StoreError> {
        let look = self.inner.remains(prefix, layer, after, limit);
        match layer == Layer::Objects && !prefix.as_str().starts_with("extracted") {
            true => self.run(look).await,
            false => look.await,
        }
    }

    async fn destroy(&self, remains: &[Remain]) -> Result<(), StoreError> {
        self.run(self.inner.destroy(remains)).await
    }
}

struct GatedUpload {
    store: Gated,
    inner: Box<dyn Upload>,
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Upload for GatedUpload {
    fn held_bytes_max(&self) -> usize {
        self.inner.held_bytes_max()
    }

    fn lend(&mut self, spare: Arc<dyn Spare>) {
        self.inner.lend(spare);
    }

    async fn write(&mut self, bytes: Bytes) -> Result<(), StoreError> {
        self.inner.write(bytes).await
    }

    async fn file(&mut self) -> Result<Option<Arc<File>>, StoreError> {
        self.inner.file().await
    }

    async fn complete(self: Box<Self>) -> Result<Object, StoreError> {
        let store = self.store.clone();
        store.run(self.inner.complete()).await
    }

    async fn abort(self: Box<Self>) -> Result<(), StoreError> {
        self.inner.abort().await
    }
}

/// Who does something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Actor {
    Copies,
    Sends,
    LostItsLease,
    Queues,
    Sweeps,
    Erases,
}

/// What came of it, for whoever keeps the score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// A file was acknowledged, at this path of the session.
    Kept(&'static str),
    /// A turn was acknowledged.
    Queued,
    /// It was told that what it was about is gone, or is in the way.
    Refused,
    /// It did what nobody waits for.
    Done,
}

/// One run: a fresh session that was idle for a month, in a store of its own.
struct Run<'a> {
    scene: &'a Scene,
    store: MemoryStore,
    clock: Arc<HandClock>,
    agent: AgentId,
    session: SessionId,
}

/// What all runs share.
struct Scene {
    ground: Ground,
    engine: Engine,
}

impl Scene {
    async fn new() -> Self {
        let engine = Engine::new(Limits::default(), EngineOptions::default()).unwrap();
        Self { ground: Ground::new().await, engine }
    }
}

impl Run<'_> {
    async fn new(scene: &Scene) -> Run<'_> {
        let clock = scene.ground.clock.clone();
        let store = MemoryStore::new(clock.clone());
        let agent = scene.ground.agent("a").await;
        let name = format!("s{}", uuid::Uuid::new_v4().simple());
        let session = scene.ground.session(agent, &name).await;
        let subject = "ann".parse().unwrap();
        scene.ground.catalog.add_participant(session, &subject).await.unwrap();
        let run = Run { scene, store, clock, agent, session };
        let space = super::space(&run.plain(), scene.ground.workspace, agent, session);
        for path in ["session/a", "session/b"] {
            crate::space::put(&space, path, "text").await;
        }
        run
    }

    fn plain(&self) -> Arc<Storage> {
        Storage::new(Arc::new(self.store.clone()), self.clock.clone(), Limits::default())
    }

    fn gated(&self, gate: &Gate) -> Arc<Storage> {
        let store = Gated { inner: self.store.clone(), gate: gate.clone() };
        Storage::new(Arc::new(store), self.clock.clone(), Limits::default())
    }

    fn router(&self, gate: &Gate) -> axum::Router {
        let (catalog, storage) = (self.scene.ground.catalog.clone(), self.gated(gate));
        let metrics = Metrics::new().unwrap();
        Api::new(catalog, storage, self.scene.engine.clone(), verifier(), metrics).router()
    }

    fn ann(&self) -> Who {
        let workspace = Some(self.scene.ground.workspace);
        let authorities = vec![Authority::SessionsWrite];
        Who { subject: "ann", workspace, authorities, agents: None }
    }

    fn act(&self, actor: Actor, gate: Gate) -> BoxFuture<'static, Outcome> {
        let base = format!("/v1/agent-sessions/{}", self.session);
        let (router, ann) = (self.router(&gate), self.ann());
        let json = |path: &str, body: serde_json::Value| {
            request(&ann, Method::POST, &format!("{base}{path}"))
                .header("content-type", "application/json")
                .body(Body::from(body.to_string()))
                .unwrap()
        };
        match actor {
            Actor::Copies => {
                let way = serde_json::json!({ "from": "session/a", "to": "session/copied" });
                answered(router, json("/copy", way), Outcome::Kept("session/copied")).boxed()
            }
            Actor::Sends => {
                let pause = gate.clone();
                let pieces = futures::stream::unfold(0, move |piece| {
                    let pause = pause.clone();
                    async move {
                        pause.stop().await;
                        (piece < 2).then(|| (Ok::<_, std::io::Error>("piece"), piece + 1))
                    }
                });
                let path = format!("{base}/files/session/sent");
                let body = Body::from_stream(pieces);
                let sent = request(&ann, Method::PUT, &path).body(body).unwrap();
                answered(router, sent, Outcome::Kept("session/sent")).boxed()
            }
            Actor::LostItsLease => {
                let ground = &self.scene.ground;
                let space =
                    super::space(&self.gated(&gate), ground.workspace, self.agent, self.session);
                async move {
                    let write = space.write("session/late", "late".into(), Precondition::Always);
                    // Nobody is told what came of it.
                    let _ = write.await;
                    Outcome::Done
                }
                .boxed()
            }
            Actor::Queues => {
                let catalog = self.scene.ground.catalog.clone();
                let session = self.session;
                async move {
                    match catalog.enqueue(turn(session)).await {
                        Ok(_) => Outcome::Queued,
                        Err(CatalogError::Swept | CatalogError::Deleted) => Outcome::Refused,
                        Err(error) => panic!("{error}"),
                    }
                }
                .boxed()
            }
            Actor::Sweeps => self.sweep(gate, None),
            Actor::Erases => self.sweep(gate, Some(self.session)),
        }
    }

    /// Removes what is to go, waits until nothing can come, and proves it.
    fn sweep(&self, gate: Gate, erased: Option<SessionId>) -> BoxFuture<'static, Outcome> {
        let catalog = self.scene.ground.catalog.clone();
        let sweeper = Sweeper::new(catalog.clone(), self.gated(&gate), Arc::new(()));
        let change_ms_max = gate.change_ms_max;
        async move {
            if let Some(session) = erased {
                let removal = Removal { why: Reason::Erased, by: None };
                match catalog.remove(Removable::Session(session), removal).await {
                    Ok(()) | Err(CatalogError::Deleted) => {}
                    Err(error) => panic!("{error}"),
                }
                gate.stop().await;
            }
            sweeper.tick_through().await;
            gate.stop().await;
            gate.clock.pass(change_ms_max);
            sweeper.tick_through().await;
            Outcome::Done
        }
        .boxed()
    }
}

async fn answered(
    router: axum::Router,
    request: axum::http::Request<Body>,
    done: Outcome,
) -> Outcome {
    let answer = router.oneshot(request).await.unwrap();
    match answer.status() {
        StatusCode::OK | StatusCode::CREATED => done,
        StatusCode::NOT_FOUND | StatusCode::GONE => Outcome::Refused,
        // It took too long.
        StatusCode::SERVICE_UNAVAILABLE => Outcome::Done,
        other => panic!("{other}"),
    }
}

/// An actor under way, as the scheduler sees it.
struct Stopped {
    actor: Actor,
    stops: mpsc::UnboundedReceiver<()>,
    goes: mpsc::UnboundedSender<()>,
    task: tokio::task::JoinHandle<Outcome>,
}

impl Stopped {
    /// Lets it go on until it stops again; whether it does not, since it is over.
    async fn go_on(&mut self) -> bool {
        self.goes.send(()).unwrap();
        self.stops.recv().await.is_none()
    }
}

/// Which of so many actors goes on at each step: the choices so far, each with how many there were.
#[derive(Debug, Default)]
struct Choices(Vec<(usize, usize)>);

impl Choices {
    /// The next order in which something else goes on at the last step where that is possible.
    fn next(mut self) -> Option<Self> {
        while let Some((chosen, of)) = self.0.pop() {
            if chosen + 1 < of {
                self.0.push((chosen + 1, of));
                return Some(self);
            }
        }
        None
    }
}

/// Who says which one goes on.
enum Order {
    /// One after the other: all orders.
    Every(Mutex<Choices>),
    /// By a number that leads to the next.
    Drawn(Mutex<u64>),
}

impl Order {
    fn choose(&self, step: usize, of: usize) -> usize {
        match self {
            Self::Every(choices) => {
                let mut choices = choices.lock().unwrap();
                if choices.0.len() == step {
                    choices.0.push((0, of));
                }
                assert_eq!(choices.0[step].1, of, "a run is not like the one before");
                choices.0[step].0
            }
            Self::Drawn(seed) => {
                let mut seed = seed.lock().unwrap();
                *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                usize::try_from(*seed >> 33).unwrap() % of
            }
        }
    }
}

/// Runs actors in one order, and checks what has to hold.
async fn run(scene: &Scene, actors: &[Actor], order: &Order) {
    scene.ground.clock.pass(DAY_MS);
    let run = Run::new(scene).await;
    run.clock.pass(31 * DAY_MS);
    let change_ms_max = Limits::default().change_ms_max();
    let mut stopped = Vec::new();
    for actor in actors {
        let (stops_in, stops) = mpsc::unbounded_channel();
        let (goes, goes_out) = mpsc::unbounded_channel();
        let goes_out = Arc::new(tokio::sync::Mutex::new(goes_out));
        let gate =
            Gate { stops: stops_in, goes: goes_out, clock: run.clock.clone(), change_ms_max };
        let act = run.act(*actor, gate.clone());
        let task = tokio::spawn(async move {
            gate.stop().await;
            drop(gate);
            act.await
        });
        let mut one = Stopped { actor: *actor, stops, goes, task };
        one.stops.recv().await.unwrap();
        // What it writes began while it had its lease.
        if *actor == Actor::LostItsLease {
            one.go_on().await;
        }
        stopped.push(one);
    }
    let (mut outcomes, mut step, mut taken) = (Vec::new(), 0, Vec::new());
    while !stopped.is_empty() {
        let chosen = order.choose(step, stopped.len());
        step += 1;
        taken.push(stopped[chosen].actor);
        if stopped[chosen].go_on().await {
            let over = stopped.remove(chosen);
            outcomes.push((over.actor, over.task.await.unwrap()));
        }
    }
    check(&run, &outcomes, &taken).await;
}

async fn check(run: &Run<'_>, outcomes: &[(Actor, Outcome)], taken: &[Actor]) {
    let (ground, story) = (&run.scene.ground, format!("{outcomes:?} {taken:?}"));
    let catalog = &ground.catalog;
    let is_there = catalog.session_by_id(run.session).await.unwrap().is_some();
    let space = super::space(&run.plain(), ground.workspace, run.agent, run.session);
    let files = space.list("session", Depth::All, None, 100).await.unwrap().files;
    let was_erased = outcomes.iter().any(|(actor, _)| *actor == Actor::Erases);
    for (_, outcome) in outcomes {
        match outcome {
            Outcome::Kept(path) => {
                assert!(is_there || was_erased, "an acknowledged file went: {story}");
                let is_kept = files.iter().any(|file| file.path == *path);
                assert_eq!(is_kept, is_there, "{path}: {story}");
            }
            Outcome::Queued => assert!(is_there || was_erased, "a queued turn went: {story}"),
            Outcome::Refused => assert!(!is_there, "nothing was in the way: {story}"),
            Outcome::Done => {}
        }
    }
    if is_there {
        for path in ["session/a", "session/b"] {
            assert!(files.iter().any(|file| file.path == path), "{path} went: {story}");
        }
        // The next run is about its own.
        catalog.remove_session(run.session).await.unwrap();
    }
    let sweeper = Sweeper::new(catalog.clone(), run.plain(), Arc::new(()));
    let settled = catalog.deletion(run.session.0).await.unwrap().unwrap();
    if settled.proved_ms.is_some() {
        assert_eq!(files, [], "there is something after the proof: {story}");
    }
    for _ in 0..2 {
        run.clock.pass(Limits::default().change_ms_max());
        sweeper.tick_through().await;
    }
    assert_eq!(catalog.unproved_deletions().await.unwrap(), 0, "{story}");
    let left = space.list("session", Depth::All, None, 100).await.unwrap().files;
    assert_eq!(left, [], "{story}");
    let again = catalog.deletion(run.session.0).await.unwrap().unwrap();
    assert!(settled.proved_ms.is_none() || settled == again, "{story}");
}

/// Every order of these actors, up to a bound; where there are more, as many again that are drawn. How
/// many there were.
async fn every_order(scene: &Scene, actors: &[Actor], bound: u64) -> u64 {
    let mut order = Order::Every(Mutex::default());
    for number in 1.. {
        run(scene, actors, &order).await;
        let Order::Every(choices) = order else { unreachable!() };
        match choices.into_inner().unwrap().next() {
            None => return number,
            Some(_) if number == bound => break,
            Some(next) => order = Order::Every(Mutex::new(next)),
        }
    }
    for seed in 0..bound {
        run(scene, actors, &Order::Drawn(Mutex::new(seed))).await;
    }
    2 * bound
}

/// How many orders there is time for.
fn bound() -> u64 {
    if std::env::var_os("CI").is_some() { 200 } else { 30 }
}

/// A file being written, a turn being queued, a worker without its lease, beside a sweep or an
/// erasure: in every order.
#[tokio::test]
async fn no_order_loses_an_acknowledged_file_or_leaves_one_after_the_proof() {
    let scene = Scene::new().await;
    for end in [Actor::Sweeps, Actor::Erases] {
        for actor in [Actor::Queues, Actor::Copies, Actor::LostItsLease, Actor::Sends] {
            let orders = every_order(&scene, &[actor, end], bound()).await;
            assert!(orders > 5, "{actor:?} {end:?}: {orders}");
        }
    }
}

/// All of them at once, in orders that are drawn.
#[tokio::test]
async fn no_drawn_order_of_all_loses_a_file_or_leaves_one() {
    let scene = Scene::new().await;
    let all = [
        Actor::Copies,
        Actor::Sends,
        Actor::LostItsLease,
        Actor::Queues,
        Actor::Sweeps,
        Actor::Sweeps,
        Actor::Erases,
    ];
    for seed in 0..bound() {
        run(&scene, &all, &Order::Drawn(Mutex::new(seed))).await;
        run(&scene, &all[..all.len() - 1], &Order::Drawn(Mutex::new(seed))).await;
    }
}
