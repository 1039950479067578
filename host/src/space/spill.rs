//! A result too large to show to a model: the whole of it as a file, the ends of it as text.

use bytes::Bytes;
use sha2::Digest;

use super::{Error, FileEvent, Space};
use crate::scope::{Need, Sha256};
use crate::store::Precondition;

/// What to show of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spilled {
    /// The whole result if it fitted, else its head and tail on whole lines and where it is.
    pub text: String,
    /// Where the whole of it is; absent if it fitted.
    pub path: Option<String>,
    /// Bytes of the whole.
    pub size: u64,
}

impl Space {
    /// Keeps a result under `session/spill/` if it is too large to show. The name of the file
    /// is `<stem>-<8 hex of its content>.<ext>`, so that a retry writes the same file.
    ///
    /// # Errors
    /// `invalid` if `name` is not one legal segment; as [`Space::write`].
    pub async fn spill(&self, name: &str, bytes: Bytes) -> Result<Spilled, Error> {
        if name.contains('/') {
            let message = "a spilled result's name is one segment, without `/`";
            return Err(Error::invalid("name", message));
        }
        self.resolve(&format!("session/spill/{name}"), Need::Write)?;
        let size = bytes.len() as u64;
        let shown_max = self.0.spill_bytes_min;
        if let Some(text) = std::str::from_utf8(&bytes).ok().filter(|text| text.len() <= shown_max)
        {
            return Ok(Spilled { text: text.to_owned(), path: None, size });
        }
        let path = spill_path(name, &bytes);
        let file = self.write(&path, bytes.clone(), Precondition::Always).await?;
        self.record(FileEvent::Spilled { path: file.path.clone() });
        Ok(Spilled { text: excerpt(&bytes, shown_max, &file.path), path: Some(file.path), size })
    }
}

fn spill_path(name: &str, bytes: &[u8]) -> String {
    let content = Sha256(sha2::Sha256::digest(bytes).into()).to_string();
    let content = &content[..8];
    match name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()) {
        Some((stem, extension)) => format!("session/spill/{stem}-{content}.{extension}"),
        None => format!("session/spill/{name}-{content}"),
    }
}

/// Head and tail on whole lines, three quarters of `shown_max` bytes at most, and where the rest is.
fn excerpt(bytes: &[u8], shown_max: usize, path: &str) -> String {
    let whole =
        format!("The whole result ({} bytes) is at `{path}`: read it from there.", bytes.len());
    let Ok(text) = std::str::from_utf8(bytes) else {
        return format!("The result is not text. {whole}");
    };
    let head = &text[..text.floor_char_boundary(shown_max / 2)];
    let head = head.rfind('\n').map_or(head, |end| &head[..=end]);
    let tail = &text[text.ceil_char_boundary(text.len() - shown_max / 4)..];
    let tail = tail.find('\n').map_or(tail, |end| &tail[end + 1..]);
    let left_out = text.len() - head.len() - tail.len();
    let gap = if head.ends_with('\n') { "" } else { "\n" };
    format!("{head}{gap}[… {left_out} bytes left out …]\n{tail}\n\n{whole}")
}
