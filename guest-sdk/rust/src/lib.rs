//! Guest SDK.
