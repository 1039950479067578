//! The skills of a turn: immutable packages, their files named by content.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::path::check_rest;
use super::{Refusal, WorkspaceId};
use crate::limits::SLUG_BYTES_MAX;

/// A SHA-256: of the bytes of a skill's file, or of what was removed.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Sha256(pub [u8; 32]);

impl From<Sha256> for String {
    fn from(sha256: Sha256) -> Self {
        sha256.to_string()
    }
}

impl TryFrom<String> for Sha256 {
    type Error = NoSha256;

    fn try_from(hexadecimal: String) -> Result<Self, NoSha256> {
        hexadecimal.parse()
    }
}

/// Hexadecimal digits of a [`Sha256`].
pub(super) const HEX_BYTES: usize = 64;

impl Sha256 {
    /// Its lower-case hexadecimal digits, written into `digits`.
    pub(super) fn write_hex<'b>(&self, digits: &'b mut [u8; HEX_BYTES]) -> &'b str {
        const DIGITS: [u8; 16] = *b"0123456789abcdef";
        for (pair, byte) in digits.chunks_exact_mut(2).zip(self.0) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 0xf)];
        }
        // Digits are ASCII.
        std::str::from_utf8(digits).unwrap_or_default()
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.write_hex(&mut [0; HEX_BYTES]))
    }
}

/// What is no SHA-256 in hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no SHA-256 in hexadecimal digits")]
pub struct NoSha256;

impl FromStr for Sha256 {
    type Err = NoSha256;

    /// Reads 64 hexadecimal digits.
    fn from_str(hexadecimal: &str) -> Result<Self, NoSha256> {
        let digits = hexadecimal.as_bytes();
        let mut bytes = [0; 32];
        if digits.len() != 2 * bytes.len() {
            return Err(NoSha256);
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |at: usize| char::from(pair[at]).to_digit(16).ok_or(NoSha256);
            *byte = u8::try_from(digit(0)? << 4 | digit(1)?).map_err(|_| NoSha256)?;
        }
        Ok(Self(bytes))
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// One file of a skill's version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkillFile {
    /// Its content.
    pub sha256: Sha256,
    /// Its bytes.
    pub size: u64,
    /// When the version was published, in milliseconds since the Unix epoch.
    pub modified_ms: u64,
}

/// What a skill is called: 1 to 64 of `a` to `z`, `0` to `9` and `-`, of which no `-` starts it, ends
/// it or follows another. <https://agentskills.io/specification>
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slug(String);

impl Slug {
    /// The slug as it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Slug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Slug {
    type Err = Refusal;

    fn from_str(slug: &str) -> Result<Self, Refusal> {
        let legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let is_whole = !slug.starts_with('-') && !slug.ends_with('-') && !slug.contains("--");
        if slug.is_empty() || slug.len() > SLUG_BYTES_MAX || !slug.bytes().all(legal) || !is_whole {
            let rule = "a slug is 1 to 64 of a-z, 0-9 and `-`, of which no `-` starts it, ends it or follows another";
            return Err(Refusal::invalid("slug", rule));
        }
        Ok(Self(slug.to_owned()))
    }
}

/// One version of a skill: immutable, its files named by content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    pub(super) owner: WorkspaceId,
    pub(super) files: BTreeMap<String, SkillFile>,
}

impl Skill {
    /// A version owned by `owner`, whose files stand at paths relative to it.
    ///
    /// # Errors
    /// If a path is not a legal one.
    pub fn new(
        owner: WorkspaceId,
        files: impl IntoIterator<Item = (String, SkillFile)>,
    ) -> Result<Self, Refusal> {
        let files: BTreeMap<_, _> = files.into_iter().collect();
        files.keys().try_for_each(|path| Self::check_path(path))?;
        Ok(Self { owner, files })
    }

    /// Whether a file of a skill may stand there.
    ///
    /// # Errors
    /// If the path is not a legal one.
    pub fn check_path(path: &str) -> Result<(), Refusal> {
        check_rest(path, path)
    }

    /// Whose it is.
    pub fn owner(&self) -> WorkspaceId {
        self.owner
    }

    /// Its files, in byte order of their paths below the skill.
    pub fn files(&self) -> &BTreeMap<String, SkillFile> {
        &self.files
    }
}

/// The skills a turn may read: the exact table that the turn was sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkillTable(BTreeMap<String, Arc<Skill>>);

impl SkillTable {
    /// Binds a skill. Where the slug is taken, the first stays reachable and the answer is `false`.
    ///
    /// # Errors
    /// If `slug` is no [`Slug`].
    pub fn bind(&mut self, slug: &str, skill: Arc<Skill>) -> Result<bool, Refusal> {
        let Slug(slug) = slug.parse()?;
        if self.0.contains_key(&slug) {
            return Ok(false);
        }
        self.0.insert(slug, skill);
        Ok(true)
    }

    /// The skill bound to a slug.
    pub fn skill(&self, slug: &str) -> Option<&Arc<Skill>> {
        self.0.get(slug)
    }

    pub(super) fn slugs(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}
