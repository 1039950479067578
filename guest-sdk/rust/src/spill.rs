//! A result too large to show to a model.

use crate::Result;
use crate::bindings::bailiwick::storage::spill as host;

pub use host::Spilled;

/// Keeps a result where it is found again, and answers with what to show of it: the whole text
/// if it fits, else its head and tail on whole lines and a sentence that names the file under
/// `session/spill/`. `name` becomes part of the file's name (`table.csv`); the same content
/// under the same name is the same file.
///
/// # Errors
/// [`crate::ErrorCode::Invalid`] if `name` is no file's name; whatever keeps the file from
/// being written.
pub fn spill(name: &str, bytes: impl AsRef<[u8]>) -> Result<Spilled> {
    Ok(host::spill(name, bytes.as_ref())?)
}
