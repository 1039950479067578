//! Random operations on two sessions, against a plain model of the queue.

use std::future::Future;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;
use crate::limits::TURN_RETRY_PAUSE_MS;

const SESSIONS: [&str; 2] = ["a", "b"];
const RETRIES: u32 = 1;

#[derive(Clone, Copy, Debug)]
enum Operation {
    Enqueue(usize),
    /// Answers the open question of a session, or one that is closed.
    Answer(usize),
    Claim(u32),
    /// By a lease that was ever given, whether or not it holds.
    Renew(usize),
    Finish(usize, End),
    Cancel(usize, usize),
    Pass(u64),
}

#[derive(Clone, Copy, Debug)]
enum End {
    Reply,
    Ask,
    Fail,
}

fn operation() -> impl Strategy<Value = Operation> {
    let session = 0..SESSIONS.len();
    let end = prop_oneof![Just(End::Reply), Just(End::Ask), Just(End::Fail)];
    prop_oneof![
        4 => session.clone().prop_map(Operation::Enqueue),
        2 => session.clone().prop_map(Operation::Answer),
        4 => (1..3_u32).prop_map(Operation::Claim),
        2 => any::<usize>().prop_map(Operation::Renew),
        4 => (any::<usize>(), end).prop_map(|(lease, end)| Operation::Finish(lease, end)),
        1 => (session, any::<usize>()).prop_map(|(session, turn)| Operation::Cancel(session, turn)),
        3 => prop_oneof![Just(1), Just(TURN_RETRY_PAUSE_MS), Just(LEASE_MS / 2), Just(LEASE_MS)]
            .prop_map(Operation::Pass),
    ]
}

#[derive(Clone, Debug)]
struct Modelled {
    id: TurnId,
    state: TurnState,
    attempt: u32,
    retries: u32,
    due: u64,
    lease_until: u64,
    cancelled: bool,
    resumes: Option<usize>,
    failure: Option<&'static str>,
}

/// Turns by session and position, and all that was told of them.
struct Model {
    now: u64,
    turns: [Vec<Modelled>; 2],
    told: [Vec<(TurnId, u32, TurnState)>; 2],
}

impl Model {
    fn tell(&mut self, session: usize, at: usize, state: TurnState) {
        let turn = &mut self.turns[session][at];
        turn.state = state;
        self.told[session].push((turn.id, turn.attempt, state));
    }

    fn find(&self, session: usize, is: impl Fn(&Modelled) -> bool) -> Option<usize> {
        self.turns[session].iter().position(is)
    }

    fn question(&self, session: usize) -> Option<usize> {
        self.find(session, |turn| turn.state == TurnState::Parked)
    }

    /// Whether an answer to a question is under way.
    fn answer(&self, session: usize, question: usize) -> Option<usize> {
        let open = |state| matches!(state, TurnState::Queued | TurnState::Running);
        self.find(session, |turn| turn.resumes == Some(question) && open(turn.state))
    }

    fn push(&mut self, session: usize, id: TurnId, resumes: Option<usize>) {
        let died = |turn: &&Modelled| {
            resumes.is_some() && turn.resumes == resumes && turn.failure == Some("abandoned")
        };
        let attempt = 1 + self.turns[session].iter().filter(died).count();
        self.turns[session].push(Modelled {
            id,
            state: TurnState::Queued,
            attempt: u32::try_from(attempt).unwrap(),
            retries: RETRIES,
            due: self.now,
            lease_until: 0,
            cancelled: false,
            resumes,
            failure: None,
        });
        self.tell(session, self.turns[session].len() - 1, TurnState::Queued);
    }

    fn fail(&mut self, session: usize, at: usize, failure: &'static str) {
        self.turns[session][at].failure = Some(failure);
        self.tell(session, at, TurnState::Failed);
    }

    fn give_up_dead(&mut self) {
        for session in 0..SESSIONS.len() {
            let now = self.now;
            let dead = |turn: &Modelled| turn.state == TurnState::Running && turn.lease_until < now;
            let Some(at) = self.find(session, dead) else { continue };
            let turn = &mut self.turns[session][at];
            if turn.cancelled {
                self.fail(session, at, "cancelled");
            } else if turn.retries == 0 {
                self.fail(session, at, "abandoned");
            } else {
                turn.retries -= 1;
                turn.due = now + TURN_RETRY_PAUSE_MS * u64::from(turn.attempt);
                turn.attempt += 1;
                self.tell(session, at, TurnState::Queued);
            }
        }
    }

