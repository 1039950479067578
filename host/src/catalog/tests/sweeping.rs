//! Deletions of what is large: by how many statements and transactions, and that all of it goes.

use super::super::database::fuse::Fuse;
use super::super::sweeping::{GOING_AGENTS, GOING_SESSIONS, GOING_WORKSPACES, STATEMENTS};
use super::*;
use crate::limits::{ROWS_SWEPT_MAX, TURN_BYTES_SWEPT_MAX};

/// What a workspace is filled with.
#[derive(Clone, Copy)]
struct Filling {
    agents: usize,
    /// Of each agent.
    sessions: usize,
    /// Of each session.
    turns: usize,
    /// Of each turn.
    events: usize,
}

impl Filling {
    fn rows(self) -> u64 {
        let Self { agents, sessions, turns, events } = self;
        (agents * (1 + sessions * (1 + turns * (1 + events)))) as u64
    }
}

/// Rows as they are after turns, put there without that any turn runs; which sessions.
async fn fill(desk: &Desk, workspace: WorkspaceId, filling: Filling) -> Vec<SessionId> {
    let Filling { agents, sessions, turns, events } = filling;
    // The last digits of an id are a number of its own.
    let whose = &new_id().to_string()[..24];
    let id = |number: &str| format!("$2 || (100000000000 + {number})");
    // Which of the things above one is of, where so many ($3) are of each.
    let above = "(i - 1) / $3 + 1";
    let put = async |into: &str, columns: &[&str], count: usize, of: database::Value<'_>| {
        let put = format!(
            "insert into {into} with recursive numbers (i) as (select cast(1 as bigint)
                union all select i + 1 from numbers where i < $1) select {} from numbers",
            columns.join(", ")
        );
        if count > 0 {
            let put = sql(put).bind(count as u64).bind(whose).bind(of);
            desk.catalog.database.execute(put).await.unwrap();
        }
    };
    let (own, of) = (id("i"), id(above));
    let (own, of) = (own.as_str(), of.as_str());
    put(
        "agents (workspace_id, id, name, created_ms)",
        &["$3", own, own, "1"],
        agents,
        workspace.into(),
    )
    .await;
    let count = agents * sessions;
    let into = "sessions (agent_id, id, name, created_ms, active_ms)";
    put(into, &[of, own, own, "1", "1"], count, (sessions as u64).into()).await;
    let into = "turns (session_id, id, position, state, attempt, component, input, queued_ms)";
    let columns = [of, own, "(i - 1) % $3 + 1", "'done'", "1", "'c'", "'in'", "1"];
    put(into, &columns, count * turns, (turns as u64).into()).await;
    let into = "events (session_id, turn_id, number, attempt, at_ms, kind)";
    let session = id(&format!("({above} - 1) / {} + 1", turns.max(1)));
    let columns = [&*session, of, "i", "1", "1", "'logged'"];
    put(into, &columns, count * turns * events, (events as u64).into()).await;
    let ids = (1..=count).map(|number| format!("{whose}{}", 100_000_000_000 + number));
    ids.map(|id| SessionId(id.parse().unwrap())).collect()
}

/// Sweeps until nothing is left; how many rows, transactions and statements it took.
async fn sweep<F>(sweep: impl Fn() -> F) -> (u64, u64, u64)
where
    F: Future<Output = Result<Left, CatalogError>>,
{
    let (mut rows, mut transactions) = (0, 0);
    let all = async {
        loop {
            let left = sweep().await.unwrap();
            assert!(left.removed() <= ROWS_SWEPT_MAX, "{left:?}");
            rows += left.removed();
            transactions += 1;
            if let Left::Nothing(_) = left {
                return;
            }
            assert_ne!(left.removed(), 0);
        }
    };
    let ((), statements) = Fuse::counted(all).await;
    (rows, transactions, u64::try_from(statements).unwrap())
}

