use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::scope::{AgentId, Deletion, SessionId, Sha256, WorkspaceId};

const LEASE_MS: u64 = 45_000;
const COMPONENT: Sha256 = Sha256([7; 32]);

#[derive(Debug)]
struct HandClock(AtomicU64);

impl Clock for HandClock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

struct Desk {
    directory: tempfile::TempDir,
    clock: Arc<HandClock>,
    catalog: Catalog,
}

impl Desk {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let clock = Arc::new(HandClock(AtomicU64::new(1_000_000)));
        let catalog = open(directory.path(), "files", &clock).await;
        Self { directory, clock, catalog }
    }

    async fn another(&self, store: &str) -> Catalog {
        open(self.directory.path(), store, &self.clock).await
    }

    fn pass(&self, ms: u64) {
        self.clock.0.fetch_add(ms, Ordering::Relaxed);
    }

    async fn session(&self) -> (WorkspaceId, AgentId, SessionId) {
        let workspace = self.catalog.make_workspace(&name("acme")).await.unwrap().id();
        let agent = self.catalog.make_agent(workspace, &name("clerk")).await.unwrap().id();
        let session = self.catalog.make_session(agent, &name("monday")).await.unwrap().id();
        (workspace, agent, session)
    }
}

async fn open(directory: &Path, store: &str, clock: &Arc<HandClock>) -> Catalog {
    let file = directory.join("catalog.sqlite");
    let clock: Arc<dyn Clock> = clock.clone();
    let options = CatalogOptions { file: &file, store, lease_ms: LEASE_MS, clock };
    Catalog::open(options).await.unwrap()
}

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn start(session: SessionId) -> Start<'static> {
    Start { session, component: COMPONENT, input: "in", answer: None }
}

fn finish(ending: Ending) -> Finish {
    Finish { ending, said: "so far".into(), wakes: Vec::new(), events: Vec::new() }
}

fn asked(question: &str) -> Ending {
    Ending::Asked { question: question.into(), component: b"component".to_vec() }
}

fn failed(failure: Failure) -> Ending {
    Ending::Failed { failure, error: "no luck".into() }
}

#[test]
fn a_name_is_taken_as_given_or_refused_with_the_rule() {
    for good in ["a", "A.b-c_9", "0", &"x".repeat(64)] {
        assert_eq!(name(good).as_str(), good);
    }
    for bad in ["", ".", "..", "-x", "_x", "a b", "a/b", "ü", "a\n", &"x".repeat(65)] {
        assert_eq!(bad.parse::<Name>(), Err(NameError::Letters), "{bad:?}");
    }
    for id in ["0198c0de-0000-7000-8000-000000000000", "0198C0DE000070008000000000000000"] {
        assert_eq!(id.parse::<Name>(), Err(NameError::LooksLikeAnId));
    }
}

#[tokio::test]
async fn a_name_made_again_is_another_workspace() {
    let desk = Desk::new().await;
    let acme = name("acme");
    let Made::New(first) = desk.catalog.make_workspace(&acme).await.unwrap() else { panic!() };
    assert_eq!(desk.catalog.make_workspace(&acme).await.unwrap(), Made::Found(first));
    desk.catalog.remove_workspace(first).await.unwrap();
    assert_eq!(desk.catalog.workspace(&acme).await.unwrap(), None);
    assert_ne!(desk.catalog.make_workspace(&acme).await.unwrap().id(), first);
}

#[tokio::test]
async fn racers_for_a_name_get_the_same_one() {
    let desk = Desk::new().await;
    let other = desk.another("files").await;
    let racers = (0..16).map(|number| {
        let catalog = if number % 2 == 0 { desk.catalog.clone() } else { other.clone() };
        tokio::spawn(async move { catalog.make_workspace(&name("acme")).await.unwrap() })
    });
    let made = futures::future::join_all(racers).await;
    let made: Vec<_> = made.into_iter().map(Result::unwrap).collect();
    assert!(made.iter().all(|one| one.id() == made[0].id()));
    assert_eq!(made.iter().filter(|one| matches!(one, Made::New(_))).count(), 1);
}

#[tokio::test]
async fn names_belong_to_one_store() {
    let desk = Desk::new().await;
    let elsewhere = desk.another("s3://bucket/prefix").await;
    let here = desk.catalog.make_workspace(&name("acme")).await.unwrap().id();
    assert_eq!(elsewhere.workspace(&name("acme")).await.unwrap(), None);
    let there = elsewhere.make_workspace(&name("acme")).await.unwrap().id();
    assert_ne!(here, there);
    elsewhere.remove_workspace(there).await.unwrap();
    assert_eq!(elsewhere.owed().await.unwrap(), [Deletion::Workspace(there)]);
    assert_eq!(desk.catalog.owed().await.unwrap(), []);
    assert_eq!(desk.catalog.workspaces().await.unwrap().len(), 1);
}

