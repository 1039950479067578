use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

use crate::limits::{LABEL_BYTES_MAX, NAME_BYTES_MAX};

/// What people call a workspace, an agent or a session: 1 to 64 of `A`-`Z`, `a`-`z`, `0`-`9`,
/// `-`, `_` and `.`, the first a letter or a digit, and not what an id looks like. Case counts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

impl Name {
    /// The name as it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a text is not a [`Name`]: a sentence that says the rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// It is empty, too long, or holds something else.
    #[error(
        "a name is 1 to 64 of A-Z, a-z, 0-9, `-`, `_` and `.`, and starts with a letter or a digit"
    )]
    Letters,
    /// Ids are made by the host; a name that looks like one would be taken for it.
    #[error("a name cannot look like a UUID, which is how the host writes its own ids")]
    LooksLikeAnId,
}

impl FromStr for Name {
    type Err = NameError;

    fn from_str(name: &str) -> Result<Self, NameError> {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let starts_well = name.starts_with(|first: char| first.is_ascii_alphanumeric());
        if !starts_well || name.len() > NAME_BYTES_MAX || !name.bytes().all(legal) {
            return Err(NameError::Letters);
        }
        if Uuid::try_parse(name).is_ok() {
            return Err(NameError::LooksLikeAnId);
        }
        Ok(Self(name.to_owned()))
    }
}

/// What others call something of theirs: a subject of tokens, a token, a request. Any text of 1 to
/// 255 bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(String);

impl Label {
    /// The label as it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A text is no [`Label`], by its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("such a name is 1 to 255 bytes long")]
pub struct LabelError;

impl FromStr for Label {
    type Err = LabelError;

    fn from_str(label: &str) -> Result<Self, LabelError> {
        if label.is_empty() || label.len() > LABEL_BYTES_MAX {
            return Err(LabelError);
        }
        Ok(Self(label.to_owned()))
    }
}
