//! Entity tags: revisions, as HTTP writes them.
//! <https://www.rfc-editor.org/rfc/rfc9110#section-8.8.3>

use axum::http::HeaderValue;

use crate::store::Revision;

/// What `If-Match` and `If-None-Match` hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::api) enum Tags {
    /// `*`: whatever is there.
    Any,
    /// One of these.
    These(Vec<Tag>),
}

/// One entity tag of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::api) struct Tag {
    is_weak: bool,
    text: String,
}

/// The tag of a revision; `None` if it cannot be written as one.
pub(in crate::api) fn tag(revision: &Revision) -> Option<HeaderValue> {
    let is_legal = !revision.0.is_empty() && revision.0.bytes().all(is_tag_byte);
    is_legal.then(|| HeaderValue::from_str(&format!("\"{revision}\"")).ok()).flatten()
}

impl Tags {
    /// Reads all lines of a field; `None` if there is anything in them that is no tag.
    pub(in crate::api) fn parse<'a>(lines: impl Iterator<Item = &'a HeaderValue>) -> Option<Self> {
        let lines: Vec<_> = lines.map(HeaderValue::to_str).collect::<Result<_, _>>().ok()?;
        let text = lines.join(",");
        if text.trim() == "*" {
            return Some(Self::Any);
        }
        let mut tags = Vec::new();
        let mut rest = text.trim();
        loop {
            let (tag, after) = Tag::split(rest)?;
            tags.push(tag);
            rest = after.trim_start();
            if rest.is_empty() {
                return Some(Self::These(tags));
            }
            rest = rest.strip_prefix(',')?.trim_start();
        }
    }

    /// Whether one is the revision's, as strong tags are compared: for changes.
    pub(in crate::api) fn match_strongly(&self, current: Option<&Revision>) -> bool {
        self.matches(current, |tag| !tag.is_weak)
    }

    /// Whether one is the revision's, as weak tags are compared: for what is cached.
    pub(in crate::api) fn match_weakly(&self, current: Option<&Revision>) -> bool {
        self.matches(current, |_| true)
    }

    fn matches(&self, current: Option<&Revision>, counts: impl Fn(&Tag) -> bool) -> bool {
        let Some(current) = current else { return false };
        match self {
            Self::Any => true,
            Self::These(tags) => tags.iter().any(|tag| counts(tag) && tag.text == current.0),
        }
    }

    /// The one revision that is meant, if it is just one.
    pub(in crate::api) fn only(&self) -> Option<Revision> {
        match self {
            Self::These(tags) => match tags.as_slice() {
                [Tag { is_weak: false, text }] => Some(Revision(text.clone())),
                _ => None,
            },
            Self::Any => None,
        }
    }
}

impl Tag {
    /// The tag that a text starts with, and what comes after it.
    fn split(text: &str) -> Option<(Self, &str)> {
        let (is_weak, quoted) = match text.strip_prefix("W/") {
            Some(quoted) => (true, quoted),
            None => (false, text),
        };
        let (text, rest) = quoted.strip_prefix('"')?.split_once('"')?;
        let tag = Self { is_weak, text: text.to_owned() };
        text.bytes().all(is_tag_byte).then_some((tag, rest))
    }
}

fn is_tag_byte(byte: u8) -> bool {
    byte == 0x21 || (0x23..=0x7e).contains(&byte) || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(lines: &[&'static str]) -> Option<Tags> {
        let lines: Vec<_> = lines.iter().map(|line| HeaderValue::from_static(line)).collect();
        Tags::parse(lines.iter())
    }

    /// A field is read as a whole or not at all.
    #[test]
    fn a_list_of_tags_is_read_whole_or_not_at_all() {
        let tag = |is_weak, text: &str| Tag { is_weak, text: text.to_owned() };
        for (lines, tags) in [
            (["\"a\""].as_slice(), vec![tag(false, "a")]),
            (&["W/\"a\" ,\"b,c\""], vec![tag(true, "a"), tag(false, "b,c")]),
            (&["\"a\"", "\"\""], vec![tag(false, "a"), tag(false, "")]),
        ] {
            assert_eq!(parse(lines), Some(Tags::These(tags)), "{lines:?}");
        }
        assert_eq!(parse(&[" * "]), Some(Tags::Any));
        for bad in
            ["", "a", "\"a", "w/\"a\"", "\"a\" \"b\"", "\"a\",", ",\"a\"", "*, \"a\"", "\"a b\""]
        {
            assert_eq!(parse(&[bad]), None, "{bad}");
        }
    }

    /// A weak tag is good for a cache and for no change.
    #[test]
    fn a_weak_tag_is_no_reason_for_a_change() {
        let now = Revision("a".to_owned());
        let strong = parse(&["\"b\", \"a\""]).unwrap();
        let weak = parse(&["W/\"a\""]).unwrap();
        assert!(strong.match_strongly(Some(&now)) && strong.match_weakly(Some(&now)));
        assert!(!weak.match_strongly(Some(&now)) && weak.match_weakly(Some(&now)));
        assert!(!strong.match_strongly(None) && !Tags::Any.match_strongly(None));
        assert_eq!((strong.only(), weak.only()), (None, None));
        assert_eq!(parse(&["\"a\""]).unwrap().only(), Some(now.clone()));
        assert_eq!(tag(&now).unwrap(), "\"a\"");
        assert_eq!(tag(&Revision("a\"b".to_owned())), None);
    }
}