#[tokio::test]
async fn what_is_deleted_is_owed_until_it_is_settled() {
    let desk = Desk::new().await;
    let (workspace, agent, session) = desk.session().await;
    let lease = desk.catalog.start_turn(start(session)).await.unwrap();
    desk.catalog.finish_turn(lease.turn, &finish(asked("which?"))).await.unwrap();
    desk.catalog.remove_session(session).await.unwrap();
    let owed = Deletion::Session(workspace, agent, session);
    assert_eq!(desk.another("files").await.owed().await.unwrap(), [owed]);
    desk.catalog.settle(owed).await.unwrap();
    assert_eq!(desk.catalog.owed().await.unwrap(), []);
    let gone = desk.catalog.remove_session(session).await;
    assert!(matches!(gone, Err(CatalogError::Deleted)));
    let late = desk.catalog.start_turn(start(session)).await;
    assert!(matches!(late, Err(CatalogError::Deleted)), "{late:?}");
}

#[tokio::test]
async fn the_mark_of_a_parent_stands_for_its_children() {
    let desk = Desk::new().await;
    let (workspace, agent, _) = desk.session().await;
    desk.catalog.remove_agent(agent).await.unwrap();
    desk.session().await;
    desk.catalog.remove_workspace(workspace).await.unwrap();
    let owed = desk.catalog.owed().await.unwrap();
    assert_eq!(owed.len(), 2);
    assert!(owed.contains(&Deletion::Agent(workspace, agent)));
    assert!(owed.contains(&Deletion::Workspace(workspace)));
}

#[tokio::test]
async fn a_session_runs_one_turn_at_a_time() {
    let desk = Desk::new().await;
    let (workspace, _, session) = desk.session().await;
    let other = desk.another("files").await;
    let lease = desk.catalog.start_turn(start(session)).await.unwrap();
    let second = other.start_turn(start(session)).await;
    assert!(matches!(second, Err(CatalogError::TurnRunning { given_up_in_ms: LEASE_MS })));
    let removed = other.remove_workspace(workspace).await;
    assert!(matches!(removed, Err(CatalogError::InUse { .. })));
    let ending = Ending::Replied("out".into());
    desk.catalog.finish_turn(lease.turn, &finish(ending)).await.unwrap();
    other.start_turn(start(session)).await.unwrap();
    let first = &other.turns(session).await.unwrap()[0];
    assert_eq!((first.state, first.reply.as_deref()), (TurnState::Done, Some("out")));
}

#[tokio::test]
async fn a_turn_whose_host_died_keeps_its_partial_reply_and_blocks_nobody() {
    let desk = Desk::new().await;
    let (_, _, session) = desk.session().await;
    let dead = desk.catalog.start_turn(start(session)).await.unwrap();
    desk.catalog.renew(dead.turn, "one ").await.unwrap();
    desk.pass(LEASE_MS);
    desk.catalog.renew(dead.turn, "two").await.unwrap();
    desk.pass(LEASE_MS);
    assert!(desk.catalog.start_turn(start(session)).await.is_err());
    desk.pass(1);
    let next = desk.catalog.start_turn(start(session)).await.unwrap();
    assert_eq!(next.attempt, 1);
    let sealed = &desk.catalog.turns(session).await.unwrap()[0];
    assert_eq!((sealed.state, sealed.said.as_str()), (TurnState::Failed, "one two"));
    assert_eq!(sealed.failure.as_deref(), Some("abandoned"));
    let late = desk.catalog.renew(dead.turn, "three").await;
    assert!(matches!(late, Err(CatalogError::LeaseLost)));
    let ending = Ending::Replied("late".into());
    let late = desk.catalog.finish_turn(dead.turn, &finish(ending)).await;
    assert!(matches!(late, Err(CatalogError::LeaseLost)));
}

#[tokio::test]
async fn a_question_is_answered_once_and_stays_open_while_answering_fails() {
    let desk = Desk::new().await;
    let (_, _, session) = desk.session().await;
    let catalog = &desk.catalog;
    let lease = catalog.start_turn(start(session)).await.unwrap();
    catalog.finish_turn(lease.turn, &finish(asked("which?"))).await.unwrap();
    let plain = catalog.start_turn(start(session)).await;
    assert!(matches!(plain, Err(CatalogError::QuestionOpen(question)) if question == "which?"));

    let question = catalog.question(session).await.unwrap().unwrap();
    assert_eq!((question.turn, question.input.as_str()), (lease.turn, "in"));
    assert_eq!(catalog.component(question.component).await.unwrap().unwrap(), b"component");
    let answer = Some(Answer { question: question.turn, text: "that" });
    let answering = Start { answer, ..start(session) };

    let died = catalog.start_turn(answering).await.unwrap();
    desk.pass(LEASE_MS + 1);
    let failing = catalog.start_turn(answering).await.unwrap();
    assert_eq!((died.attempt, failing.attempt), (1, 2));
    catalog.finish_turn(failing.turn, &finish(failed(Failure::Trapped))).await.unwrap();
    let again = catalog.start_turn(answering).await.unwrap();
    catalog.finish_turn(again.turn, &finish(asked("and then?"))).await.unwrap();

    assert_eq!(catalog.question(session).await.unwrap().unwrap().text, "and then?");
    let stale = catalog.start_turn(answering).await;
    assert!(matches!(stale, Err(CatalogError::NoQuestion)));
    let answer = Some(Answer { question: again.turn, text: "enough" });
    let last = catalog.start_turn(Start { answer, ..start(session) }).await.unwrap();
    catalog.finish_turn(last.turn, &finish(Ending::Replied("done".into()))).await.unwrap();
    assert_eq!(catalog.question(session).await.unwrap(), None);
    assert_eq!(catalog.component(COMPONENT).await.unwrap(), None);
    catalog.start_turn(start(session)).await.unwrap();
}

