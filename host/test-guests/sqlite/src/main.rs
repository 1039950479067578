//! Does in a database what its input names, one step after the other, and prints what came of each.
//!
//! The input is an array of steps: `["open", "/agent/a.db"]`, `["run", "insert into …"]` (any number of
//! statements), `["rows", "select …"]` (what is selected has one column, of text), `["trap"]`.

use std::io::Read;

use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input)?;
    let steps: Vec<Vec<String>> = serde_json::from_str(&input)?;
    let mut database = Connection::open_in_memory()?;
    let mut answers = Vec::new();
    for step in &steps {
        let text = step.get(1).map_or("", String::as_str);
        let done = match step.first().map_or("", String::as_str) {
            "open" => open(text).map(|opened| {
                database = opened;
                Value::Null
            }),
            "run" => database.execute_batch(text).map(|()| Value::Null),
            "rows" => rows(&database, text),
            _ => std::process::abort(),
        };
        answers.push(match done {
            Ok(value) => json!({ "ok": value }),
            Err(error) => json!({ "error": error.to_string() }),
        });
    }
    println!("{}", Value::from(answers));
    Ok(())
}

/// SQLite asks for it, and WASI has none. It only makes names of temporary files.
#[unsafe(no_mangle)]
extern "C" fn getpid() -> i32 {
    1
}

/// Without locks of its own: only one turn of an agent's session runs at a time.
fn open(path: &str) -> rusqlite::Result<Connection> {
    Connection::open_with_flags_and_vfs(path, OpenFlags::default(), "unix-none")
}

fn rows(database: &Connection, query: &str) -> rusqlite::Result<Value> {
    let mut statement = database.prepare(query)?;
    let found = statement.query_map([], |row| row.get::<_, String>(0))?;
    found.map(|row| row.map(Value::from)).collect()
}
