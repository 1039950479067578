//! One page of a listing.

use std::borrow::Cow;

use aws_sdk_s3::types::EncodingType;
use percent_encoding::percent_decode_str;

use super::{Failure, Object, ObjectKey, Requests, revision, size, whole_seconds};
use crate::scope::KeyPrefix;
use crate::store::Depth;

/// What a page is asked for.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct ListRequest<'a> {
    /// What is listed; no key outside is answered.
    pub(in super::super) prefix: &'a KeyPrefix,
    /// Where, within it, the server is to look; the prefix itself or longer.
    pub(in super::super) under: &'a str,
    pub(in super::super) depth: Depth,
    /// The server's token.
    pub(in super::super) after: Option<&'a str>,
    pub(in super::super) limit: usize,
}

/// A page in the server's order; what is no legal key is left out.
#[derive(Debug, Default)]
pub(in super::super) struct Entries {
    pub(in super::super) objects: Vec<(ObjectKey, Object)>,
    pub(in super::super) folders: Vec<KeyPrefix>,
    pub(in super::super) next: Option<String>,
    /// The last key, legal or not, where the page is as long as it may be.
    pub(in super::super) last_of_full: Option<String>,
}

impl Requests {
    pub(in super::super) async fn list(&self, page: ListRequest<'_>) -> Result<Entries, Failure> {
        let delimiter = match page.depth {
            Depth::Children => Some("/".to_owned()),
            Depth::All => None,
        };
        let limit = page.limit.clamp(1, 1000);
        let request = self
            .client
            .list_objects_v2()
            .bucket(&self.bucket)
            .prefix(format!("{}{}", self.prefix, page.under))
            .set_delimiter(delimiter)
            .set_continuation_token(page.after.map(str::to_owned))
            // There are legal names that XML cannot hold.
            .encoding_type(EncodingType::Url)
            .max_keys(i32::try_from(limit).unwrap_or(1000));
        let answer = request.send().await?;
        let encoded = answer.encoding_type() == Some(&EncodingType::Url);
        let name = |listed: Option<&str>| {
            let name = decoded(listed?, encoded)?;
            Some(name.strip_prefix(&self.prefix)?.to_owned())
        };
        let mut entries = Entries::default();
        for listed in answer.contents() {
            let Some(key) = name(listed.key()).and_then(|key| page.prefix.key(&key)) else {
                continue;
            };
            let object = Object {
                revision: revision(listed.e_tag())?,
                size: size(listed.size())?,
                modified_ms: whole_seconds(listed.last_modified()),
            };
            entries.objects.push((key, object));
        }
        let folders = answer.common_prefixes().iter();
        let folders = folders.filter_map(|folder| page.prefix.folder(&name(folder.prefix())?));
        entries.folders.extend(folders);
        if answer.contents().len() == limit {
            entries.last_of_full = answer.contents().last().and_then(|last| name(last.key()));
        }
        if answer.is_truncated() == Some(true) {
            let missing = || Failure::lost("S3 cut a listing off and did not say where");
            entries.next = Some(answer.next_continuation_token.ok_or_else(missing)?);
        }
        Ok(entries)
    }
}

/// A name as it was before the server encoded it for XML, as forms are.
pub(super) fn decoded(listed: &str, encoded: bool) -> Option<Cow<'_, str>> {
    if !encoded {
        return Some(Cow::Borrowed(listed));
    }
    let spaced = listed.replace('+', " ");
    let name = percent_decode_str(&spaced).decode_utf8().ok()?;
    Some(Cow::Owned(name.into_owned()))
}
