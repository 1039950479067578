//! What a language model is told of the places that its turn has, and the page that an agent's
//! folder is welcomed with.

use std::fmt;

use super::{Error, File, Space};
use crate::scope::{Access, Scope};
use crate::store::Precondition;

/// A place that a turn was to have as a folder, and does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unmounted {
    /// The agent's.
    Agent,
}

/// What a turn has; as a text, a paragraph for a system prompt. It names no id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guidance {
    /// Whether it is a turn of a conversation.
    pub has_session: bool,
    /// What it may do in the agent's folder.
    pub agent: Option<Access>,
    /// What it may do in the workspace's.
    pub workspace: Option<Access>,
    /// Slugs of the skills that it may read.
    pub skills: Vec<String>,
    /// What could not be set up.
    pub unmounted: Vec<Unmounted>,
}

impl Space {
    /// What this turn has.
    pub fn guidance(&self) -> Guidance {
        let mut guidance = Guidance::default();
        for mount in self.mounts() {
            match mount.scope {
                Scope::Session => guidance.has_session = true,
                Scope::Agent => guidance.agent = Some(mount.access),
                Scope::Workspace => guidance.workspace = Some(mount.access),
                Scope::Skill(slug) => guidance.skills.push(slug.to_owned()),
            }
        }
        guidance
    }

    /// Puts a page into the agent's folder that says what is durable and what is not, unless there
    /// is one.
    ///
    /// # Errors
    /// `conflict` if there is one; as [`Space::write`].
    pub async fn write_welcome(&self) -> Result<File, Error> {
        let page = WELCOME.as_bytes().into();
        self.write("agent/README.md", page, Precondition::IfAbsent).await
    }
}

impl fmt::Display for Guidance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("You have files, in folders that differ in how long they last.")?;
        if self.has_session {
            f.write_str(SESSION)?;
        }
        f.write_str(match self.agent.filter(|_| !self.unmounted.contains(&Unmounted::Agent)) {
            Some(Access::ReadWrite) => DURABLE,
            Some(Access::ReadOnly) => DURABLE_TO_READ,
            None => NOT_DURABLE,
        })?;
        f.write_str(match self.workspace {
            Some(Access::ReadWrite) => SHARED,
            Some(Access::ReadOnly) => SHARED_TO_READ,
            None => "",
        })?;
        if self.skills.is_empty() {
            return Ok(());
        }
        let pages = self.skills.iter().map(|slug| format!("`/skill/{slug}/SKILL.md`"));
        write!(f, " Skills that you may read: {}.", pages.collect::<Vec<_>>().join(", "))
    }
}

const SESSION: &str = " `/session`, your working folder, is this conversation's: its files go some time after the conversation has ended.";
const DURABLE: &str = " `/agent` is your own durable folder (`agent-files` in the working folder is the same): it outlasts every conversation. Keep there what should be known later: decisions and their reasons, results, what you learned about people's wishes. Before you answer what was decided, agreed or found out before, look there first.";
const DURABLE_TO_READ: &str = " `/agent` is your durable folder from other conversations: before you answer what was decided, agreed or found out before, look there first. In this turn you cannot change it.";
const NOT_DURABLE: &str = " Your durable folder (`/agent`) is not available in this turn. Nothing in it was lost; say so if somebody asks for what is kept there, and do not promise to keep anything beyond this conversation.";
const SHARED: &str =
    " `/workspace` is shared with the other agents of the workspace, who see what you write there.";
const SHARED_TO_READ: &str =
    " `/workspace` is shared by the agents of the workspace: you can read it and not change it.";

const WELCOME: &str = "# What lasts here

This folder is the agent's own, and durable: `/agent`, or `agent-files` where a program works. What is
in it is there in every later conversation, until somebody deletes it.

- Durable: everything in this folder. Keep decisions here, with their reasons, results, and whatever
  should be known in later conversations; look here before answering what was decided before.
- Not durable: the working folder, `/session`. It is one conversation's, and goes some time after that
  has ended. What should last is copied here.
- Shared: `/workspace`, for all agents of the workspace. Often it can only be read.

This page was written once, and never will be again. It may be changed or deleted like any other file.
";

#[cfg(test)]
mod tests {
    use super::*;

    /// A model is told what its turn really has, and nothing of what it has not.
    #[test]
    fn guidance_names_what_a_turn_really_has() {
        let all = Some(Access::ReadWrite);
        let skills = ["csv", "pdf"].map(str::to_owned).to_vec();
        let whole = Guidance {
            has_session: true,
            agent: all,
            workspace: all,
            skills,
            unmounted: Vec::new(),
        };
        let text = whole.to_string();
        for part in [
            "`/session`, your working folder",
            "`/agent` is your own durable folder",
            "who see what you write there",
            "`/skill/csv/SKILL.md`, `/skill/pdf/SKILL.md`.",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let read = Some(Access::ReadOnly);
        let reading = Guidance { agent: read, workspace: read, ..Guidance::default() }.to_string();
        assert!(reading.contains("In this turn you cannot change it."), "{reading}");
        assert!(reading.contains("you can read it and not change it"), "{reading}");
        assert!(!reading.contains("Keep there") && !reading.contains("/skill"), "{reading}");
        let nothing = Guidance::default().to_string();
        let failed = Guidance { unmounted: vec![Unmounted::Agent], ..whole }.to_string();
        for text in [&nothing, &failed] {
            assert!(text.contains("is not available in this turn"), "{text}");
            assert!(text.contains("Nothing in it was lost"), "{text}");
            assert!(!text.contains("Keep there"), "{text}");
        }
        assert!(!nothing.contains("/workspace") && !nothing.contains("/session"), "{nothing}");
    }
}