on_both! {
    /// It is rows that a deletion costs, whatever they hang from: a statement removes those of many
    /// sessions and agents, and a transaction a bounded number.
    async fn a_statement_removes_rows_of_many(desk: &Desk) {
        let one = Filling { agents: 1, sessions: 1, turns: 1, events: 3 };
        for filling in [
            Filling { sessions: 600, ..one },
            Filling { sessions: 1_200, ..one },
            Filling { agents: 600, ..one },
            Filling { agents: 300, sessions: 3, turns: 0, ..one },
            Filling { turns: 700, ..one },
        ] {
            let workspace = desk.catalog.make_workspace(&name("large")).await.unwrap().id();
            fill(desk, workspace, filling).await;
            let what = Removable::Workspace(workspace);
            desk.catalog.begin_removal(what, Removal::default()).await.unwrap();
            let (rows, transactions, statements) = sweep(|| desk.catalog.sweep_going(what)).await;
            assert_eq!(rows, filling.rows() + 1);
            assert!(transactions <= rows.div_ceil(400), "{transactions} for {rows} rows");
            assert!(statements <= rows / 20, "{statements} statements for {rows} rows");
            assert_eq!(desk.catalog.deletion(workspace.0).await.unwrap().unwrap().deleted_ms, START_MS);
        }
        for left in [
            desk.count("select count(*) from agents").await,
            desk.count("select count(*) from sessions").await,
            desk.count("select count(*) from turns").await,
            desk.count("select count(*) from events").await,
        ] {
            assert_eq!(left, 0);
        }
    }

    /// To let nobody see something takes the same statements, however much is below it.
    async fn what_is_hidden_is_so_in_few_statements(desk: &Desk) {
        let mut taken = Vec::new();
        for sessions in [1, 500] {
            let workspace = desk.catalog.make_workspace(&name("large")).await.unwrap().id();
            let filling = Filling { agents: 3, sessions, turns: 1, events: 0 };
            let ids = fill(desk, workspace, filling).await;
            let what = Removable::Workspace(workspace);
            let hide = desk.catalog.begin_removal(what, Removal::default());
            let (hidden, statements) = Fuse::counted(hide).await;
            hidden.unwrap();
            taken.push(statements);
            assert_eq!(desk.catalog.session_by_id(ids[0]).await.unwrap(), None);
        }
        assert_eq!(taken[0], taken[1]);
    }

    /// Sessions that go for their age go together, with all that belongs to them and nothing else:
    /// each leaves a mark of its own.
    async fn sessions_that_go_go_together(desk: &Desk) {
        let catalog = &desk.catalog;
        let (agent, told) = desk.ready().await;
        let (workspace, _, _) = desk.session().await;
        let few = Filling { agents: 1, sessions: 60, turns: 3, events: 2 };
        let mut sessions = fill(desk, workspace, few).await;
        let stays = sessions.pop().unwrap();
        sessions.extend(fill(desk, workspace, Filling { sessions: 1, turns: 600, ..few }).await);
        sessions.push(told);
        catalog.add_participant(told, &label("ann")).await.unwrap();
        catalog.add_wakeup(told, &When::At(0), "").await.unwrap();
        let due = catalog.due_wakeups(1).await.unwrap();
        catalog.fire(&due[0], 0).await.unwrap().unwrap();
        let lease = claim_one(catalog).await.lease;
        let invoked = Invoked {
            verb: "files.read".into(),
            scope: "session".into(),
            outcome: "ok".into(),
            calls: 1,
            bytes: 1,
            waited_us: 1,
        };
        let finish = Finish { invoked: vec![invoked], ..replied() };
        catalog.finish_turn(lease, &finish).await.unwrap();
        let judge = retention::Ruthless::default();
        catalog.hold_session(stays).await.unwrap();
        sessions.push(stays);
        let begun = catalog.begin_sweeps(&sessions, &judge).await.unwrap();
        let begun: Vec<_> = begun.into_iter().map(|(session, _)| session).collect();
        assert_eq!(begun, sessions[..sessions.len() - 1]);
        let (rows, transactions, _) = sweep(|| catalog.sweep_sessions(&sessions)).await;
        assert!(rows > 59 * 10 + 1_801 && transactions <= 8, "{rows} in {transactions}");
        assert_eq!(sweep(|| catalog.sweep_sessions(&sessions)).await.0, 0);
        for session in &sessions[..sessions.len() - 1] {
            let mark = catalog.deletion(session.0).await.unwrap().unwrap();
            assert_eq!((mark.why, mark.deleted_ms), (Some(Reason::Idle), START_MS));
        }
        assert!(catalog.session_by_id(stays).await.unwrap().is_some());
        assert_eq!(catalog.turns(stays, 0, 10).await.unwrap().len(), 3);
        assert_eq!(desk.count("select count(*) from sessions").await, 1);
        assert_eq!(desk.count("select count(*) from events").await, 6);
        for left in [
            desk.count("select count(*) from trigger_firings").await,
            desk.count("select count(*) from tool_invocations").await,
            desk.count("select count(*) from participants").await,
        ] {
            assert_eq!(left, 0);
        }
        assert!(catalog.agent_by_id(agent).await.unwrap().is_some());
    }

    /// However long the texts of turns are, a transaction removes a bounded number of bytes, and at
    /// least one turn.
    async fn long_texts_go_by_their_bytes(desk: &Desk) {
        let (_, session) = desk.ready().await;
        let (catalog, count) = (&desk.catalog, 6);
        let long = "x".repeat(usize::try_from(TURN_BYTES_SWEPT_MAX / 4).unwrap());
        for _ in 0..count {
            catalog.enqueue(turn_of(session)).await.unwrap();
            let lease = claim_one(catalog).await.lease;
            let said = Finish { said: long.clone(), ..replied() };
            catalog.finish_turn(lease, &said).await.unwrap();
        }
        let what = Removable::Session(session);
        catalog.begin_removal(what, Removal::default()).await.unwrap();
        let mut before = count;
        while let Left::More(_) = catalog.sweep_going(what).await.unwrap() {
            let left = desk.count("select count(*) from turns").await;
            assert!((1..=4).contains(&(before - left)), "{left} of {before}");
            before = left;
        }
        assert!((1..=4).contains(&before));
    }
}

/// Nothing that a sweep asks takes longer for what is there and stays.
#[tokio::test]
async fn a_sweep_searches_by_indexes() {
    let desk = Desk::sqlite().await;
    for statement in STATEMENTS {
        let statement = statement.trim_end_matches(" for update").replace("{ids}", "'a', 'b'");
        let explain = ["explain query plan ", &statement].concat();
        let plan = desk.catalog.database.rows(sql(explain)).await.unwrap();
        let plan: Vec<String> = plan.map(|row| row.at(3)).unwrap();
        assert!(plan.iter().any(|step| step.starts_with("SEARCH")), "{statement}: {plan:?}");
        assert!(!plan.iter().any(|step| step.starts_with("SCAN")), "{statement}: {plan:?}");
    }
    let due = [deletions::COLUMNS, deletions::DUE].concat();
    for (going, index) in [
        (GOING_SESSIONS, "sessions_going"),
        (GOING_AGENTS, "agents_going"),
        (GOING_WORKSPACES, "workspaces_going"),
        (due.trim_end_matches(" for update skip locked"), "storage_deletions_owed"),
    ] {
        let explain = sql(["explain query plan ", going].concat());
        let plan = desk.catalog.database.rows(explain).await.unwrap();
        let plan: Vec<String> = plan.map(|row| row.at(3)).unwrap();
        assert!(plan[0].contains(index) && !plan.concat().contains("TEMP"), "{plan:?}");
    }
}
