//! Conditional requests. <https://www.rfc-editor.org/rfc/rfc9110#section-13>

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::extract::FromRequestParts;
use axum::http::header::{
    HeaderName, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue};

use super::tags::Tags;
use crate::api::gate::{Files, Place};
use crate::api::problem::Problem;
use crate::space::File;
use crate::store::{Precondition, Revision};

/// The conditions of a request.
#[derive(Debug)]
pub(in crate::api) struct Conditions {
    if_match: Option<Tags>,
    if_none_match: Option<Tags>,
    unmodified_since: Option<SystemTime>,
    modified_since: Option<SystemTime>,
    if_range: Option<HeaderValue>,
}

/// What a read comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::api) enum Reading {
    /// It goes on.
    Proceed,
    /// The caller has what is there.
    NotModified,
}

/// When a change may take effect, and whether something was there when that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::api) struct Change {
    pub(in crate::api) when: Precondition,
    pub(in crate::api) was_there: bool,
}

impl<S: Send + Sync> FromRequestParts<S> for Conditions {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Self::read(&parts.headers)
    }
}

impl Conditions {
    /// A condition that cannot be read is refused: to leave it out would lose what it guards.
    pub(in crate::api) fn read(headers: &HeaderMap) -> Result<Self, Problem> {
        let tags = |name: HeaderName| {
            let lines = || headers.get_all(&name).iter();
            if lines().next().is_none() {
                return Ok(None);
            }
            let bad = || {
                let detail = format!("`{name}` is `*` or a list of entity tags, such as `\"abc\"`");
                Problem::bad_request("condition", detail)
            };
            Tags::parse(lines()).map(Some).ok_or_else(bad)
        };
        // A date that cannot be read is as if it were not there.
        let date = |name| httpdate::parse_http_date(headers.get(name)?.to_str().ok()?).ok();
        Ok(Self {
            if_match: tags(IF_MATCH)?,
            if_none_match: tags(IF_NONE_MATCH)?,
            unmodified_since: date(IF_UNMODIFIED_SINCE),
            modified_since: date(IF_MODIFIED_SINCE),
            if_range: headers.get(IF_RANGE).cloned(),
        })
    }

    /// Whether a file is to be sent, in the order of RFC 9110, section 13.2.2.
    pub(in crate::api) fn on_read(&self, file: &File) -> Result<Reading, Problem> {
        let (revision, modified) = (Some(&file.revision), modified(file));
        let holds = match (&self.if_match, self.unmodified_since) {
            (Some(tags), _) => tags.match_strongly(revision),
            (None, Some(since)) => modified <= since,
            (None, None) => true,
        };
        if !holds {
            return Err(Problem::precondition());
        }
        let is_known = match (&self.if_none_match, self.modified_since) {
            (Some(tags), _) => tags.match_weakly(revision),
            (None, Some(since)) => modified <= since,
            (None, None) => false,
        };
        Ok(if is_known { Reading::NotModified } else { Reading::Proceed })
    }

    /// Whether a range may be sent of a file. A date is no proof that it is the same.
    pub(in crate::api) fn allow_range(&self, file: &File) -> bool {
        self.if_range.as_ref().is_none_or(|tag| {
            Tags::parse(std::iter::once(tag))
                .is_some_and(|tags| tags != Tags::Any && tags.match_strongly(Some(&file.revision)))
        })
    }

    /// When a change of a path may take effect: what was looked at is what it is pinned to.
    pub(in crate::api) async fn on_change<P: Place>(
        &self,
        files: &Files<P>,
        path: &str,
    ) -> Result<Change, Problem> {
        if self.unmodified_since.is_some() && self.if_match.is_none() {
            let detail = "a change is conditional on an entity tag (`If-Match`), not on a date";
            return Err(Problem::bad_request("condition", detail));
        }
        match (&self.if_match, &self.if_none_match) {
            (None, Some(Tags::Any)) => {
                Ok(Change { when: Precondition::IfAbsent, was_there: false })
            }
            (Some(tags), None) if tags.only().is_some() => {
                let when = tags.only().map_or(Precondition::Always, Precondition::IfRevision);
                Ok(Change { when, was_there: true })
            }
            _ => self.pinned(files.look(path).await?.map(|file| file.revision)),
        }
    }

    fn pinned(&self, now: Option<Revision>) -> Result<Change, Problem> {
        let wanted = self.if_match.as_ref().is_none_or(|tags| tags.match_strongly(now.as_ref()));
        let unwanted =
            self.if_none_match.as_ref().is_some_and(|tags| tags.match_weakly(now.as_ref()));
        if !wanted || unwanted {
            return Err(Problem::precondition());
        }
        let was_there = now.is_some();
        let when = match (self.has_tags(), now) {
            (false, _) => Precondition::Always,
            (true, Some(revision)) => Precondition::IfRevision(revision),
            (true, None) => Precondition::IfAbsent,
        };
        Ok(Change { when, was_there })
    }

