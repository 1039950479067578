//! Storing what was gathered: whole, and only over what the file was when it was opened.

use bytes::Bytes;
use futures::future::try_join;
use sha2::{Digest, Sha256};

use super::error::{Answer, ErrorCode, Failure};
use super::file::{Changed, State};
use super::gathered::Gathered;
use crate::limits::{
    GATHERED_HELD_BYTES_MAX, GATHERED_PIECE_BYTES, PATH_REST_BYTES_MAX, PATH_SEGMENT_BYTES_MAX,
};
use crate::scope::GuestPath;
use crate::space::{self, ErrorCode as Refused, Space, Writer};
use crate::store::Precondition;

/// What became of a file that was to be stored.
#[derive(Debug)]
pub(super) enum Stored {
    /// It is there, or nothing had changed.
    There,
    /// Another writer was faster: it was kept beside.
    Beside {
        /// Where it was to be.
        path: String,
        /// Where it is.
        kept: String,
    },
}

/// Stores a file if it was changed.
pub(super) async fn store(space: &Space, state: &mut State) -> Answer<Stored> {
    let (Changed::Yes, Some(path)) = (state.changed, state.path.clone()) else {
        return Ok(Stored::There);
    };
    let when = state.condition();
    let is_new = state.stored.is_none();
    match upload(space, &path, when, state).await {
        Ok(file) => {
            state.now_stored(file);
            Ok(Stored::There)
        }
        Err(Fault::Below(error)) if is_new && may_be_a_folder(&error) => {
            if check(space, &path, &Precondition::IfAbsent).await.is_err() {
                return keep_beside(space, path, state).await;
            }
            let file = upload(space, &path, Precondition::Always, state).await?;
            state.now_stored(file);
            Ok(Stored::There)
        }
        Err(Fault::Below(error)) if error.code == Refused::Conflict => {
            keep_beside(space, path, state).await
        }
        Err(fault) => Err(fault.into()),
    }
}

/// Whether a server may have taken a folder of that name for a file, even one that was removed.
fn may_be_a_folder(error: &space::Error) -> bool {
    error.code == Refused::Conflict || (error.code, error.reason) == (Refused::Unsupported, "name")
}

/// From now on the file is what was kept: whoever has it open goes on with that.
async fn keep_beside(space: &Space, path: String, state: &mut State) -> Answer<Stored> {
    let gathered = state.gathered().ok_or(ErrorCode::Io)?;
    let kept = beside(&path, &digest(gathered).await?);
    let file = upload(space, &kept, Precondition::Always, state).await?;
    state.now_stored(file);
    Ok(Stored::Beside { path, kept })
}

/// Why a file was not stored.
enum Fault {
    Below(space::Error),
    Here(Failure),
}

impl From<space::Error> for Fault {
    fn from(error: space::Error) -> Self {
        Self::Below(error)
    }
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        Self::Here(failure)
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Below(error) => error.into(),
            Fault::Here(failure) => failure,
        }
    }
}

async fn upload(
    space: &Space,
    path: &str,
    when: Precondition,
    state: &mut State,
) -> Result<space::File, Fault> {
    let gathered = state.gathered().ok_or(Failure::from(ErrorCode::Io))?;
    if let Some(stored) = gathered.become_stored(path, &when).await? {
        return Ok(stored?);
    }
    let size = gathered.size();
    if size <= GATHERED_HELD_BYTES_MAX {
        let whole = usize::try_from(size).unwrap_or(usize::MAX);
        let bytes = gathered.read(0, whole).await?;
        return Ok(space.write(path, bytes, when).await?);
    }
    let written = match write_all(space, path, when.clone(), gathered).await {
        Ok(mut writer) => writer.finish().await.map_err(Fault::Below),
        Err(fault) => Err(fault),
    };
    match written {
        // A server that does not keep the condition of a large file: what can be done is to look
        // just before it appears.
        Err(Fault::Below(error)) if error.code == Refused::Unsupported => {
            let mut writer = write_all(space, path, Precondition::Always, gathered).await?;
            check(space, path, &when).await?;
            Ok(writer.finish().await?)
        }
        written => written,
    }
}

/// Whether a condition holds now.
async fn check(space: &Space, path: &str, when: &Precondition) -> Result<(), Fault> {
    let found = match space.stat(path).await {
        Ok(file) => Some(file.revision),
        Err(error) if error.code == Refused::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    if when.holds(found.as_ref()) {
        return Ok(());
    }
    let message = "another writer was faster";
    Err(space::Error::new(Refused::Conflict, "precondition", message).into())
}

/// A writer that was given everything.
async fn write_all(
    space: &Space,
    path: &str,
    when: Precondition,
    gathered: &mut Gathered,
) -> Result<Writer, Fault> {
    let size = gathered.size();
    let mut writer = space.open_writer(path, when).await?;
    let mut piece = gathered.read(0, GATHERED_PIECE_BYTES).await?;
    let mut at = 0;
    while at < size {
        at += piece.len() as u64;
        // The next piece is read while this one is on its way.
        let next = async { Ok(gathered.read(at, GATHERED_PIECE_BYTES).await?) };
        let write = async { writer.write(piece).await.map_err(Fault::Below) };
        ((), piece) = try_join(write, next).await?;
    }
    Ok(writer)
}

/// The digest of all of it.
async fn digest(gathered: &mut Gathered) -> Answer<[u8; 32]> {
    let mut hash = Sha256::new();
    let mut at = 0;
    while at < gathered.size() {
        let piece: Bytes = gathered.read(at, GATHERED_PIECE_BYTES).await?;
        at += piece.len() as u64;
        hash.update(&piece);
        tokio::task::yield_now().await;
    }
    Ok(hash.finalize().into())
}

/// Where a file is kept that lost a race: beside the other one, by its content, so that the same
/// bytes are kept once.
fn beside(path: &str, digest: &[u8; 32]) -> String {
    let [one, two, three, four, ..] = digest;
    let ending = format!(".conflict-{one:02x}{two:02x}{three:02x}{four:02x}");
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let rest = GuestPath::parse(path).map_or(path.len(), |path| path.rest().len());
    let over_path = (rest + ending.len()).saturating_sub(PATH_REST_BYTES_MAX);
    let over_name = (name.len() + ending.len()).saturating_sub(PATH_SEGMENT_BYTES_MAX);
    let kept = name.len().saturating_sub(over_path.max(over_name)).max(1);
    format!("{folder}/{}{ending}", &name[..name.floor_char_boundary(kept)])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever a file is called, the name beside it is a legal one, and starts as its own.
    #[test]
    fn the_name_beside_is_a_legal_one() {
        let digest = [0xab; 32];
        assert_eq!(beside("agent/a/notes.md", &digest), "agent/a/notes.md.conflict-abababab");
        let folder = "d/".repeat(300);
        for path in [
            format!("agent/{}", "n".repeat(255)),
            format!("agent/{}", "é".repeat(127)),
            format!("agent/{folder}{}", "n".repeat(168)),
            format!("skill/x/{}", "é".repeat(127)),
        ] {
            let beside = beside(&path, &digest);
            assert!(GuestPath::parse(&beside).is_ok(), "{beside}");
            assert!(beside.ends_with(".conflict-abababab"), "{beside}");
        }
    }
}
