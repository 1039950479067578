//! What the text of a refusal says.

use quick_xml::events::Event;
use quick_xml::reader::Reader;

use crate::store::s3::errors::Failure;

/// Longest message that is kept, in bytes.
const MESSAGE_BYTES_MAX: usize = 1 << 10;
/// Longest code that is kept, in bytes.
const CODE_BYTES_MAX: usize = 64;

/// A server's words; empty where it found none.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Refusal {
    code: String,
    message: String,
}

impl Refusal {
    /// Reads `<Error><Code>…</Code><Message>…</Message></Error>`; anything else says nothing.
    pub(super) fn read(text: &[u8]) -> Self {
        let mut reader = Reader::from_reader(text);
        let (mut refusal, mut path) = (Self::default(), Vec::new());
        loop {
            match reader.read_event() {
                Ok(Event::Start(start)) => path.push(start.name().as_ref().to_vec()),
                Ok(Event::End(_)) => _ = path.pop(),
                Ok(Event::Text(words)) => {
                    let words = words.decode().unwrap_or_default();
                    refusal.take(&path, &words);
                }
                Ok(Event::GeneralRef(name)) => {
                    let name = name.decode().unwrap_or_default();
                    let sign = quick_xml::escape::resolve_predefined_entity(&name);
                    refusal.take(&path, sign.unwrap_or("?"));
                }
                Ok(Event::Eof) | Err(_) => return refusal,
                Ok(_) => {}
            }
        }
    }

    fn take(&mut self, path: &[Vec<u8>], words: &str) {
        let (text, most) = match path {
            [error, what] if error == b"Error" && what == b"Code" => {
                (&mut self.code, CODE_BYTES_MAX)
            }
            [error, what] if error == b"Error" && what == b"Message" => {
                (&mut self.message, MESSAGE_BYTES_MAX)
            }
            _ => return,
        };
        let room = most.saturating_sub(text.len());
        text.push_str(&words[..words.floor_char_boundary(room)]);
    }

    /// Whether the time of a request's signature can be the reason. An answer to HEAD has no
    /// words.
    pub(super) fn may_be_about_time(&self, status: u16) -> bool {
        let code = self.code.as_str();
        status == 403 && matches!(code, "" | "RequestTimeTooSkewed" | "RequestExpired")
    }

    pub(super) fn failure(&self, status: u16) -> Failure {
        Failure::answered(status, &self.code, &self.message)
    }
}

#[cfg(test)]
mod tests;