#[tokio::test]
async fn events_and_wakes_are_kept_with_their_turn_and_go_with_it() {
    let desk = Desk::new().await;
    let (_, _, session) = desk.session().await;
    let lease = desk.catalog.start_turn(start(session)).await.unwrap();
    let path = || "session/a.md".to_owned();
    let events = vec![
        Event::Written { path: path(), size: 5 },
        Event::Promoted { source: path(), target: "agent/a.md".into() },
        Event::Spilled { path: path() },
        Event::Deleted { path: path() },
        Event::Logged { level: "info", message: "well".into() },
    ];
    let wakes = vec![Wake { after_ms: 5_000, input: "later".into() }];
    let ending = Ending::Replied("out".into());
    let whole = Finish { events, wakes, ..finish(ending) };
    desk.catalog.finish_turn(lease.turn, &whole).await.unwrap();
    let pool = &desk.catalog.pool;
    let kinds: Vec<(String,)> =
        sqlx::query_as("select kind from events order by number").fetch_all(pool).await.unwrap();
    let kinds: Vec<_> = kinds.iter().map(|(kind,)| kind.as_str()).collect();
    assert_eq!(kinds, ["written", "promoted", "spilled", "deleted", "logged"]);
    let due: (i64, String) =
        sqlx::query_as("select due_ms, input from wakeups").fetch_one(pool).await.unwrap();
    assert_eq!(due, (1_005_000, "later".to_owned()));
    let lease = desk.catalog.start_turn(start(session)).await.unwrap();
    let failing = Finish { ending: failed(Failure::Limit), ..whole };
    desk.catalog.finish_turn(lease.turn, &failing).await.unwrap();
    let (wakes,): (i64,) =
        sqlx::query_as("select count(*) from wakeups").fetch_one(pool).await.unwrap();
    assert_eq!(wakes, 1, "a turn that failed is not woken");
    desk.catalog.remove_session(session).await.unwrap();
    let left: (i64,) =
        sqlx::query_as("select (select count(*) from events) + (select count(*) from wakeups)")
            .fetch_one(pool)
            .await
            .unwrap();
    assert_eq!(left, (0,));
}

#[tokio::test]
async fn any_number_of_events_is_kept() {
    let desk = Desk::new().await;
    let (_, _, session) = desk.session().await;
    let lease = desk.catalog.start_turn(start(session)).await.unwrap();
    let line = |number| Event::Logged { level: "info", message: format!("{number}") };
    let events = (0..2_500).map(line).collect();
    let whole = Finish { events, ..finish(Ending::Replied(String::new())) };
    desk.catalog.finish_turn(lease.turn, &whole).await.unwrap();
    let kept: Vec<(String,)> = sqlx::query_as("select message from events order by number")
        .fetch_all(&desk.catalog.pool)
        .await
        .unwrap();
    assert!((0..2_500).map(|number| number.to_string()).eq(kept.into_iter().map(|(line,)| line)));
}

#[tokio::test]
async fn a_list_says_where_each_session_stands() {
    let desk = Desk::new().await;
    let (workspace, agent, session) = desk.session().await;
    let lease = desk.catalog.start_turn(start(session)).await.unwrap();
    desk.pass(10);
    desk.catalog.finish_turn(lease.turn, &finish(asked("which?"))).await.unwrap();
    let sessions = desk.catalog.sessions(agent).await.unwrap();
    let [monday] = sessions.as_slice() else { panic!("{sessions:?}") };
    assert_eq!((monday.turns, monday.latest), (1, Some(TurnState::Parked)));
    assert_eq!((monday.created_ms, monday.active_ms), (1_000_000, 1_000_010));
    assert_eq!(monday.question.as_deref(), Some("which?"));
    assert_eq!(desk.catalog.agents(workspace).await.unwrap()[0].children, 1);
}

/// What is asked at the end of every turn takes no longer for more turns and open questions.
#[tokio::test]
async fn the_end_of_a_turn_searches_turns_by_an_index() {
    let desk = Desk::new().await;
    let explain = sqlx::AssertSqlSafe(format!("explain query plan {}", ending::DROP_COMPONENTS));
    let plan: Vec<(i64, i64, i64, String)> =
        sqlx::query_as(explain).fetch_all(&desk.catalog.pool).await.unwrap();
    let of_turns: Vec<_> =
        plan.iter().map(|(.., step)| step).filter(|step| step.contains("turns")).collect();
    assert!(!of_turns.is_empty(), "{plan:?}");
    assert!(of_turns.iter().all(|step| step.starts_with("SEARCH")), "{plan:?}");
}