    /// The turn of a session that may be claimed.
    fn head(&self, session: usize) -> Option<usize> {
        if self.find(session, |turn| turn.state == TurnState::Running).is_some() {
            return None;
        }
        let question = self.question(session);
        let next = |turn: &Modelled| {
            turn.state == TurnState::Queued && (question.is_none() || turn.resumes == question)
        };
        self.find(session, next).filter(|at| self.turns[session][*at].due <= self.now)
    }

    fn claim(&mut self, room: u32) -> Vec<Lease> {
        self.give_up_dead();
        let mut heads: Vec<_> = (0..SESSIONS.len())
            .filter_map(|session| self.head(session).map(|at| (session, at)))
            .map(|(session, at)| (self.turns[session][at].due, session, at))
            .collect();
        heads.sort_unstable();
        heads.truncate(room as usize);
        let mut leases = Vec::new();
        for (_, session, at) in heads {
            self.turns[session][at].lease_until = self.now + LEASE_MS;
            self.tell(session, at, TurnState::Running);
            let turn = &self.turns[session][at];
            leases.push(Lease { turn: turn.id, attempt: turn.attempt });
        }
        leases
    }

    /// Where the turn of a lease stands, if the lease holds.
    fn held(&self, lease: Lease) -> Option<(usize, usize)> {
        let is = |turn: &Modelled| {
            turn.id == lease.turn
                && turn.attempt == lease.attempt
                && turn.state == TurnState::Running
        };
        (0..SESSIONS.len()).find_map(|session| Some((session, self.find(session, is)?)))
    }

    fn renew(&mut self, lease: Lease) -> Option<Standing> {
        let (session, at) = self.held(lease)?;
        let turn = &mut self.turns[session][at];
        turn.lease_until = self.now + LEASE_MS;
        Some(if turn.cancelled { Standing::CancelAsked } else { Standing::Held })
    }

    fn finish(&mut self, lease: Lease, end: End) -> bool {
        let Some((session, at)) = self.held(lease) else { return false };
        let resumed = self.turns[session][at].resumes;
        let resumed = resumed.filter(|at| self.turns[session][*at].state == TurnState::Parked);
        match end {
            End::Reply => self.tell(session, at, TurnState::Done),
            End::Ask => self.tell(session, at, TurnState::Parked),
            End::Fail => self.fail(session, at, "trapped"),
        }
        if let (Some(resumed), End::Reply | End::Ask) = (resumed, end) {
            self.tell(session, resumed, TurnState::Done);
        }
        true
    }

    fn cancel(&mut self, session: usize, at: usize) -> Cancelled {
        let answer = self.answer(session, at);
        let all: Vec<_> = [Some(at), answer].into_iter().flatten().collect();
        let running =
            all.iter().find(|at| self.turns[session][**at].state == TurnState::Running).copied();
        if let Some(running) = running {
            self.turns[session][running].cancelled = true;
            return Cancelled::Asked;
        }
        let waits = |turn: &Modelled| matches!(turn.state, TurnState::Queued | TurnState::Parked);
        let ended: Vec<_> = all.into_iter().filter(|at| waits(&self.turns[session][*at])).collect();
        for at in &ended {
            self.fail(session, *at, "cancelled");
        }
        if ended.is_empty() { Cancelled::Over } else { Cancelled::Ended }
    }
}

/// A model, and the catalog that it is compared with.
struct Both<'a> {
    desk: &'a Desk,
    catalog: Catalog,
    sessions: Vec<SessionId>,
    model: Model,
    leases: Vec<Lease>,
}

