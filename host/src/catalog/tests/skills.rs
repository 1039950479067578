use std::collections::BTreeSet;

use super::*;
use crate::limits::{AGENT_SKILLS_MAX, SKILL_GRACE_MS, SKILL_REMOVAL_AGAIN_MS};
use crate::scope::{Skill, SkillFile, Slug};

fn slug(text: &str) -> Slug {
    text.parse().unwrap()
}

/// Files by their paths and the number that stands for their content.
pub(super) fn skill(owner: WorkspaceId, files: &[(&str, u8)]) -> Skill {
    let file = |(path, number): &(&str, u8)| {
        let sha256 = Sha256([*number; 32]);
        ((*path).to_owned(), SkillFile { sha256, size: u64::from(*number), modified_ms: 0 })
    };
    Skill::new(owner, files.iter().map(file)).unwrap()
}

pub(super) async fn claim(catalog: &Catalog, skill: &Skill) -> Result<(), CatalogError> {
    let contents: BTreeSet<Sha256> = skill.files().values().map(|file| file.sha256).collect();
    catalog.claim_blobs(skill.owner(), &contents).await
}

async fn publish(
    catalog: &Catalog,
    called: &str,
    skill: &Skill,
) -> Result<Made<SkillVersion>, CatalogError> {
    claim(catalog, skill).await?;
    catalog.publish(NewVersion { slug: &slug(called), description: "what for", skill }).await
}

async fn published(catalog: &Catalog, owner: WorkspaceId, called: &str, number: u8) -> u64 {
    let files = skill(owner, &[("SKILL.md", number)]);
    match publish(catalog, called, &files).await.unwrap() {
        Made::New(version) | Made::Found(version) => version.number,
    }
}

async fn give(desk: &Desk, agent: AgentId, called: &str, of: SkillOf, version: Option<u64>) {
    let slug = slug(called);
    desk.catalog.bind_skill(agent, Bind { slug: &slug, of, version }).await.unwrap();
}

/// What a turn was sent: slugs, and the content of the page of each.
async fn sent(desk: &Desk, turn: TurnId) -> Vec<(String, u8)> {
    let mut sent = Vec::new();
    for (slug, version) in desk.catalog.skills_of(turn).await.unwrap() {
        let skill = desk.catalog.skill(version).await.unwrap().unwrap();
        sent.push((slug, skill.files()["SKILL.md"].sha256.0[0]));
    }
    sent
}

fn pdf(number: u8) -> Vec<(String, u8)> {
    vec![("pdf".to_owned(), number)]
}

async fn condemned(catalog: &Catalog) -> Vec<u8> {
    let condemned = catalog.condemn_blobs(100).await.unwrap();
    catalog.settle_blobs(&condemned).await.unwrap();
    let mut numbers: Vec<_> = condemned.iter().map(|one| one.sha256.0[0]).collect();
    numbers.sort_unstable();
    numbers
}

