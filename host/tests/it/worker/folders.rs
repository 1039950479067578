//! What a program finds in its folders before it begins.

use bailiwick::catalog::{Event, LogLevel, TurnState};
use bailiwick::scope::Grant;
use bailiwick::store::Precondition;
use bailiwick::worker::Mounting;
use serde_json::json;

use super::{AtWork, PATIENCE, Platform};
use crate::faulty::{Fault, Plan};
use crate::guests::program;

impl Platform {
    async fn space(&self) -> bailiwick::space::Space {
        use bailiwick::scope::{Coordinates, MountTable, SkillTable};
        let coordinates =
            Coordinates { workspace: self.workspace, agent: self.agent, session: None };
        self.storage.space(MountTable::new(coordinates, Grant::default(), SkillTable::default()))
    }
}

/// An agent's folder gets a page that explains it with its first program, once in the agent's life:
/// not again when it was deleted, and not over one that is there.
#[tokio::test(flavor = "multi_thread")]
async fn an_agents_folder_is_welcomed_once() {
    let Some(program) = program("folders") else { return };
    let platform = Platform::new().await;
    let (session, component) = (platform.session("s").await, platform.upload(&program).await);
    let work = AtWork::start(platform.worker("one", 1), PATIENCE);
    let steps = json!([["ls", "/agent"]]).to_string();
    let first = platform.ask(session, component, &steps).await;
    let first = platform.ended(first).await;
    assert!(first.reply.is_some_and(|reply| reply.contains("README.md")));
    let page = platform.read(session, "agent/README.md").await.unwrap();
    assert!(String::from_utf8(page).unwrap().contains("Not durable: the working folder"));
    let space = platform.space().await;
    space.delete("agent/README.md", Precondition::Always).await.unwrap();
    let again = platform.ask(platform.session("t").await, component, &steps).await;
    platform.ended(again).await;
    assert!(platform.read(session, "agent/README.md").await.is_none());
    work.stop().await;
}

/// Where the folder cannot be set up, the turn goes on without it and says so, unless it is
/// required; the next one tries again.
#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_cannot_be_set_up_is_gone_without() {
    let Some(program) = program("folders") else { return };
    let platform = Platform::new().await;
    let (session, component) = (platform.session("s").await, platform.upload(&program).await);
    let steps = json!([["raw-folders"], ["lstat", "agent-files"]]).to_string();
    for (mounting, state) in
        [(Mounting::Required, TurnState::Failed), (Mounting::BestEffort, TurnState::Done)]
    {
        platform.store.plan(Plan::Nth(0, Fault::Before));
        let turn = platform.ask(session, component, &steps).await;
        let work = AtWork::start(platform.mounting_worker("one", mounting), PATIENCE);
        let ended = platform.ended(turn).await;
        work.stop().await;
        assert_eq!(ended.state, state, "{ended:?}");
        let events = platform.events(turn).await;
        let is_told = events.iter().any(|event| {
            matches!(event, Event::Logged { level: LogLevel::Warn, message }
                if message.contains("`/agent` could not be set up"))
        });
        match mounting {
            Mounting::Required => assert_eq!(ended.failure.as_deref(), Some("host-fault")),
            Mounting::BestEffort => {
                assert!(is_told, "{events:?}");
                let reply = ended.reply.unwrap();
                assert!(reply.contains(r#"["/session","/workspace","/"]"#), "{reply}");
                assert!(reply.contains("NotFound"), "{reply}");
            }
        }
    }
    let work = AtWork::start(platform.worker("one", 1), PATIENCE);
    let turn = platform.ask(session, component, &steps).await;
    let ended = platform.ended(turn).await;
    work.stop().await;
    assert!(ended.reply.unwrap().contains("/agent"));
    assert!(platform.read(session, "agent/README.md").await.is_some());
}
