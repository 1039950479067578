//! `bailiwick:storage/text` over a space.

use std::pin::pin;

use super::bindings::bailiwick::storage::{text, types};
use super::convert::Failure;
use super::invocations::{Called, outcome_of_verb};
use super::state::TurnState;
use crate::space::Search;

impl text::Host for TurnState {
    async fn read(
        &mut self,
        path: String,
        start: text::Position,
        lines: u32,
    ) -> Result<text::Slice, Failure> {
        let mut called = Called::of("text.read", &path);
        let done = called.during(pin!(self.space().read_text(&path, start.into(), lines))).await;
        let bytes = done.as_ref().map_or(0, |slice| slice.text.len() as u64);
        self.invocations.count(called, outcome_of_verb(&done), bytes);
        Ok(done?.into())
    }

    async fn replace(
        &mut self,
        path: String,
        old: String,
        new: String,
        occurrence: text::Occurrence,
        precondition: types::Precondition,
    ) -> Result<types::File, Failure> {
        let mut called = Called::of("text.replace", &path);
        let space = self.space();
        let replace = space.replace(&path, &old, &new, occurrence.into(), precondition.into());
        let done = called.during(pin!(replace)).await;
        let bytes = done.as_ref().map_or(0, |_| new.len() as u64);
        self.invocations.count(called, outcome_of_verb(&done), bytes);
        Ok(done?.into())
    }

    async fn append(&mut self, path: String, text: String) -> Result<types::File, Failure> {
        let mut called = Called::of("text.append", &path);
        let done = called.during(pin!(self.space().append(&path, &text))).await;
        let bytes = done.as_ref().map_or(0, |_| text.len() as u64);
        self.invocations.count(called, outcome_of_verb(&done), bytes);
        Ok(done?.into())
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
        let mut called = Called::of("text.search", &folder);
        let done = called.during(pin!(self.space().search(search))).await;
        self.invocations.count(called, outcome_of_verb(&done), 0);
        Ok(done?.into())
    }
}
