//! What a language model is told of the places that its turn has.

use std::fmt::Write as _;

use super::Space;
use crate::scope::{Access, Scope};

/// A place that a turn was to have as a folder, and does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unmounted {
    /// The agent's.
    Agent,
}

impl Space {
    /// A paragraph for a system prompt: what this turn has, what of it lasts, and what to do with
    /// it. It names no id.
    pub fn guidance(&self) -> String {
        self.guidance_without(&[])
    }

    /// As [`Self::guidance`], of a turn that goes on without some of its folders.
    pub fn guidance_without(&self, unmounted: &[Unmounted]) -> String {
        let mounts = self.mounts();
        let access = |scope: Scope<'_>| {
            mounts.iter().find(|mount| mount.scope == scope).map(|mount| mount.access)
        };
        let mut text =
            String::from("You have files, in folders that differ in how long they last.");
        if access(Scope::Session).is_some() {
            text += " `/session`, your working folder, is this conversation's: its files go some time after the conversation has ended.";
        }
        match access(Scope::Agent).filter(|_| !unmounted.contains(&Unmounted::Agent)) {
            Some(Access::ReadWrite) => text += DURABLE,
            Some(Access::ReadOnly) => text += DURABLE_TO_READ,
            None => text += NOT_DURABLE,
        }
        match access(Scope::Workspace) {
            Some(Access::ReadWrite) => {
                text += " `/workspace` is shared with the other agents of the workspace, who see what you write there."
            }
            Some(Access::ReadOnly) => {
                text += " `/workspace` is shared by the agents of the workspace: you can read it and not change it."
            }
            None => {}
        }
        let slugs = mounts.iter().filter_map(|mount| match mount.scope {
            Scope::Skill(slug) => Some(slug),
            Scope::Session | Scope::Agent | Scope::Workspace => None,
        });
        for (number, slug) in slugs.enumerate() {
            let start = if number == 0 { " Skills that you may read: " } else { ", " };
            // Writing to a text cannot fail.
            let _ = write!(text, "{start}`/skill/{slug}/SKILL.md`");
        }
        if !text.ends_with('.') {
            text.push('.');
        }
        text
    }
}

const DURABLE: &str = " `/agent` is your own durable folder (`agent-files` in the working folder is the same): it outlasts every conversation. Keep there what should be known later: decisions and their reasons, results, what you learned about people's wishes. Before you answer what was decided, agreed or found out before, look there first.";
const DURABLE_TO_READ: &str = " `/agent` is your durable folder from earlier conversations: before you answer what was decided, agreed or found out before, look there first. In this turn you cannot change it.";
const NOT_DURABLE: &str = " Your durable folder (`/agent`) is not available in this turn. Nothing in it was lost; say so if somebody asks for what is kept there, and do not promise to keep anything beyond this conversation.";

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use uuid::Uuid;

    use super::*;
    use crate::clock::SystemClock;
    use crate::limits::Limits;
    use crate::scope::{
        AgentId, Coordinates, Grant, MountTable, SessionId, Skill, SkillTable, WorkspaceId,
    };
    use crate::space::Storage;
    use crate::store::MemoryStore;

    fn guidance(grant: Grant, slugs: &[&str], unmounted: &[Unmounted]) -> String {
        let clock = Arc::new(SystemClock);
        let store = Arc::new(MemoryStore::new(clock.clone()));
        let storage = Storage::new(store, clock, Limits::default());
        let workspace = WorkspaceId(Uuid::from_u128(1));
        let coordinates = Coordinates {
            workspace,
            agent: AgentId(Uuid::from_u128(2)),
            session: Some(SessionId(Uuid::from_u128(3))),
        };
        let mut skills = SkillTable::default();
        for slug in slugs {
            let skill = Arc::new(Skill::new(workspace, []).unwrap());
            skills.bind(slug, skill).unwrap();
        }
        storage.space(MountTable::new(coordinates, grant, skills)).guidance_without(unmounted)
    }

    /// A model is told what its turn really has, and nothing of what it has not.
    #[test]
    fn guidance_names_what_a_turn_really_has() {
        let all = Some(Access::ReadWrite);
        let whole = guidance(Grant { agent: all, workspace: all }, &["csv", "pdf"], &[]);
        for part in [
            "`/session`, your working folder",
            "`/agent` is your own durable folder",
            "who see what you write there",
            "`/skill/csv/SKILL.md`, `/skill/pdf/SKILL.md`.",
        ] {
            assert!(whole.contains(part), "{part}: {whole}");
        }
        let reading = Grant { agent: Some(Access::ReadOnly), workspace: Some(Access::ReadOnly) };
        let reading = guidance(reading, &[], &[]);
        assert!(reading.contains("In this turn you cannot change it."), "{reading}");
        assert!(reading.contains("you can read it and not change it"), "{reading}");
        assert!(!reading.contains("Keep there") && !reading.contains("/skill"), "{reading}");
        let nothing = guidance(Grant { agent: None, workspace: None }, &[], &[]);
        let failed = guidance(Grant::default(), &[], &[Unmounted::Agent]);
        for text in [&nothing, &failed] {
            assert!(text.contains("is not available in this turn"), "{text}");
            assert!(text.contains("Nothing in it was lost"), "{text}");
            assert!(!text.contains("Keep there"), "{text}");
        }
        assert!(!nothing.contains("/workspace"), "{nothing}");
        for text in [whole, reading, nothing, failed] {
            assert!(!text.contains("0000"), "no id: {text}");
        }
    }
}
