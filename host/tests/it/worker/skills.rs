//! Skills: given to turns, and removed once nobody needs them.

use std::sync::atomic::Ordering;

use bailiwick::api::{Api, Metrics};
use bailiwick::catalog::{AgentComponent, Bind, CatalogError, SkillOf, TurnState};
use bailiwick::limits::{SKILL_GRACE_MS, SKILL_REMOVAL_AGAIN_MS};
use bailiwick::scope::{Deletion, Slug};
use bailiwick::skills::{Collected, PublishError, Publisher, collect_once};
use bailiwick::store::{Depth, ObjectStore as _};
use serde_json::{Value, json};

use super::{AtWork, PATIENCE, Platform};
use crate::api::verifier;
use crate::faulty::{Fault, Plan};
use crate::guests::guest;

fn slug(text: &str) -> Slug {
    text.parse().unwrap()
}

impl Platform {
    /// A version of a skill: its page, and a file with a text.
    async fn publish(&self, called: &str, text: &str) -> Result<(), PublishError> {
        let (catalog, storage) = (self.catalog.clone(), self.storage.clone());
        let mut publisher = Publisher::new(catalog, storage, self.workspace);
        let page = format!("---\nname: {called}\ndescription: x\n---\n");
        publisher.add("SKILL.md".to_owned(), page.into()).await?;
        publisher.add("docs/text".to_owned(), text.to_owned().into()).await?;
        publisher.finish(&slug(called)).await.map(drop)
    }

    async fn bind(&self, called: &str) {
        let bind = Bind { slug: &slug(called), of: SkillOf::Workspace, version: None };
        self.catalog.bind_skill(self.agent, bind).await.unwrap();
    }

    async fn replied(&self, turn: bailiwick::catalog::TurnId) -> Value {
        let ended = self.ended(turn).await;
        assert_eq!(ended.state, TurnState::Done, "{ended:?}");
        serde_json::from_str(&ended.reply.unwrap()).unwrap()
    }

    /// Contents of skills that are stored.
    async fn blobs(&self) -> usize {
        let mut count = 0;
        for prefix in Deletion::Workspace(self.workspace).prefixes() {
            let listing = self.store.list(&prefix, Depth::All, None, 1_000).await.unwrap();
            count += listing.objects.len();
        }
        count
    }

    fn pass(&self, ms: u64) {
        self.clock.0.fetch_add(ms, Ordering::Relaxed);
    }

    async fn collect(&self) -> anyhow::Result<Collected> {
        collect_once(&self.catalog, &self.storage).await
    }

    /// Every file of every version that is listed can be read.
    async fn check_whole(&self, called: &str) {
        let slug = slug(called);
        let versions = self.catalog.skill_versions(self.workspace, &slug, None, 100);
        for version in versions.await.unwrap() {
            let skill = self.catalog.skill(version.id).await.unwrap().unwrap();
            let count = skill.files().len();
            let space = self.space_with(called, skill);
            let listed = space.list(&format!("skill/{called}"), Depth::All, None, 100).await;
            let listed = listed.unwrap();
            assert_eq!(listed.files.len(), count);
            for file in listed.files {
                space.read(&file.path, 0, 100).await.unwrap();
            }
        }
    }

    fn space_with(&self, called: &str, skill: bailiwick::scope::Skill) -> bailiwick::space::Space {
        use bailiwick::scope::{Coordinates, Grant, MountTable, SkillTable};
        let coordinates =
            Coordinates { workspace: self.workspace, agent: self.agent, session: None };
        let mut skills = SkillTable::default();
        skills.bind(called, std::sync::Arc::new(skill)).unwrap();
        self.storage.space(MountTable::new(coordinates, Grant::default(), skills))
    }
}