on_both! {
    /// Versions are numbered as they come; the files that the newest has are no new one.
    async fn the_same_files_are_no_new_version(desk: &Desk) {
        let (workspace, _, _) = desk.session().await;
        let (catalog, called) = (&desk.catalog, slug("pdf"));
        let first = skill(workspace, &[("SKILL.md", 1), ("a/b.bin", 2)]);
        let Made::New(one) = publish(catalog, "pdf", &first).await.unwrap() else { panic!() };
        assert_eq!((one.number, one.files, one.size), (1, 2, 3));
        desk.pass(5);
        assert_eq!(publish(catalog, "pdf", &first).await.unwrap(), Made::Found(one.clone()));
        let renamed = skill(workspace, &[("SKILL.md", 1), ("a/c.bin", 2)]);
        let Made::New(two) = publish(catalog, "pdf", &renamed).await.unwrap() else { panic!() };
        assert_eq!((two.number, two.created_ms), (2, START_MS + 5));
        let again = publish(catalog, "pdf", &first).await.unwrap();
        assert!(matches!(again, Made::New(ref three) if three.number == 3), "{again:?}");
        assert_eq!(catalog.skill(one.id).await.unwrap().unwrap().files().len(), 2);

        published(catalog, workspace, "csv", 9).await;
        let listed = catalog.skills(workspace, Page::ALL).await.unwrap();
        let listed: Vec<_> = listed.iter().map(|one| (one.slug.as_str(), one.number)).collect();
        assert_eq!(listed, [("csv", 1), ("pdf", 3)]);
        let after = Page::after_slug(Some(&called), 10);
        assert_eq!(catalog.skills(workspace, after).await.unwrap(), []);
        let versions = catalog.skill_versions(workspace, &called, Some(3), 1).await.unwrap();
        assert_eq!(versions, [two]);
        assert_eq!(catalog.skill_version(workspace, &called, 1).await.unwrap(), Some(one));
        assert_eq!(catalog.skill_version(workspace, &called, 4).await.unwrap(), None);
    }

    /// Another workspace's skill of the same slug is another one, and so is one made again.
    async fn a_skill_is_its_workspaces_own(desk: &Desk) {
        let (workspace, _, _) = desk.session().await;
        let other = desk.catalog.make_workspace(&name("other")).await.unwrap().id();
        published(&desk.catalog, workspace, "pdf", 1).await;
        assert_eq!(published(&desk.catalog, other, "pdf", 1).await, 1);
        assert_eq!(desk.catalog.skills(other, Page::ALL).await.unwrap().len(), 1);
        let called = slug("pdf");
        desk.catalog.remove_skill(other, &called).await.unwrap();
        let again = desk.catalog.remove_skill(other, &called).await;
        assert!(matches!(again, Err(CatalogError::NoSkill)), "{again:?}");
        assert_eq!(desk.catalog.skills(other, Page::ALL).await.unwrap(), []);
        assert_eq!(desk.catalog.skills(workspace, Page::ALL).await.unwrap().len(), 1);
        assert_eq!(published(&desk.catalog, other, "pdf", 2).await, 1);
        let gone = skill(WorkspaceId(new_id()), &[("SKILL.md", 1)]);
        let late = publish(&desk.catalog, "pdf", &gone).await;
        assert!(matches!(late, Err(CatalogError::Deleted)), "{late:?}");
    }

    /// A turn is sent what its agent was given when it was queued, whatever is published, bound or
    /// deleted later: whether it was asked for, woken, or answers a question.
    async fn a_turn_is_sent_what_was_bound_when_it_was_queued(desk: &Desk) {
        let (agent, session) = desk.ready().await;
        let (workspace, _, _) = desk.session().await;
        let catalog = &desk.catalog;
        published(catalog, workspace, "pdf", 1).await;
        give(desk, agent, "pdf", SkillOf::Workspace, None).await;
        let first = catalog.enqueue(turn_of(session)).await.unwrap().id();
        published(catalog, workspace, "pdf", 2).await;
        let second = catalog.enqueue(turn_of(session)).await.unwrap().id();
        catalog.add_wakeup(session, &When::At(0), "woken").await.unwrap();
        let due = catalog.due_wakeups(1).await.unwrap();
        let woken = catalog.fire(&due[0], 0).await.unwrap().unwrap();
        give(desk, agent, "pdf", SkillOf::Workspace, Some(1)).await;
        let pinned = catalog.enqueue(turn_of(session)).await.unwrap().id();
        for (turn, number) in [(first, 1), (second, 2), (woken, 2), (pinned, 1)] {
            assert_eq!(sent(desk, turn).await, pdf(number));
        }
        let asking = claim_one(catalog).await.lease;
        assert_eq!(asking.turn, first);
        catalog.finish_turn(asking, &asked("which?")).await.unwrap();
        assert!(catalog.unbind_skill(agent, &slug("pdf"), SkillOf::Workspace).await.unwrap());
        catalog.remove_skill(workspace, &slug("pdf")).await.unwrap();
        let answer = catalog.resume(answer_to(first)).await.unwrap().id();
        assert_eq!(sent(desk, answer).await, pdf(1), "as the one that asked");
        assert_eq!(sent(desk, second).await, pdf(2));
        let last = catalog.enqueue(turn_of(session)).await.unwrap().id();
        assert_eq!(sent(desk, last).await, []);
    }

    /// A process that runs a turn itself gives it skills of its own, which come first.
    async fn a_turn_that_is_begun_has_its_own_skills_first(desk: &Desk) {
        let (agent, session) = desk.ready().await;
        let (workspace, _, _) = desk.session().await;
        let catalog = &desk.catalog;
        published(catalog, workspace, "pdf", 1).await;
        published(catalog, workspace, "csv", 2).await;
        give(desk, agent, "pdf", SkillOf::Workspace, None).await;
        give(desk, agent, "csv", SkillOf::Workspace, None).await;
        let files = skill(workspace, &[("SKILL.md", 7)]);
        let own = NewVersion { slug: &slug("pdf"), description: "", skill: &files };
        let early = catalog.keep_unlisted(own).await;
        assert!(matches!(early, Err(CatalogError::BeingRemoved)), "{early:?}");
        claim(catalog, &files).await.unwrap();
        let given = catalog.keep_unlisted(own).await.unwrap();
        assert_eq!(catalog.keep_unlisted(own).await.unwrap(), given);
        let skills = &[given];
        let lease = catalog.start_turn(Start { skills, ..start(session) }).await.unwrap();
        let both = [("pdf".to_owned(), 7), ("csv".to_owned(), 2)];
        assert_eq!(sent(desk, lease.turn).await, both);
        catalog.finish_turn(lease, &asked("which?")).await.unwrap();
        let answer = Some(Answer { question: lease.turn, text: "that" });
        let answering = catalog.start_turn(Start { answer, ..start(session) }).await.unwrap();
        assert_eq!(sent(desk, answering.turn).await, both);
        assert_eq!(catalog.skills(workspace, Page::ALL).await.unwrap().len(), 2, "it is not listed");
        let unknown = &[VersionId(new_id())];
        catalog.finish_turn(answering, &replied()).await.unwrap();
        let refused = catalog.start_turn(Start { skills: unknown, ..start(session) }).await;
        assert!(matches!(refused, Err(CatalogError::NoSkill)), "{refused:?}");
    }

    /// Agents are given skills of their own workspace, and of the platform's; no others.
    async fn skills_of_others_are_the_platforms_alone(desk: &Desk) {
        let (agent, session) = desk.ready().await;
        let platform = desk.catalog.make_workspace(&name("platform")).await.unwrap().id();
        let stranger = desk.catalog.make_workspace(&name("stranger")).await.unwrap().id();
        published(&desk.catalog, platform, "pdf", 1).await;
        published(&desk.catalog, stranger, "secret", 2).await;
        let bind = async |called: &str, of| {
            let slug = slug(called);
            desk.catalog.bind_skill(agent, Bind { slug: &slug, of, version: None }).await
        };
        for of in [SkillOf::Workspace, SkillOf::Platform] {
            let refused = bind("pdf", of).await;
            assert!(matches!(refused, Err(CatalogError::NoSkill)), "{refused:?}");
        }
        desk.catalog.set_platform_workspace(Some(platform)).await.unwrap();
        assert_eq!(desk.catalog.platform_workspace().await.unwrap(), Some(platform));
        bind("pdf", SkillOf::Platform).await.unwrap();
        for (called, of) in [
            ("pdf", SkillOf::Workspace), ("secret", SkillOf::Platform), ("secret", SkillOf::Workspace),
        ] {
            let refused = bind(called, of).await;
            assert!(matches!(refused, Err(CatalogError::NoSkill)), "{refused:?}");
        }
        let turn = desk.catalog.enqueue(turn_of(session)).await.unwrap().id();
        assert_eq!(sent(desk, turn).await, pdf(1));
        // Once it is not the platform's, it is sent no more, and that is told.
        desk.catalog.set_platform_workspace(Some(stranger)).await.unwrap();
        let later = desk.catalog.enqueue(turn_of(session)).await.unwrap().id();
        assert_eq!(sent(desk, later).await, []);
        let told = desk.catalog.events_of_turn(later, 0, 10).await.unwrap();
        let is_told = |event: &Event| matches!(event, Event::Logged { message, .. } if message.contains("`pdf`"));
        assert!(told.iter().any(|one| is_told(&one.event)), "{told:?}");
        let bindings = desk.catalog.bindings(agent).await.unwrap();
        assert_eq!((bindings[0].of, bindings[0].sent), (SkillOf::Platform, None));
        assert!(desk.catalog.unbind_skill(agent, &slug("pdf"), SkillOf::Platform).await.unwrap());

        let elsewhere = desk.another("elsewhere").await;
        let foreign = elsewhere.set_platform_workspace(Some(platform)).await;
        assert!(matches!(foreign, Err(CatalogError::Deleted)), "{foreign:?}");
        desk.catalog.remove_workspace(stranger).await.unwrap();
        assert_eq!(desk.catalog.platform_workspace().await.unwrap(), None);
    }

    /// Of two skills with one slug the first bound is sent, and the turn tells of the other.
    async fn of_two_with_one_slug_the_first_is_sent(desk: &Desk) {
        let (agent, session) = desk.ready().await;
        let (workspace, _, _) = desk.session().await;
        let platform = desk.catalog.make_workspace(&name("platform")).await.unwrap().id();
        desk.catalog.set_platform_workspace(Some(platform)).await.unwrap();
        published(&desk.catalog, platform, "pdf", 1).await;
        published(&desk.catalog, workspace, "pdf", 2).await;
        give(desk, agent, "pdf", SkillOf::Platform, None).await;
        give(desk, agent, "pdf", SkillOf::Workspace, None).await;
        // To bind one again moves it nowhere.
        give(desk, agent, "pdf", SkillOf::Platform, Some(1)).await;
        let turn = desk.catalog.enqueue(turn_of(session)).await.unwrap().id();
        assert_eq!(sent(desk, turn).await, pdf(1));
        let events = desk.catalog.events_of_turn(turn, 0, 10).await.unwrap();
        let [queued, told] = events.as_slice() else { panic!("{events:?}") };
        assert_eq!(queued.event, Event::State(TurnState::Queued));
        let Event::Logged { level: LogLevel::Warn, message } = &told.event else {
            panic!("{told:?}")
        };
        assert!(message.contains("`pdf`") && message.contains("version 1 of the other"), "{message}");
        let bindings = desk.catalog.bindings(agent).await.unwrap();
        let shown: Vec<_> = bindings.iter().map(|one| (one.of, one.version, one.sent)).collect();
        let expected =
            [(SkillOf::Platform, Some(1), Some(1)), (SkillOf::Workspace, None, None)];
        assert_eq!(shown, expected);
        desk.catalog.unbind_skill(agent, &slug("pdf"), SkillOf::Platform).await.unwrap();
        let turn = desk.catalog.enqueue(turn_of(session)).await.unwrap().id();
        assert_eq!(sent(desk, turn).await, pdf(2));
    }

    async fn bindings_are_bounded_and_refused_for_what_is_not_there(desk: &Desk) {
        let (workspace, agent, _) = desk.session().await;
        published(&desk.catalog, workspace, "pdf", 1).await;
        let called = slug("pdf");
        let bind = |version| Bind { slug: &called, of: SkillOf::Workspace, version };
        for version in [Some(0), Some(2), Some(u64::MAX)] {
            let refused = desk.catalog.bind_skill(agent, bind(version)).await;
            assert!(matches!(refused, Err(CatalogError::NoSkill)), "{refused:?}");
        }
        let nobody = desk.catalog.bind_skill(AgentId(new_id()), bind(None)).await;
        assert!(matches!(nobody, Err(CatalogError::Deleted)), "{nobody:?}");
        for number in 0..AGENT_SKILLS_MAX {
            let called = format!("s{number}");
            published(&desk.catalog, workspace, &called, 1).await;
            give(desk, agent, &called, SkillOf::Workspace, None).await;
        }
        let more = desk.catalog.bind_skill(agent, bind(None)).await;
        assert!(matches!(more, Err(CatalogError::TooMany { .. })), "{more:?}");
        let order: Vec<_> = desk.catalog.bindings(agent).await.unwrap();
        assert_eq!((order[0].slug.as_str(), order[63].slug.as_str()), ("s0", "s63"));
        // What is deleted is given to nobody.
        desk.catalog.remove_skill(workspace, &slug("s0")).await.unwrap();
        assert_eq!(desk.catalog.bindings(agent).await.unwrap().len(), 63);
        assert!(!desk.catalog.unbind_skill(agent, &slug("s0"), SkillOf::Workspace).await.unwrap());
    }

    /// Contents go once no version needs them and their claim is over; those stay that a version
    /// or a turn needs that has not ended.
    async fn contents_stay_for_as_long_as_somebody_needs_them(desk: &Desk) {
        let (agent, session) = desk.ready().await;
        let (workspace, _, _) = desk.session().await;
        let catalog = &desk.catalog;
        let both = skill(workspace, &[("SKILL.md", 1), ("shared", 2)]);
        publish(catalog, "pdf", &both).await.unwrap();
        publish(catalog, "csv", &skill(workspace, &[("SKILL.md", 3), ("shared", 2)])).await.unwrap();
        claim(catalog, &skill(workspace, &[("never published", 4)])).await.unwrap();
        give(desk, agent, "pdf", SkillOf::Workspace, None).await;
        let turn = catalog.enqueue(turn_of(session)).await.unwrap().id();
        catalog.remove_skill(workspace, &slug("pdf")).await.unwrap();
        let collect = async || {
            let dropped = catalog.drop_unlisted_versions(100).await.unwrap();
            (dropped, condemned(catalog).await)
        };
        assert_eq!(collect().await, (0, vec![]), "within the grace");
        desk.pass(SKILL_GRACE_MS + 1);
        assert_eq!(collect().await, (0, vec![4]), "the turn needs the others");
        assert_eq!(sent(desk, turn).await, pdf(1));
        let lease = claim_one(catalog).await.lease;
        assert_eq!(collect().await, (0, vec![]), "it runs");
        catalog.finish_turn(lease, &asked("which?")).await.unwrap();
        assert_eq!(collect().await, (0, vec![]), "its question can be answered");
        catalog.cancel(turn).await.unwrap();
        assert_eq!(collect().await, (1, vec![1]), "what is shared stays");
        assert_eq!(sent(desk, turn).await, []);
        catalog.remove_workspace(workspace).await.unwrap();
        assert_eq!(collect().await, (0, vec![2, 3]));
        assert_eq!(desk.count("select count(*) from skill_blobs").await, 0);
        assert_eq!(desk.count("select count(*) from skill_version_files").await, 0);
    }

    /// What is being removed cannot be claimed until it is gone, and what is claimed is not removed.
    async fn a_content_is_either_claimed_or_removed(desk: &Desk) {
        let (workspace, _, _) = desk.session().await;
        let (catalog, other) = (&desk.catalog, desk.another("files").await);
        let files = skill(workspace, &[("SKILL.md", 1)]);
        claim(catalog, &files).await.unwrap();
        desk.pass(SKILL_GRACE_MS + 1);
        claim(catalog, &files).await.unwrap();
        assert!(catalog.condemn_blobs(10).await.unwrap().is_empty(), "it was claimed again");
        desk.pass(SKILL_GRACE_MS + 1);
        let condemned = catalog.condemn_blobs(10).await.unwrap();
        assert_eq!(condemned.len(), 1);
        let refused = claim(&other, &files).await;
        assert!(matches!(refused, Err(CatalogError::BeingRemoved)), "{refused:?}");
        // Who claimed it before, and was too slow, is told so.
        let late = NewVersion { slug: &slug("pdf"), description: "x", skill: &files };
        let refused = other.publish(late).await;
        assert!(matches!(refused, Err(CatalogError::BeingRemoved)), "{refused:?}");
        // The host that began to remove it is gone: another one does it again, much later.
        assert!(other.condemn_blobs(10).await.unwrap().is_empty());
        desk.pass(SKILL_REMOVAL_AGAIN_MS + 1);
        let again = other.condemn_blobs(10).await.unwrap();
        assert_eq!(again.len(), 1);
        catalog.settle_blobs(&condemned).await.unwrap();
        let refused = claim(catalog, &files).await;
        assert!(matches!(refused, Err(CatalogError::BeingRemoved)), "it is not the first one's");
        other.settle_blobs(&again).await.unwrap();
        publish(catalog, "pdf", &files).await.unwrap();
    }

    /// However publishing and removing fall together, no version is without its contents' rows.
    async fn publishing_races_with_removing(desk: &Desk) {
        let (workspace, _, _) = desk.session().await;
        let other = desk.another("files").await;
        let publishing = async {
            for round in 0..40_u8 {
                let files = skill(workspace, &[("SKILL.md", round % 4), ("a", 9)]);
                match publish(&desk.catalog, "pdf", &files).await {
                    Ok(_) | Err(CatalogError::BeingRemoved) => {}
                    Err(error) => panic!("{error}"),
                }
                desk.pass(SKILL_GRACE_MS + 1);
                if round % 3 == 0 {
                    desk.catalog.remove_skill(workspace, &slug("pdf")).await.ok();
                }
            }
        };
        let removing = async {
            for _ in 0..40 {
                other.drop_unlisted_versions(10).await.unwrap();
                let condemned = other.condemn_blobs(10).await.unwrap();
                other.settle_blobs(&condemned).await.unwrap();
            }
        };
        futures::join!(publishing, removing);
        let condemned = "select count(*) from skill_version_files join skill_blobs
            on skill_blobs.workspace_id = skill_version_files.workspace_id
                and skill_blobs.sha256 = skill_version_files.sha256
            where condemned_ms is not null";
        assert_eq!(desk.count(condemned).await, 0);
    }

    /// However queueing turns falls together with publishing, deleting and removing skills, each
    /// turn that is queued has what it was sent, or was sent nothing.
    async fn queueing_races_with_skills_that_come_and_go(desk: &Desk) {
        let (agent, session) = desk.ready().await;
        let (workspace, _, _) = desk.session().await;
        let [other, third] = [desk.another("files").await, desk.another("files").await];
        let coming_and_going = async {
            for round in 0..30_u8 {
                let files = skill(workspace, &[("SKILL.md", round % 3)]);
                match publish(&other, "pdf", &files).await {
                    Ok(_) | Err(CatalogError::BeingRemoved) => {}
                    Err(error) => panic!("{error}"),
                }
                let called = slug("pdf");
                let bind = Bind { slug: &called, of: SkillOf::Workspace, version: None };
                match other.bind_skill(agent, bind).await {
                    Ok(()) | Err(CatalogError::NoSkill) => {}
                    Err(error) => panic!("{error}"),
                }
                desk.pass(SKILL_GRACE_MS + 1);
                if round % 2 == 0 {
                    other.remove_skill(workspace, &called).await.ok();
                }
            }
        };
        let queueing = async {
            let mut queued = Vec::new();
            for _ in 0..30 {
                queued.push(desk.catalog.enqueue(turn_of(session)).await.unwrap().id());
            }
            queued
        };
        let removing = async {
            for _ in 0..30 {
                third.drop_unlisted_versions(10).await.unwrap();
                let condemned = third.condemn_blobs(10).await.unwrap();
                third.settle_blobs(&condemned).await.unwrap();
            }
        };
        let ((), queued, ()) = futures::join!(coming_and_going, queueing, removing);
        for turn in queued {
            assert!(sent(desk, turn).await.len() <= 1);
        }
    }
}
