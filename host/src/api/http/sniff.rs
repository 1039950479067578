//! What a file is whose name does not say it: by its first bytes, among types that only look like
//! themselves. Nothing that a browser runs is ever found so, whatever the bytes say.

use super::disposition::UNKNOWN;

/// Documents and archives, which are saved.
const SAVED: [&str; 3] = ["application/pdf", "application/zip", "application/gzip"];
/// Known by its first two letters alone, as is many a text.
const AMBIGUOUS: &str = "image/bmp";

/// The type of a file that begins so.
pub(in crate::api) fn sniff(start: &[u8]) -> &'static str {
    let found = infer::get(start).map(|found| found.mime_type());
    found.filter(|media_type| is_looked_at(media_type)).unwrap_or(UNKNOWN)
}

fn is_looked_at(media_type: &str) -> bool {
    let is_medium = ["image/", "audio/", "video/"].iter().any(|kind| media_type.starts_with(kind));
    // An image of XML is a page.
    let is_inert = !media_type.contains("xml") && !media_type.contains("svg");
    (is_medium && is_inert && media_type != AMBIGUOUS) || SAVED.contains(&media_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes are taken for what they are, if that is only looked at or saved.
    #[test]
    fn bytes_say_what_they_are() {
        for (start, media_type) in [
            (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice(), "image/png"),
            (b"\xff\xd8\xff\xe0\0\x10JFIF", "image/jpeg"),
            (b"GIF89a\x01\0\x01\0", "image/gif"),
            (b"RIFF\x24\0\0\0WEBPVP8 ", "image/webp"),
            (b"OggS\0\x02", "audio/ogg"),
            (b"%PDF-1.7\n", "application/pdf"),
            (b"PK\x03\x04\x14\0\0\0", "application/zip"),
        ] {
            assert_eq!(sniff(start), media_type);
        }
    }

    /// What a browser runs, what a machine runs and what could be anything stays bytes.
    #[test]
    fn what_runs_is_never_found() {
        for start in [
            b"".as_slice(),
            b"<!DOCTYPE html><html><script>alert(1)</script>",
            b"<html>",
            b"  <HTML><body onload=alert(1)>",
            b"<?xml version=\"1.0\"?><svg xmlns=\"http://www.w3.org/2000/svg\"/>",
            b"<svg onload=alert(1)>",
            b"#!/bin/sh\n",
            b"alert(1)",
            b"\0asm\x01\0\0\0",
            b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0",
            b"MZ\x90\0",
            b"BMW is what this text is about",
        ] {
            assert_eq!(sniff(start), UNKNOWN, "{}", String::from_utf8_lossy(start));
        }
    }
}
