use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, ChildStderr};

use rustix::process::Signal;

use super::harness::{Done, Machine, finish, signal};

/// A server of a machine's, and where it listens.
pub(super) struct Serving {
    pub(super) child: Child,
    log: BufReader<ChildStderr>,
    address: String,
}

impl Serving {
    pub(super) fn start(machine: &Machine, arguments: &[&str]) -> Self {
        let listen = ["serve", "--listen", "127.0.0.1:0"];
        let mut child = machine.start(&[listen.as_slice(), arguments].concat());
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        log.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("bailiwick: serving http://");
        let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
        Self { child, log, address }
    }

    /// One request, on a connection of its own.
    pub(super) fn ask(&self, method: &str, path: &str, token: &str, body: &str) -> String {
        self.send(method, path, token, "application/json", body.as_bytes())
    }

    /// As [`Self::ask`], with a body of another kind.
    pub(super) fn send(
        &self,
        method: &str,
        path: &str,
        token: &str,
        kind: &str,
        body: &[u8],
    ) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer {token}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n"
        )
        .unwrap();
        stream.write_all(body).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Ends it as a service manager does.
    pub(super) fn stop(mut self) -> (Done, String) {
        signal(self.child.id(), Signal::TERM);
        let mut log = String::new();
        self.log.read_to_string(&mut log).unwrap();
        (finish(self.child), log)
    }
}

pub(super) fn json(answer: &str) -> serde_json::Value {
    serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap()
}

/// A server, a token minted for it, and a file that the command sees as well.
#[test]
fn a_file_sent_to_a_server_is_one_of_the_command() {
    let machine = Machine::new();
    machine.ok(&["workspaces", "new", "acme"]);
    machine.ok(&["agents", "new", "clerk", "-w", "acme"]);
    machine.ok(&["sessions", "new", "monday", "-w", "acme", "-a", "clerk"]);
    let serving = Serving::start(&machine, &[]);
    assert!(serving.ask("GET", "/readyz", "", "").starts_with("HTTP/1.1 200"));
    let mint = |more: &[&str]| {
        machine.ok(&[&["token", "--subject", "ann"], more].concat()).trim().to_owned()
    };
    let root = mint(&["--allow", "admin"]);
    let workspaces = json(&serving.ask("GET", "/v1/workspaces", &root, ""));
    let workspace = workspaces["items"][0]["id"].as_str().unwrap().to_owned();
    let admin = mint(&["-w", "acme", "--allow", "admin", "--allow", "sessions:write"]);
    let agents =
        json(&serving.ask("GET", &format!("/v1/workspaces/{workspace}/agents"), &admin, ""));
    let agent = agents["items"][0]["id"].as_str().unwrap().to_owned();
    let opened = "{\"name\":\"monday\",\"participants\":[\"ann\"]}";
    let session =
        json(&serving.ask("POST", &format!("/v1/agents/{agent}/sessions"), &admin, opened));
    let files = format!("/v1/agent-sessions/{}/files", session["id"].as_str().unwrap());
    let ann = mint(&["-w", "acme", "--only-agent", "clerk"]);
    let put = serving.ask("PUT", &format!("{files}/session/a.txt"), &ann, "hello");
    assert!(put.starts_with("HTTP/1.1 201"), "{put}");
    let names = ["-w", "acme", "-a", "clerk", "-s", "monday"];
    let cat = [["files", "cat", "session/a.txt"].as_slice(), &names].concat();
    assert_eq!(machine.ok(&cat), "hello");
    let denied = serving.ask("PUT", &format!("{files}/agent/a.txt"), &ann, "hello");
    assert!(denied.starts_with("HTTP/1.1 404"), "{denied}");
    let counted = serving.ask("GET", "/metrics", "", "");
    assert!(counted.contains("bailiwick_store_operation_seconds_count{operation="), "{counted}");
    let (done, log) = serving.stop();
    assert_eq!((done.code, log.ends_with("stopped\n")), (Some(0), true), "{log}");
    let secret = machine.data_dir().join("token-secret");
    assert_eq!(secret.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

/// What a server is started with is checked before it listens, and told in a sentence.
#[test]
fn a_server_that_cannot_start_says_why() {
    let machine = Machine::new();
    let short = machine.file("short", b"0123456789\n");
    let junk = machine.file("junk.pem", b"junk");
    let unknown = machine.file("unknown.toml", b"colour = 'red'");
    let wrong = machine.file("wrong.toml", b"listen = 'somewhere'");
    for (arguments, told) in [
        (["--token-secret-file", &short].as_slice(), "at least 32 bytes"),
        (&["--token-secret-file", "nowhere"], "nowhere cannot be read"),
        (&["--token-keys", &junk], "neither a public Ed25519 key"),
        (&["--token-keys", &junk, "--token-secret-file", &short], "set one of"),
        (&["--listen", "192.0.2.1:1"], "192.0.2.1:1 cannot be listened on"),
        (&["--config", "nowhere.toml"], "nowhere.toml cannot be read"),
        (&["--config", &unknown], "there is no setting `colour`"),
    ] {
        let refused = machine.refused(&[&["serve"], arguments].concat());
        assert!(refused.contains(told), "{arguments:?}: {refused}");
    }
    let wrong = machine.run(&["serve", "--config", &wrong]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(wrong.err.contains("--listen"), "{wrong:?}");
}

/// A file of settings stands in for options, and tokens of its issuer are accepted.
#[test]
fn a_file_of_settings_starts_a_server() {
    let machine = Machine::new();
    let secret = machine.file("secret", b"0123456789abcdef0123456789abcdef\n");
    let settings =
        format!("token_secret_file = '{secret}'\ntoken_issuer = 'us'\nconnections = 7\n");
    let settings = machine.file("settings.toml", settings.as_bytes());
    let serving = Serving::start(&machine, &["--config", &settings]);
    let mint = |more: &[&str]| {
        let token = ["token", "--subject", "root", "--allow", "admin"];
        machine.ok(&[token.as_slice(), more].concat()).trim().to_owned()
    };
    let ours = mint(&["--config", &settings]);
    assert!(serving.ask("GET", "/v1/workspaces", &ours, "").starts_with("HTTP/1.1 200"));
    let others = mint(&["--token-secret-file", &secret]);
    assert!(serving.ask("GET", "/v1/workspaces", &others, "").starts_with("HTTP/1.1 401"));
    let own = mint(&[]);
    assert!(serving.ask("GET", "/v1/workspaces", &own, "").starts_with("HTTP/1.1 401"));
    assert_eq!(serving.stop().0.code, Some(0));
}
