use sqlx::migrate::Migrator;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};

use super::*;

const BEFORE: &str = "
    insert into stores values ('0198c0de-0000-7000-8000-000000000001', 'files');
    insert into workspaces values ('0198c0de-0000-7000-8000-000000000002',
        '0198c0de-0000-7000-8000-000000000001', 'acme', 1);
    insert into agents values ('0198c0de-0000-7000-8000-000000000003',
        '0198c0de-0000-7000-8000-000000000002', 'clerk', 1);
    insert into sessions values ('0198c0de-0000-7000-8000-000000000004',
        '0198c0de-0000-7000-8000-000000000003', 'monday', 1, 1);
    insert into turns (id, session_id, state, attempt, component, input, question, queued_ms,
            ended_ms)
        select '0198c0de-0000-7000-8000-00000000000' || number,
            '0198c0de-0000-7000-8000-000000000004', state, 1, 'c', 'in', question, at, at + 1
        from (select 7 as number, 'done' as state, null as question, 10 as at
            union all select 5, 'parked', 'which?', 20 union all select 6, 'done', null, 10);
    insert into events (turn_id, number, kind, path) values
        ('0198c0de-0000-7000-8000-000000000006', 0, 'deleted', 'a'),
        ('0198c0de-0000-7000-8000-000000000006', 1, 'deleted', 'b'),
        ('0198c0de-0000-7000-8000-000000000007', 0, 'deleted', 'c');
    insert into wakeups values ('0198c0de-0000-7000-8000-000000000008',
        '0198c0de-0000-7000-8000-000000000004', '0198c0de-0000-7000-8000-000000000007', 99, 'in');
";

/// What an earlier version kept is there, in order, and goes on.
#[tokio::test]
async fn what_was_there_before_the_queue_goes_on() {
    let desk = Desk::sqlite().await;
    let file = desk.file();
    desk.catalog.close().await;
    #[expect(clippy::disallowed_methods, reason = "the test makes another database of it")]
    std::fs::remove_file(&file).unwrap();
    let connect = SqliteConnectOptions::new().filename(&file).create_if_missing(true);
    let pool = SqlitePoolOptions::new().max_connections(1).connect_with(connect).await.unwrap();
    let all = sqlx::migrate!("migrations/sqlite");
    let old: Vec<_> = all.iter().filter(|one| one.version <= 2).cloned().collect();
    Migrator::with_migrations(old).run(&pool).await.unwrap();
    sqlx::raw_sql(BEFORE).execute(&pool).await.unwrap();
    pool.close().await;

    let catalog = open(&CatalogLocation::File(file), "files", &desk.clock).await;
    let (_, _, session) = session(&catalog, "monday").await;
    let turns = catalog.turns(session, 0, 10).await.unwrap();
    let order: Vec<_> = turns.iter().map(|turn| (turn.position, turn.queued_ms)).collect();
    assert_eq!(order, [(1, 10), (2, 10), (3, 20)]);
    let events = catalog.events(session, 0, 10).await.unwrap();
    let paths: Vec<_> = events.into_iter().map(|one| (one.number, one.event)).collect();
    let deleted = |path: &str| Event::Deleted { path: path.into() };
    assert_eq!(paths, [(1, deleted("a")), (2, deleted("b")), (3, deleted("c"))]);
    assert_eq!(catalog.wakeups(session).await.unwrap()[0].due_ms, 99);
    let answer = Some(Answer { question: turns[2].id, text: "that" });
    catalog.start_turn(Start { answer, ..start(session) }).await.unwrap();
    assert_eq!(catalog.events(session, 3, 10).await.unwrap()[0].number, 4);
}

/// Whoever finds no catalog makes one, at the same moment as others.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_make_one_catalog_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(HandClock(AtomicU64::new(START_MS)));
    for round in 0..10 {
        let location = CatalogLocation::File(folder.path().join(format!("{round}.sqlite")));
        let opened = (0..4).map(|_| {
            let (location, clock) = (location.clone(), clock.clone());
            tokio::spawn(async move { open(&location, "files", &clock).await })
        });
        for catalog in futures::future::join_all(opened).await {
            catalog.unwrap().make_workspace(&name("acme")).await.unwrap();
        }
    }
}
