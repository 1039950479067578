//! A PostgreSQL server, started once for all tests of a binary, and gone when it is. A URL in
//! `BAILIWICK_TEST_POSTGRES` takes its place.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use sqlx::{AssertSqlSafe, Connection, PgConnection};
use uuid::Uuid;

const URL: &str = "BAILIWICK_TEST_POSTGRES";

struct Server {
    url: String,
    /// Its standard input: when this process ends, however it does, it is closed, and whoever
    /// reads it ends the server.
    _watched: Option<Child>,
}

/// A place of one test's own in the server's database.
#[derive(Debug)]
pub(crate) struct Schema {
    server: &'static str,
    name: String,
}

impl Schema {
    /// A new one, or `None`, loudly, where there is no server.
    pub(crate) async fn new() -> Option<Self> {
        let server = server()?.url.as_str();
        let name = format!("bailiwick_{}", Uuid::new_v4().simple());
        execute(server, &format!("create schema {name}")).await;
        Some(Self { server, name })
    }

    /// The URL that leads to it.
    pub(crate) fn url(&self) -> String {
        let mark = if self.server.contains('?') { '&' } else { '?' };
        format!("{}{mark}options[search_path]={}", self.server, self.name)
    }
}

impl Drop for Schema {
    /// Nothing of ours stays in a database of somebody else's.
    fn drop(&mut self) {
        if std::env::var_os(URL).is_none() {
            return;
        }
        let drop = format!("drop schema {} cascade", self.name);
        let server = self.server;
        let dropped = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(execute(server, &drop));
        });
        dropped.join().unwrap();
    }
}

async fn execute(server: &str, statement: &str) {
    let mut connection = PgConnection::connect(server).await.expect("the server lets us in");
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

fn server() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    SERVER.get_or_init(|| std::env::var(URL).ok().map(given).or_else(start)).as_ref()
}

fn given(url: String) -> Server {
    Server { url, _watched: None }
}

fn start() -> Option<Server> {
    let Some(programs) = programs() else {
        assert!(std::env::var_os("CI").is_none(), "PostgreSQL is not installed");
        eprintln!("SKIPPED: PostgreSQL is not installed: run `cargo xtask test`");
        return None;
    };
    for _ in 0..3 {
        let port = free_port();
        let password = Uuid::new_v4().simple().to_string();
        let folder = tempfile::Builder::new().prefix("bailiwick-postgres-").tempdir();
        let folder = folder.unwrap().keep();
        let mut watched = Command::new("sh")
            .args(["-c", WATCH, "sh"])
            .args([folder.as_path(), programs.as_path()])
            .args([&port.to_string(), &password])
            .stdin(Stdio::piped())
            .spawn()
            .expect("sh is there");
        if is_ready(&programs, port) {
            let url = format!("postgres://bailiwick:{password}@127.0.0.1:{port}/postgres");
            return Some(Server { url, _watched: Some(watched) });
        }
        drop(watched.stdin.take());
        watched.wait().expect("the watcher ends");
    }
    panic!("PostgreSQL does not start")
}

/// Runs a server until standard input closes, and leaves nothing of it behind. It refuses to run
/// as root, so root runs it as the user that its package made. Texts are in the order of a
/// language: what needs another says so.
const WATCH: &str = r#"
folder=$1; programs=$2; port=$3; password=$4
as=
if [ "$(id -u)" = 0 ]; then
    as="setpriv --reuid postgres --regid postgres --clear-groups"
fi
cd "$folder" && echo "$password" >password
[ -z "$as" ] || chown -R postgres "$folder"
$as "$programs/initdb" -D "$folder/data" -U bailiwick --auth=scram-sha-256 \
    --pwfile=password --encoding=UTF8 --locale=C.UTF-8 --locale-provider=icu --icu-locale=en-US \
    --no-sync >log 2>&1 </dev/null
$as "$programs/postgres" -D "$folder/data" -p "$port" -c listen_addresses=127.0.0.1 \
    -c unix_socket_directories= -c fsync=off -c max_connections=400 >>log 2>&1 </dev/null &
server=$!
cat >/dev/null
kill -QUIT $server
wait $server 2>/dev/null
rm -rf "$folder"
"#;

/// The newest server that Debian installed, or the one that is on the path.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let installed = versions.filter_map(|version| Some(version.ok()?.path().join("bin")));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let newest = installed.filter(|folder| has_server(folder)).max();
    newest.or_else(|| std::env::split_paths(&path).find(|folder| has_server(folder)))
}

fn has_server(folder: &Path) -> bool {
    ["initdb", "postgres", "pg_isready"].iter().all(|program| folder.join(program).is_file())
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

fn is_ready(programs: &Path, port: u16) -> bool {
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(60) {
        let mut ask = Command::new(programs.join("pg_isready"));
        ask.args(["-q", "-h", "127.0.0.1", "-p", &port.to_string()]);
        if ask.status().is_ok_and(|status| status.success()) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    false
}
