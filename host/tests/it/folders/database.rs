//! A database of SQLite in a plain file: it keeps a journal beside it, writes in the middle of files,
//! and relies on what a sync says.

use bailiwick::engine::End;
use bailiwick::store::Depth;
use serde_json::json;

use super::{Ground, done, ok};
use crate::guests;

/// One over each kind of store, with the program that keeps a database.
async fn grounds() -> Vec<Ground> {
    let Some(program) = guests::program("sqlite") else { return Vec::new() };
    let grounds = Ground::each().await.into_iter();
    grounds.map(|ground| Ground { program: program.clone(), ..ground }).collect()
}

const MAKE: &str = "create table notes (text text not null);
    insert into notes values ('first'), ('second');";
const ALL: &str = "select text from notes order by rowid";

/// A turn makes a database in the agent's folder; later ones find its rows, change them, and leave no
/// journal behind.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_later_turn_finds_the_rows_of_a_database() {
    for ground in grounds().await {
        let open = (json!(["open", "/agent/notes.db"]), done());
        ground
            .hold(&[
                open.clone(),
                (json!(["run", MAKE]), done()),
                (json!(["rows", ALL]), ok(json!(["first", "second"]))),
            ])
            .await;
        ground
            .hold(&[
                open.clone(),
                (json!(["rows", ALL]), ok(json!(["first", "second"]))),
                (json!(["run", "delete from notes where text = 'first'"]), done()),
                (json!(["run", "begin; insert into notes values ('third'); rollback"]), done()),
                (json!(["run", "insert into notes values ('fourth')"]), done()),
            ])
            .await;
        ground
            .hold(&[
                open,
                (json!(["rows", ALL]), ok(json!(["second", "fourth"]))),
                (json!(["rows", "pragma integrity_check"]), ok(json!(["ok"]))),
            ])
            .await;
        let listed = ground.space().list("agent", Depth::All, None, 10).await.unwrap();
        let files: Vec<_> = listed.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(files, ["agent/notes.db"], "{}", ground.name);
    }
}

/// A turn that traps in the middle of a transaction leaves what was there before it: also where pages
/// of it were in the database by then, which the journal that it left takes back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_a_trap_broke_off_was_never_there() {
    const MANY: &str = "begin; update notes set text = 'changed';
        with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
        insert into notes select 'a row of some length, number ' || i from n;";
    for ground in grounds().await {
        let open = (json!(["open", "/agent/notes.db"]), done());
        ground.hold(&[open, (json!(["run", MAKE]), done())]).await;
        // All of it in memory until the end, and nearly nothing of it.
        for pages in [100_000, 4] {
            let cache = format!("pragma cache_size = {pages}; pragma cache_spill = {pages}");
            let report = ground
                .report(json!([
                    ["open", "/agent/notes.db"],
                    ["run", cache],
                    ["run", MANY],
                    ["trap"]
                ]))
                .await;
            assert!(matches!(report.end, End::Trapped(_)), "{}: {report:?}", ground.name);
            ground
                .hold(&[
                    (json!(["open", "/agent/notes.db"]), done()),
                    (json!(["rows", "pragma integrity_check"]), ok(json!(["ok"]))),
                    (json!(["rows", ALL]), ok(json!(["first", "second"]))),
                    (json!(["run", "update notes set text = text"]), done()),
                ])
                .await;
        }
    }
}
