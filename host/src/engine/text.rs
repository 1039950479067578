//! `bailiwick:storage/text` over a space.

use super::bindings::bailiwick::storage::{text, types};
use super::convert::Failure;
use super::state::TurnState;
use crate::space::Search;

impl text::Host for TurnState {
    async fn read(
        &mut self,
        path: String,
        start: text::Position,
        lines: u32,
    ) -> Result<text::Slice, Failure> {
        Ok(self.space().read_text(&path, start.into(), lines).await?.into())
    }

    async fn replace(
        &mut self,
        path: String,
        old: String,
        new: String,
        occurrence: text::Occurrence,
        precondition: types::Precondition,
    ) -> Result<types::File, Failure> {
        let space = self.space();
        let replaced = space.replace(&path, &old, &new, occurrence.into(), precondition.into());
        Ok(replaced.await?.into())
    }

    async fn append(&mut self, path: String, text: String) -> Result<types::File, Failure> {
        Ok(self.space().append(&path, &text).await?.into())
    }

    async fn search(
        &mut self,
        folder: String,
        glob: Option<String>,
        pattern: String,
        after: Option<String>,
        limit: u32,
    ) -> Result<text::Matches, Failure> {
        let search = Search {
            folder: &folder,
            glob: glob.as_deref(),
            pattern: &pattern,
            after: after.as_deref(),
            limit,
        };
        Ok(self.space().search(search).await?.into())
    }
}
