//! The mark that says which layout a store holds.

use crate::scope::LAYOUT_VERSION;

/// What the marker of a store made now says.
pub(super) fn marker_text() -> String {
    format!("{LAYOUT_VERSION}\n")
}

/// Whether a store with this marker can be used.
///
/// # Errors
/// In words for whoever named the store, if another version of this program made it.
pub(super) fn check_marker(marker: &[u8]) -> anyhow::Result<()> {
    let version = std::str::from_utf8(marker).ok().and_then(|text| text.trim().parse::<u32>().ok());
    match version {
        Some(LAYOUT_VERSION) => Ok(()),
        Some(version) => anyhow::bail!(
            "it holds layout {version}, and this version of bailiwick reads layout {LAYOUT_VERSION} alone: use the version that made it, or name another store"
        ),
        None => anyhow::bail!(
            "its marker `.bailiwick-layout` cannot be read: name another store, or restore the marker (`{LAYOUT_VERSION}`)"
        ),
    }
}
