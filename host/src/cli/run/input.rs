//! What a turn is given: texts, and the bytes of a component.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use bailiwick::limits::{COMPONENT_BYTES_MAX, TURN_TEXT_BYTES_MAX};
use tokio::fs::File;
use tokio::io::{AsyncRead, AsyncReadExt};

use super::super::failure::Failure;

/// A text of the command line, or where to read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TextArgument {
    Text(String),
    File(PathBuf),
    StandardInput,
}

impl FromStr for TextArgument {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text.strip_prefix('@') {
            Some(path) => Self::File(path.into()),
            None if text == "-" => Self::StandardInput,
            None => Self::Text(text.to_owned()),
        })
    }
}

/// The input and the answer, as far as they were given.
pub(super) async fn texts(
    input: Option<&TextArgument>,
    answer: Option<&TextArgument>,
) -> Result<(Option<String>, Option<String>), Failure> {
    if [input, answer] == [Some(&TextArgument::StandardInput); 2] {
        return Err(Failure::new(
            "standard input is read once: give the input or the answer in another way",
        ));
    }
    Ok((text(input, "input").await?, text(answer, "answer").await?))
}

async fn text(argument: Option<&TextArgument>, what: &str) -> Result<Option<String>, Failure> {
    let (bytes, shown) = match argument {
        None => return Ok(None),
        Some(TextArgument::Text(text)) => {
            (text.clone().into_bytes(), "the command line".to_owned())
        }
        Some(TextArgument::StandardInput) => {
            let shown = "standard input".to_owned();
            (up_to(tokio::io::stdin(), TURN_TEXT_BYTES_MAX, &shown).await?, shown)
        }
        Some(TextArgument::File(path)) => {
            let shown = path.display().to_string();
            (up_to(open(path).await?, TURN_TEXT_BYTES_MAX, &shown).await?, shown)
        }
    };
    if bytes.len() > TURN_TEXT_BYTES_MAX {
        return Err(Failure::new(format!(
            "the {what} is longer than {TURN_TEXT_BYTES_MAX} bytes: put it in a file with `bailiwick files put`, and name that"
        )));
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::new(format!("the {what} from {shown} is not UTF-8 text")))?;
    Ok(Some(text))
}

/// The bytes of a component; one byte more than there may be, if there are more.
pub(in crate::cli) async fn component(path: &Path) -> Result<Vec<u8>, Failure> {
    let shown = path.display().to_string();
    up_to(open(path).await?, COMPONENT_BYTES_MAX, &shown).await
}

async fn open(path: &Path) -> Result<File, Failure> {
    File::open(path)
        .await
        .map_err(|error| Failure::because(format!("{} cannot be read", path.display()), &error))
}

async fn up_to(
    source: impl AsyncRead + Unpin,
    max: usize,
    shown: &str,
) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    source
        .take(max as u64 + 1)
        .read_to_end(&mut bytes)
        .await
        .map_err(|error| Failure::because(format!("{shown} cannot be read"), &error))?;
    Ok(bytes)
}
