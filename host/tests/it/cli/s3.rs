use bailiwick::catalog::{Catalog, CatalogLocation, CatalogOptions, SettingsOf};

use super::harness::{Done, Machine, finish, guest_or_skip, piped};
use super::memory::stays_flat;
use crate::servers::{Server, moto, seaweed};

const NAMES: [&str; 6] = ["-w", "acme", "-a", "clerk", "-s", "monday"];

/// A machine whose files are on a server, under a prefix of their own.
struct Remote {
    machine: Machine,
    server: &'static Server,
    store: String,
}

impl Remote {
    fn new(server: &'static Server) -> Self {
        let store = format!("s3://{}/{}", server.bucket(), uuid::Uuid::new_v4());
        Self { machine: Machine::new(), server, store }
    }

    fn run(&self, arguments: &[&str]) -> Done {
        let mut command = self.machine.command(arguments);
        finish(piped(command.envs(self.environment())))
    }

    fn environment(&self) -> [(&'static str, String); 5] {
        let credentials = crate::servers::credentials();
        [
            ("BAILIWICK_STORE", self.store.clone()),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", self.server.port)),
            ("AWS_ACCESS_KEY_ID", credentials.access_key_id().to_owned()),
            ("AWS_SECRET_ACCESS_KEY", credentials.secret_access_key().to_owned()),
        ]
    }

    fn ok(&self, arguments: &[&str]) -> String {
        let done = self.run(arguments);
        assert_eq!(done.code, Some(0), "{arguments:?}: {done:?}");
        done.out
    }
}

/// A turn and a person see the same files in a bucket, the catalog is in the data directory,
/// and deleting empties the bucket's part.
#[test]
fn a_bucket_serves_like_a_directory() {
    let guest = guest_or_skip!("script", "a_bucket_serves_like_a_directory");
    let Some(server) = seaweed() else { return };
    let remote = Remote::new(server);
    let local = remote.machine.file("big", &vec![b'x'; 9 << 20]);
    remote.ok(&["files", "put", &local, "workspace/big", "-w", "acme"]);
    let steps = r#"[{"do":"stat","path":"workspace/big"},
        {"do":"write","path":"session/a.txt","bytes":"kept"}]"#;
    let reply = remote.ok(&[&["run", &guest, "--input", steps], NAMES.as_slice()].concat());
    assert!(reply.contains("9437184"), "{reply}");
    let cat = ["files", "cat", "session/a.txt"];
    assert_eq!(remote.ok(&[cat.as_slice(), &NAMES].concat()), "kept");
    assert_eq!(remote.ok(&["files", "cat", "workspace/big", "-w", "acme"]).len(), 9 << 20);
    assert!(remote.machine.data_dir().join("catalog.sqlite").is_file());
    let elsewhere = remote.machine.ok(&["workspaces", "ls", "--json"]);
    assert_eq!(elsewhere, "", "a name belongs to its store");
    let removed = remote.run(&["workspaces", "rm", "acme"]);
    assert!(removed.err.contains("(2 files, 9437188 bytes)"), "{removed:?}");
}

/// `store check` says what was tried out, and what follows from what is missing.
#[test]
fn store_check_tells_what_a_server_keeps() {
    let Some(server) = seaweed() else { return };
    let told = Remote::new(server).ok(&["store", "check"]);
    let line = told.lines().find(|line| line.contains("put if absent"));
    assert!(line.is_some_and(|line| line.contains("kept")), "{told}");
    let Some(server) = moto() else { return };
    let told = Remote::new(server).ok(&["store", "check", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    let probed = told["probed"].as_array().unwrap();
    let missing = probed.iter().filter(|probed| probed["support"] != "kept");
    assert!(missing.count() > 0, "{told}");
    assert!(probed.iter().all(|one| (one["support"] == "kept") == (one["consequence"] == "")));
}

/// A bucket that is not there, and credentials that do not fit, are told in a sentence.
#[test]
fn a_wrong_bucket_is_told() {
    let Some(server) = seaweed() else { return };
    let mut remote = Remote::new(server);
    remote.store = "s3://no-such-bucket/prefix".to_owned();
    let done = remote.run(&["workspaces", "ls"]);
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(done.err.contains("there is no bucket `no-such-bucket`"), "{done:?}");
}

/// What passes through to a bucket, from a guest and from a person, is held in part.
#[test]
fn a_bucket_takes_large_files_in_little_memory() {
    let _built = guest_or_skip!("stream", "a_bucket_takes_large_files_in_little_memory");
    let Some(server) = seaweed() else { return };
    let remote = Remote::new(server);
    stays_flat(&remote.machine, &remote.environment());
    remote.ok(&["workspaces", "rm", "w"]);
}

/// `bucket apply` puts rules among the bucket's own; a maximum lifetime is refused while anything
/// is on hold, and `bucket check` says of one that stands then.
#[test]
fn a_bucket_is_given_its_rules() {
    let Some(server) = moto() else { return };
    let remote = Remote::new(server);
    let check = remote.run(&["bucket", "check"]);
    assert_eq!(check.code, Some(1), "{check:?}");
    assert!(check.out.contains("missing") && check.out.contains("of 1000"), "{check:?}");
    let applied = remote.ok(&["bucket", "apply", "--maximum-days", "90"]);
    assert!(applied.contains("ends unfinished uploads after a day"), "{applied}");
    assert!(applied.contains("removes files 90 days old"), "{applied}");
    remote.ok(&["workspaces", "new", "acme"]);
    remote.ok(&["bucket", "apply", "--maximum-days", "9", "-w", "acme"]);
    let unknown = remote.run(&["bucket", "apply", "--maximum-days", "9", "-w", "none"]);
    assert_eq!(unknown.code, Some(1), "{unknown:?}");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let file = remote.machine.data_dir().join("catalog.sqlite");
        let (location, store) = (CatalogLocation::File(file), remote.store.as_str());
        let clock = std::sync::Arc::new(bailiwick::clock::SystemClock);
        let options = CatalogOptions { location: &location, store, lease_ms: 1, clock };
        let catalog = Catalog::open(options).await.unwrap();
        let hold = serde_json::json!({ "retention_hold": { "value": true } });
        catalog.put_settings(SettingsOf::Deployment, &hold).await.unwrap();
        catalog.close().await;
    });
    let refused = remote.run(&["bucket", "apply", "--maximum-days", "30"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.err.contains("on hold"), "{refused:?}");
    let told = remote.run(&["bucket", "check"]);
    assert!(told.code == Some(1) && told.err.contains("on hold"), "{told:?}");
    remote.ok(&["bucket", "apply", "--maximum-days", "unlimited"]);
    let none = Machine::new().run(&["bucket", "check"]);
    assert!(none.code == Some(1) && none.err.contains("no bucket"), "{none:?}");
}
