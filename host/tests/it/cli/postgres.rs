use super::super::postgres::Schema;
use super::harness::{Machine, guest_or_skip};

/// People of several machines share one catalog; nothing of it is in their data directories.
#[tokio::test]
async fn machines_share_a_catalog_on_a_server() {
    let guest = guest_or_skip!("ask", "machines_share_a_catalog_on_a_server");
    let Some(schema) = Schema::new().await else { return };
    let (here, there) = (Machine::new(), Machine::new());
    let catalog = schema.url();
    let store = here.path("files");
    std::fs::create_dir(&store).unwrap();
    let shared = ["--catalog", &catalog, "--store", store.to_str().unwrap()];
    let names = ["-w", "acme", "-a", "clerk", "-s", "monday"];
    let asked =
        here.run(&[&["run", &guest, "--input", "chairs"], names.as_slice(), &shared].concat());
    assert_eq!(asked.code, Some(10), "{asked:?}");
    let answer = ["run", "--answer", "yes"];
    let done = there.run(&[answer.as_slice(), &names, &shared].concat());
    assert_eq!((done.code, done.out.as_str()), (Some(0), "Done: chairs\n"), "{done:?}");
    let list = ["sessions", "ls", "--json", "-w", "acme", "-a", "clerk"];
    let listed = here.ok(&[list.as_slice(), &shared].concat());
    assert!(listed.contains("\"latest\":\"done\""), "{listed}");
    assert!(!here.data_dir().join("catalog.sqlite").exists());
}

/// A server that lets nobody in is told in a sentence, without its password.
#[test]
fn a_server_that_cannot_be_reached_is_told_without_its_password() {
    let machine = Machine::new();
    let list = ["workspaces", "ls", "--catalog"];
    for (url, why) in [
        ("postgres://u:hunter2@127.0.0.1:1/db", "Connection refused"),
        ("postgres://u:hunter2@[::bad/db", "cannot be read"),
    ] {
        let told = machine.refused(&[list.as_slice(), &[url]].concat());
        assert!(told.contains(why), "{told}");
        assert!(told.contains("PostgreSQL server cannot be opened"), "{told}");
        assert!(!told.contains("hunter2"), "{told}");
    }
}