impl Both<'_> {
    async fn apply(&mut self, operation: Operation) {
        let catalog = &self.catalog;
        match operation {
            Operation::Enqueue(at) => {
                let turn = Enqueue { retries: RETRIES, ..turn_of(self.sessions[at]) };
                let made = catalog.enqueue(turn).await.unwrap();
                self.model.push(at, made.id(), None);
            }
            Operation::Answer(at) => self.answer(at).await,
            Operation::Claim(room) => {
                let claimed = catalog.claim("host", room).await.unwrap();
                let leases: Vec<_> = claimed.iter().map(|one| one.lease).collect();
                assert_eq!(leases, self.model.claim(room));
                self.leases.extend(leases);
            }
            Operation::Renew(at) => {
                let Some(lease) = pick(&self.leases, at) else { return };
                let renewed = catalog.renew(lease, 0, &[]).await.ok();
                assert_eq!(renewed, self.model.renew(lease));
            }
            Operation::Finish(at, end) => {
                let Some(lease) = pick(&self.leases, at) else { return };
                let whole = match end {
                    End::Reply => replied(),
                    End::Ask => asked("which?"),
                    End::Fail => failed(Failure::Trapped),
                };
                let is_done = catalog.finish_turn(lease, &whole).await.is_ok();
                assert_eq!(is_done, self.model.finish(lease, end));
            }
            Operation::Cancel(session, at) => {
                let turns = &self.model.turns[session];
                let Some(at) = at.checked_rem(turns.len()) else { return };
                let cancelled = catalog.cancel(turns[at].id).await.unwrap();
                assert_eq!(cancelled, self.model.cancel(session, at));
            }
            Operation::Pass(ms) => {
                self.desk.pass(ms);
                self.model.now += ms;
            }
        }
    }

    async fn answer(&mut self, session: usize) {
        let turns = &self.model.turns[session];
        let open = self.model.question(session);
        let Some(at) = open.or(turns.len().checked_sub(1)) else { return };
        let answer = Resume { retries: RETRIES, ..answer_to(turns[at].id) };
        let answered = self.catalog.resume(answer).await;
        match (open, self.model.answer(session, at)) {
            (Some(_), None) => self.model.push(session, answered.unwrap().id(), Some(at)),
            (Some(_), Some(_)) => {
                assert!(matches!(answered, Err(CatalogError::AlreadyAnswered)), "{answered:?}");
            }
            (None, _) => assert!(matches!(answered, Err(CatalogError::NoQuestion))),
        }
    }

    async fn compare(&self) {
        for (at, session) in self.sessions.iter().enumerate() {
            let turns = self.catalog.turns(*session, 0, 1_000).await.unwrap();
            let found: Vec<_> = turns
                .iter()
                .map(|turn| (turn.id, turn.state, turn.attempt, turn.failure.as_deref()))
                .collect();
            let modelled: Vec<_> = self.model.turns[at]
                .iter()
                .map(|turn| (turn.id, turn.state, turn.attempt, turn.failure))
                .collect();
            assert_eq!(found, modelled);
            let events = self.catalog.events(*session, 0, 256).await.unwrap();
            let told: Vec<_> = events
                .iter()
                .map(|one| match one.event {
                    Event::State(state) => (one.turn, one.attempt, state),
                    _ => panic!("{one:?}"),
                })
                .collect();
            assert_eq!(told, self.model.told[at]);
        }
    }
}

fn pick(leases: &[Lease], at: usize) -> Option<Lease> {
    leases.get(at.checked_rem(leases.len())?).copied()
}

/// One case, in a store of its own.
async fn check(desk: &Desk, operations: &[Operation]) {
    let catalog = desk.another(&new_id().to_string()).await;
    let mut sessions = Vec::new();
    for called in SESSIONS {
        sessions.push(session(&catalog, called).await.2);
    }
    let workspace = catalog.workspace(&name("acme")).await.unwrap().unwrap();
    catalog.upload_component(workspace, &name("guest"), COMPONENT, b"wasm").await.unwrap();
    let model =
        Model { now: desk.clock.now_ms(), turns: Default::default(), told: Default::default() };
    let mut both = Both { desk, catalog, sessions, model, leases: Vec::new() };
    for operation in operations {
        both.apply(*operation).await;
        both.compare().await;
    }
    both.catalog.close().await;
}

fn run(desk: impl Future<Output = Option<Desk>>, cases: u32) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let Some(desk) = runtime.block_on(desk) else { return };
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let operations = proptest::collection::vec(operation(), 1..40);
    let checked = TestRunner::new(config).run(&operations, |operations| {
        runtime.block_on(check(&desk, &operations));
        Ok(())
    });
    checked.unwrap();
}

#[test]
fn the_queue_is_as_its_model_on_sqlite() {
    run(async { Some(Desk::sqlite().await) }, 48);
}

#[test]
fn the_queue_is_as_its_model_on_postgres() {
    run(Desk::postgres(), 24);
}
