//! Parts of HTTP that the handlers of files share.

pub(super) mod conditions;
pub(super) mod disposition;
pub(super) mod input;
pub(super) mod multipart;
pub(super) mod range;
pub(super) mod sniff;
pub(super) mod tags;
