//! How a browser is to take a file: what it is, and whether to show it.
//!
//! What somebody wrote must not run as a page of ours. So nothing is sent as what a browser
//! runs, and what it may show is a list of types that are only looked at.

use axum::http::header::{CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Bytes, and no more is known.
pub(in crate::api) const UNKNOWN: &str = "application/octet-stream";

/// Types that are only looked at.
const SHOWN: [&str; 17] = [
    "text/plain",
    "text/csv",
    "text/markdown",
    "application/json",
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "image/avif",
    "image/bmp",
    "audio/mpeg",
    "audio/ogg",
    "audio/wav",
    "audio/flac",
    "video/mp4",
    "video/webm",
    "video/ogg",
];
/// Text that a browser would run, or might: it is sent as bytes.
const ACTIVE: [&str; 8] =
    ["html", "xml", "svg", "javascript", "ecmascript", "css", "xslt", "flash"];

/// What `filename*` may hold as it is.
/// <https://www.rfc-editor.org/rfc/rfc8187#section-3.2.1>
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'!')
    .remove(b'#')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b'-')
    .remove(b'.')
    .remove(b'^')
    .remove(b'_')
    .remove(b'`')
    .remove(b'|')
    .remove(b'~');

/// Says what a file is and how to take it. `name` is what to save it as.
pub(in crate::api) fn describe(headers: &mut HeaderMap, name: &str, media_type: &str) {
    let is_active = ACTIVE.iter().any(|active| media_type.contains(active));
    let media_type = if is_active { UNKNOWN } else { media_type };
    let shown = SHOWN.contains(&media_type);
    let with_charset = || format!("{media_type}; charset=utf-8");
    let content_type = match media_type.starts_with("text/") {
        true => HeaderValue::from_str(&with_charset()),
        false => HeaderValue::from_str(media_type),
    };
    let unknown = HeaderValue::from_static(UNKNOWN);
    headers.insert(CONTENT_TYPE, content_type.unwrap_or(unknown));
    headers.insert(
        CONTENT_DISPOSITION,
        disposition(if shown { "inline" } else { "attachment" }, name),
    );
    let policy = HeaderValue::from_static("default-src 'none'; sandbox; frame-ancestors 'none'");
    headers.insert(CONTENT_SECURITY_POLICY, policy);
}

/// `Content-Disposition` with a name in both spellings.
/// <https://www.rfc-editor.org/rfc/rfc6266#section-4.3>
pub(in crate::api) fn disposition(kind: &'static str, name: &str) -> HeaderValue {
    let plain: String =
        name.chars().map(|letter| if is_plain(letter) { letter } else { '_' }).collect();
    let mut text = format!("{kind}; filename=\"{plain}\"");
    if plain != name {
        text = format!("{text}; filename*=UTF-8''{}", utf8_percent_encode(name, ENCODED));
    }
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("attachment"))
}

/// Whether a letter means itself in a quoted name, to every browser: `%` may not.
fn is_plain(letter: char) -> bool {
    matches!(letter, ' '..='~') && !matches!(letter, '"' | '\\' | '%')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name cannot end its quotes, and says itself in full where it is not plain.
    #[test]
    fn a_name_stays_within_its_quotes() {
        for (name, expected) in [
            ("a b.txt", "attachment; filename=\"a b.txt\""),
            ("a\".html", "attachment; filename=\"a_.html\"; filename*=UTF-8''a%22.html"),
            ("100%.csv", "attachment; filename=\"100_.csv\"; filename*=UTF-8''100%25.csv"),
            (
                "naïve 文.pdf",
                "attachment; filename=\"na_ve _.pdf\"; filename*=UTF-8''na%C3%AFve%20%E6%96%87.pdf",
            ),
            ("a;b='c", "attachment; filename=\"a;b='c\""),
        ] {
            assert_eq!(disposition("attachment", name), expected, "{name}");
        }
    }

    /// Nothing that a browser would run is sent as that.
    #[test]
    fn nothing_is_sent_as_what_a_browser_runs() {
        for (media_type, content_type, kind) in [
            ("text/html", UNKNOWN, "attachment"),
            ("application/xhtml+xml", UNKNOWN, "attachment"),
            ("image/svg+xml", UNKNOWN, "attachment"),
            ("text/xml", UNKNOWN, "attachment"),
            ("text/javascript", UNKNOWN, "attachment"),
            ("application/pdf", "application/pdf", "attachment"),
            ("text/plain", "text/plain; charset=utf-8", "inline"),
            ("image/png", "image/png", "inline"),
            ("text/css", UNKNOWN, "attachment"),
            (UNKNOWN, UNKNOWN, "attachment"),
            ("text/x-odd", "text/x-odd; charset=utf-8", "attachment"),
        ] {
            let mut headers = HeaderMap::new();
            describe(&mut headers, "a", media_type);
            assert_eq!(headers[CONTENT_TYPE], content_type, "{media_type}");
            assert!(
                headers[CONTENT_DISPOSITION].to_str().unwrap().starts_with(kind),
                "{media_type}"
            );
            assert!(headers[CONTENT_SECURITY_POLICY].to_str().unwrap().contains("sandbox"));
        }
    }
}