/// A turn reads the version that was the newest when it was queued, whether or not another one was
/// published before it began; a woken one as well.
#[tokio::test(flavor = "multi_thread")]
async fn a_turn_reads_what_it_was_sent() {
    let Some(script) = guest("script") else { return };
    let platform = Platform::new().await;
    let (session, component) = (platform.session("s").await, platform.upload(&script).await);
    let named = AgentComponent::Pinned(component);
    platform.catalog.set_agent_component(platform.agent, Some(&named)).await.unwrap();
    platform.publish("guide", "old").await.unwrap();
    platform.bind("guide").await;
    let read = json!([
        { "do": "read", "path": "skill/guide/docs/text" },
        { "do": "write", "path": "skill/guide/docs/text", "bytes": "x" },
        { "do": "wake", "after_ms": 0, "input": "[{\"do\":\"read\",\"path\":\"skill/guide/docs/text\"}]" },
    ]);
    let before = platform.ask(session, component, &read.to_string()).await;
    platform.publish("guide", "new").await.unwrap();
    let after = platform.ask(session, component, &read.to_string()).await;
    let work = AtWork::start(platform.worker("one", 4), PATIENCE);
    let (before, after) = (platform.replied(before).await, platform.replied(after).await);
    assert!(before[0].to_string().contains("old"), "{before}");
    assert_eq!(before[1]["error"]["code"], "denied", "{before}");
    assert!(after[0].to_string().contains("new"), "{after}");
    let woken = async {
        loop {
            let turns = platform.catalog.turns(session, 2, 10).await.unwrap();
            if let Some(woken) = turns.first() {
                return platform.replied(woken.id).await;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    let woken = tokio::time::timeout(PATIENCE, woken).await.unwrap();
    work.stop().await;
    assert!(woken[0].to_string().contains("new"), "{woken}");
}

/// A skill that a turn was not sent is not found, and up to ten that it was sent are named.
#[tokio::test(flavor = "multi_thread")]
async fn a_miss_names_up_to_ten_skills_that_there_are() {
    let Some(script) = guest("script") else { return };
    let platform = Platform::new().await;
    let (session, component) = (platform.session("s").await, platform.upload(&script).await);
    platform.publish("unbound", "secret").await.unwrap();
    for number in 10..22 {
        let called = format!("s{number}");
        platform.publish(&called, "x").await.unwrap();
        platform.bind(&called).await;
    }
    let read = json!([
        { "do": "read", "path": "skill/unbound/docs/text" },
        { "do": "read", "path": "skill/nothing/docs/text" },
        { "do": "read", "path": "skill/s21/docs/text" },
    ]);
    let turn = platform.ask(session, component, &read.to_string()).await;
    let work = AtWork::start(platform.worker("one", 4), PATIENCE);
    let replied = platform.replied(turn).await;
    work.stop().await;
    for missed in [&replied[0], &replied[1]] {
        assert_eq!(missed["error"]["code"], "not-found", "{missed}");
        let named = missed["error"]["suggestions"].as_array().unwrap();
        assert_eq!((named.len(), &named[0]), (10, &json!("skill/s10/")), "{missed}");
    }
    assert_eq!(replied[0]["error"]["message"], replied[1]["error"]["message"]);
    assert!(replied[2]["ok"].is_object(), "{replied}");
}

/// Whichever call of the store fails, and however: what is published is whole, publishing it again
/// succeeds, and once nobody needs it nothing is left.
#[tokio::test]
async fn a_fault_at_any_call_loses_no_file_of_a_skill() {
    // The page is there already: nothing is made of it whose answer could be lost.
    for (fault, expected) in [(Fault::Before, 2), (Fault::After, 1)] {
        let mut failed = 0;
        for nth in 0..4 {
            let platform = Platform::new().await;
            platform.publish("guide", "kept").await.unwrap();
            platform.store.plan(Plan::Nth(nth, fault));
            let outcome = platform.publish("guide", "new").await;
            failed += u32::from(outcome.is_err());
            platform.store.plan(Plan::None);
            platform.check_whole("guide").await;
            platform.publish("guide", "new").await.unwrap();
            platform.check_whole("guide").await;

            platform.pass(SKILL_GRACE_MS + 1);
            assert_eq!(platform.collect().await.unwrap(), Collected::default());
            platform.catalog.remove_skill(platform.workspace, &slug("guide")).await.unwrap();
            platform.publish("guide", "kept").await.unwrap();
            platform.pass(SKILL_GRACE_MS + 1);
            platform.store.plan(Plan::Nth(nth, fault));
            let collected = platform.collect().await;
            assert_eq!(collected.is_err(), nth == 0, "{nth} {fault:?}: {collected:?}");
            platform.store.plan(Plan::None);
            platform.check_whole("guide").await;
            platform.pass(SKILL_REMOVAL_AGAIN_MS + 1);
            platform.collect().await.unwrap();
            assert_eq!(platform.blobs().await, 2, "{nth} {fault:?}");
            platform.check_whole("guide").await;
        }
        assert_eq!(failed, expected, "{fault:?}");
    }
}

/// A publish that finds a content in the store is not overtaken by its removal, whichever of the
/// two is between its steps.
#[tokio::test]
async fn publishing_and_collecting_do_not_overtake_one_another() {
    let platform = std::sync::Arc::new(Platform::new().await);
    let lapse = async || {
        platform.publish("guide", "text").await.unwrap();
        platform.catalog.remove_skill(platform.workspace, &slug("guide")).await.unwrap();
        platform.pass(SKILL_GRACE_MS + 1);
    };
    // The collector has decided, and is about to delete.
    lapse().await;
    let (told, other) = (std::sync::Arc::new(std::sync::Mutex::new(None)), platform.clone());
    let outcome = told.clone();
    platform.store.meanwhile(0, async move {
        *outcome.lock().unwrap() = Some(other.publish("guide", "text").await);
    });
    assert_eq!(platform.collect().await.unwrap().contents, 2);
    let refused = told.lock().unwrap().take().unwrap();
    let is_told = matches!(refused, Err(PublishError::Catalog(CatalogError::BeingRemoved)));
    assert!(is_told, "{refused:?}");
    assert_eq!(platform.blobs().await, 0);

    // The publisher has claimed, and is about to look for it in the store.
    lapse().await;
    let other = platform.clone();
    platform.store.meanwhile(0, async move {
        assert_eq!(other.collect().await.unwrap().contents, 0);
    });
    platform.publish("guide", "text").await.unwrap();
    platform.check_whole("guide").await;
    assert_eq!(platform.blobs().await, 2);

    // It takes longer than its claim holds: it is told so, and names nothing that is gone.
    platform.catalog.remove_skill(platform.workspace, &slug("guide")).await.unwrap();
    platform.pass(SKILL_GRACE_MS + 1);
    let other = platform.clone();
    platform.store.meanwhile(1, async move {
        other.pass(SKILL_GRACE_MS + 1);
        assert_eq!(other.collect().await.unwrap().contents, 2);
    });
    let late = platform.publish("guide", "text").await;
    let is_told = matches!(late, Err(PublishError::Catalog(CatalogError::BeingRemoved)));
    assert!(is_told, "{late:?}");
    platform.publish("guide", "text").await.unwrap();
    platform.check_whole("guide").await;
}

/// Nothing is left of a publish that was broken off, after a while.
#[tokio::test]
async fn what_was_never_published_is_removed() {
    let platform = Platform::new().await;
    let (catalog, storage) = (platform.catalog.clone(), platform.storage.clone());
    let mut publisher = Publisher::new(catalog, storage, platform.workspace);
    // More than is held before it is stored.
    for number in 0..9_u8 {
        publisher.add(format!("f{number}"), vec![number; 1 << 20].into()).await.unwrap();
    }
    drop(publisher);
    assert_eq!(platform.blobs().await, 8);
    assert_eq!(platform.collect().await.unwrap(), Collected::default());
    platform.pass(SKILL_GRACE_MS + 1);
    assert_eq!(platform.collect().await.unwrap().contents, 8);
    assert_eq!(platform.blobs().await, 0);
}

/// A process that serves the API removes it by itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_removes_what_nobody_needs() {
    let platform = Platform::new().await;
    platform.publish("guide", "text").await.unwrap();
    platform.catalog.remove_skill(platform.workspace, &slug("guide")).await.unwrap();
    platform.pass(SKILL_GRACE_MS + 1);
    let (catalog, storage) = (platform.catalog.clone(), platform.storage.clone());
    let metrics = Metrics::new().unwrap();
    let api = Api::new(catalog, storage, platform.engine.clone(), verifier(), metrics);
    let collecting = tokio::spawn(api.collecting());
    let gone = async {
        while platform.blobs().await > 0 {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, gone).await.unwrap();
    collecting.abort();
}
