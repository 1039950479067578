use std::sync::Arc;
use std::time::Duration;

use bailiwick::catalog::{
    Catalog, CatalogLocation, CatalogOptions, Enqueue, Event, Name, TurnId, TurnState,
};
use bailiwick::clock::SystemClock;
use bailiwick::scope::{SessionId, Sha256};
use rustix::process::Signal;
use serde_json::json;
use sha2::Digest as _;

use super::super::postgres::Schema;
use super::harness::{Machine, guest_or_skip, signal};
use super::serve::Serving;

const SESSIONS: usize = 50;
const TURNS: usize = 500;
/// Longest that all turns together may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// Two hosts share a queue, and one of them is killed in the middle: every turn ends, once.
#[tokio::test(flavor = "multi_thread")]
async fn every_turn_ends_once_though_a_host_is_killed() {
    let guest = guest_or_skip!("script", "every_turn_ends_once_though_a_host_is_killed");
    let Some(schema) = Schema::new().await else { return };
    let (one, other) = (Machine::new(), Machine::new());
    let store = one.path("files");
    std::fs::create_dir(&store).unwrap();
    let store = store.to_str().unwrap();
    let catalog = open(&schema.url(), store).await;
    let turns = queue(&catalog, &guest).await;
    let url = schema.url();
    let shared = ["--catalog", &url, "--store", store, "--turns", "8", "--lease", "3s"];
    let (killed, survivor) = (Serving::start(&one, &shared), Serving::start(&other, &shared));
    wait_until(&catalog, &turns, TURNS / 5).await;
    signal(killed.child.id(), Signal::KILL);
    wait_until(&catalog, &turns, TURNS).await;
    drop(killed);
    for (session, turn) in &turns {
        let found = catalog.turn(*turn).await.unwrap().unwrap();
        assert_eq!(found.state, TurnState::Done, "{found:?}");
        let events = catalog.events_of_turn(*turn, 0, 256).await.unwrap();
        let ends = events.iter().filter(|event| event.event == Event::State(TurnState::Done));
        assert_eq!(ends.count(), 1, "{session}: {events:?}");
    }
    let (done, log) = survivor.stop();
    assert_eq!(done.code, Some(0), "{log}");
}

async fn open(url: &str, store: &str) -> Catalog {
    let location = CatalogLocation::Server(url.to_owned());
    let clock = Arc::new(SystemClock);
    let options = CatalogOptions { location: &location, store, lease_ms: 3_000, clock };
    Catalog::open(options).await.unwrap()
}

/// Ten turns in each of fifty sessions; each says something and writes a file.
async fn queue(catalog: &Catalog, guest: &str) -> Vec<(SessionId, TurnId)> {
    let bytes = std::fs::read(guest).unwrap();
    let component = Sha256(sha2::Sha256::digest(&bytes).into());
    let name = |text: String| text.parse::<Name>().unwrap();
    let workspace = catalog.make_workspace(&name("acme".to_owned())).await.unwrap().id();
    let script = name("script".to_owned());
    catalog.upload_component(workspace, &script, component, &bytes).await.unwrap();
    let agent = catalog.make_agent(workspace, &name("clerk".to_owned())).await.unwrap().id();
    let mut turns = Vec::new();
    for number in 0..SESSIONS {
        let session = catalog.make_session(agent, &name(format!("s{number}"))).await.unwrap().id();
        for turn in 0..TURNS / SESSIONS {
            let steps = json!([
                { "do": "say", "part": "working" },
                { "do": "write", "path": format!("session/{turn}"), "bytes": "x" },
            ]);
            let (input, request) = (steps.to_string(), None);
            let retries = 3;
            let turn = Enqueue { session, component, input: &input, retries, request };
            turns.push((session, catalog.enqueue(turn).await.unwrap().id()));
        }
    }
    turns
}

/// Waits until so many turns are over.
async fn wait_until(catalog: &Catalog, turns: &[(SessionId, TurnId)], count: usize) {
    let over = async {
        let mut left: Vec<_> = turns.iter().map(|(_, turn)| *turn).collect();
        while turns.len() - left.len() < count {
            let mut still = Vec::new();
            for turn in left {
                let state = catalog.turn(turn).await.unwrap().unwrap().state;
                if !matches!(state, TurnState::Done | TurnState::Failed) {
                    still.push(turn);
                }
            }
            left = still;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, over).await.unwrap();
}
