//! What a token may allow.

use std::fmt;

/// One right that a token can carry. A closed set: a word that is not among them grants nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Authority {
    /// See sessions, their turns and who takes part.
    SessionsRead,
    /// Make and delete sessions, and say who takes part. Implies [`Self::SessionsRead`].
    SessionsWrite,
    /// Read `agent/` files.
    AgentFilesRead,
    /// Change `agent/` files. Implies [`Self::AgentFilesRead`].
    AgentFilesWrite,
    /// Read `workspace/` files.
    WorkspaceFilesRead,
    /// Change `workspace/` files. Implies [`Self::WorkspaceFilesRead`].
    WorkspaceFilesWrite,
    /// See skills.
    SkillsRead,
    /// Publish skills. Implies [`Self::SkillsRead`].
    SkillsWrite,
    /// Say how long things are kept.
    RetentionWrite,
    /// Make and delete workspaces and agents, set their settings, revoke tokens. Implies no
    /// other right: not even that of reading a file.
    Admin,
}

impl Authority {
    /// Every one, in the order of the documentation.
    pub const ALL: [Self; 10] = [
        Self::SessionsRead,
        Self::SessionsWrite,
        Self::AgentFilesRead,
        Self::AgentFilesWrite,
        Self::WorkspaceFilesRead,
        Self::WorkspaceFilesWrite,
        Self::SkillsRead,
        Self::SkillsWrite,
        Self::RetentionWrite,
        Self::Admin,
    ];

    /// The word for it in a token.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SessionsRead => "sessions:read",
            Self::SessionsWrite => "sessions:write",
            Self::AgentFilesRead => "storage:agent:read",
            Self::AgentFilesWrite => "storage:agent:write",
            Self::WorkspaceFilesRead => "storage:workspace:read",
            Self::WorkspaceFilesWrite => "storage:workspace:write",
            Self::SkillsRead => "skills:read",
            Self::SkillsWrite => "skills:write",
            Self::RetentionWrite => "retention:write",
            Self::Admin => "admin",
        }
    }

    /// The authority of that word, if there is one.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|authority| authority.as_str() == word)
    }

    /// What whoever may do this may do as well.
    fn implied(self) -> Option<Self> {
        match self {
            Self::SessionsWrite => Some(Self::SessionsRead),
            Self::AgentFilesWrite => Some(Self::AgentFilesRead),
            Self::WorkspaceFilesWrite => Some(Self::WorkspaceFilesRead),
            Self::SkillsWrite => Some(Self::SkillsRead),
            Self::SessionsRead
            | Self::AgentFilesRead
            | Self::WorkspaceFilesRead
            | Self::SkillsRead
            | Self::RetentionWrite
            | Self::Admin => None,
        }
    }

    fn bit(self) -> u16 {
        1 << self as u16
    }
}

impl fmt::Display for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A set of authorities, with all that they imply. Empty by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Authorities(u16);

impl Authorities {
    /// Whether it has one.
    pub fn has(self, authority: Authority) -> bool {
        self.0 & authority.bit() != 0
    }

    /// Whether it has any of these.
    pub fn has_any(self, wanted: &[Authority]) -> bool {
        wanted.iter().any(|authority| self.has(*authority))
    }
}

impl FromIterator<Authority> for Authorities {
    fn from_iter<I: IntoIterator<Item = Authority>>(authorities: I) -> Self {
        let with_implied = |authority: Authority| [Some(authority), authority.implied()];
        let all = authorities.into_iter().flat_map(with_implied).flatten();
        Self(all.fold(0, |bits, authority| bits | authority.bit()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writing implies reading of the same, and nothing implies anything else.
    #[test]
    fn writing_implies_reading_and_nothing_else_is_implied() {
        for one in Authority::ALL {
            let held: Authorities = [one].into_iter().collect();
            let word = one.as_str();
            for other in Authority::ALL {
                let implied = word.strip_suffix(":write").map(|what| format!("{what}:read"));
                let expected = other == one || implied.as_deref() == Some(other.as_str());
                assert_eq!(held.has(other), expected, "{one} and {other}");
            }
        }
    }

    /// A word is known in one spelling.
    #[test]
    fn a_word_that_is_not_known_is_no_authority() {
        for word in ["", "Admin", "admin ", "sessions", "sessions:*", "storage:*:read", "*"] {
            assert_eq!(Authority::parse(word), None, "{word:?}");
        }
        for authority in Authority::ALL {
            assert_eq!(Authority::parse(authority.as_str()), Some(authority));
        }
    }
}