    /// Whether a conflict is what the request's own conditions asked for.
    pub(in crate::api) fn has_tags(&self) -> bool {
        self.if_match.is_some() || self.if_none_match.is_some()
    }
}

/// When a file was changed, in the whole seconds that HTTP knows.
pub(in crate::api) fn modified(file: &File) -> SystemTime {
    // Later than HTTP can write is as late as it can.
    const SECONDS_MAX: u64 = 253_402_300_799;
    UNIX_EPOCH + Duration::from_secs((file.modified_ms / 1000).min(SECONDS_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conditions(fields: &[(&'static str, &'static str)]) -> Result<Conditions, Problem> {
        let fields = fields
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        Conditions::read(&fields.collect())
    }

    fn file() -> File {
        let (path, revision) = ("session/a".to_owned(), Revision("r".to_owned()));
        File { path, size: 9, revision, modified_ms: 784_111_777_500, media_type: "text/plain" }
    }

    const THEN: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const BEFORE: &str = "Sun, 06 Nov 1994 08:49:36 GMT";

    /// Tags come before dates, and what must hold before what must not.
    #[test]
    fn a_read_is_decided_in_the_order_of_the_rfc() {
        let proceed = Some(Reading::Proceed);
        let known = Some(Reading::NotModified);
        for (fields, reading) in [
            ([].as_slice(), proceed),
            (&[("if-match", "\"r\"")], proceed),
            (&[("if-match", "*")], proceed),
            (&[("if-match", "\"x\"")], None),
            (&[("if-match", "W/\"r\"")], None),
            (&[("if-none-match", "\"r\"")], known),
            (&[("if-none-match", "W/\"r\", \"x\"")], known),
            (&[("if-none-match", "*")], known),
            (&[("if-none-match", "\"x\"")], proceed),
            (&[("if-none-match", "\"x\""), ("if-modified-since", THEN)], proceed),
            (&[("if-match", "\"x\""), ("if-none-match", "\"r\"")], None),
            (&[("if-match", "\"r\""), ("if-unmodified-since", BEFORE)], proceed),
            (&[("if-unmodified-since", BEFORE)], None),
            (&[("if-unmodified-since", THEN)], proceed),
            (&[("if-modified-since", THEN)], known),
            (&[("if-modified-since", BEFORE)], proceed),
            (&[("if-modified-since", "yesterday")], proceed),
        ] {
            let read = conditions(fields).unwrap().on_read(&file()).ok();
            assert_eq!(read, reading, "{fields:?}");
        }
        assert!(conditions(&[("if-match", "r")]).is_err());
        assert!(conditions(&[("if-none-match", "")]).is_err());
    }

    /// A range is of what the caller has, or it is not sent.
    #[test]
    fn a_range_is_of_what_the_caller_has() {
        for (tag, allowed) in
            [("\"r\"", true), ("\"x\"", false), ("W/\"r\"", false), ("*", false), (THEN, false)]
        {
            assert_eq!(
                conditions(&[("if-range", tag)]).unwrap().allow_range(&file()),
                allowed,
                "{tag}"
            );
        }
        assert!(conditions(&[]).unwrap().allow_range(&file()));
    }

    /// A change is pinned to what was looked at.
    #[test]
    fn a_change_is_pinned_to_what_was_looked_at() {
        let now = || Some(Revision("r".to_owned()));
        let pinned = |fields: &[_], now| conditions(fields).unwrap().pinned(now).ok();
        let change = |when, was_there| Some(Change { when, was_there });
        let at_r = || change(Precondition::IfRevision(Revision("r".to_owned())), true);
        assert_eq!(pinned(&[], now()), change(Precondition::Always, true));
        assert_eq!(pinned(&[], None), change(Precondition::Always, false));
        assert_eq!(pinned(&[("if-match", "\"x\", \"r\"")], now()), at_r());
        assert_eq!(pinned(&[("if-match", "*")], now()), at_r());
        assert_eq!(pinned(&[("if-match", "*")], None), None);
        assert_eq!(pinned(&[("if-none-match", "\"x\"")], now()), at_r());
        assert_eq!(
            pinned(&[("if-none-match", "\"x\"")], None),
            change(Precondition::IfAbsent, false)
        );
        assert_eq!(pinned(&[("if-none-match", "\"r\"")], now()), None);
        assert_eq!(pinned(&[("if-match", "\"r\""), ("if-none-match", "\"r\"")], now()), None);
    }
}
