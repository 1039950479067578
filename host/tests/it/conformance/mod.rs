//! One suite over `&dyn ObjectStore`: what every store promises, whatever it is made of.
//!
//! [`conformance!`] instantiates it. Every case works in a session of its own, so that cases may
//! share a store. What a store honestly cannot do is declared in its [`Subject`], has to be
//! answered with a refusal, and is printed: it never passes in silence.

use std::path::Path;
use std::sync::Arc;

use bailiwick::clock::SystemClock;
use bailiwick::store::{LocalStore, MemoryStore};
use futures::FutureExt;

pub(crate) mod bytes;
pub(crate) mod conditions;
pub(crate) mod copies;
pub(crate) mod deletes;
pub(crate) mod listings;
pub(crate) mod model;
pub(crate) mod names;
pub(crate) mod remains;
mod subject;
pub(crate) mod uploads;

pub(crate) use subject::{Ability, Place, Plenty, Subject, content, many, read_whole};

/// Instantiates the suite: `conformance!(name: open)`, where `open` is an expression of a future
/// of `Option<Subject>`, evaluated once per case. `None` is a skipped case, and whoever returns
/// it has printed why, or failed because `CI` is set.
macro_rules! conformance {
    ($store:ident: $open:expr) => {
        mod $store {
            #[allow(unused_imports, clippy::allow_attributes, reason = "some name all they need")]
            use super::*;

            $crate::conformance::conformance! { @cases $open;
                bytes::every_size_comes_back_whole,
                bytes::sixty_four_mebibytes_stream_through,
                bytes::ranges_end_where_the_object_ends,
                bytes::what_is_not_there_is_not_found,
                bytes::a_pinned_read_never_sees_other_bytes,
                bytes::replacing_leaves_nothing_of_what_was_there,
                conditions::one_of_fifty_racers_creates,
                conditions::one_of_fifty_racers_replaces,
                conditions::increments_by_revision_lose_none,
                conditions::what_does_not_hold_changes_nothing,
                conditions::every_change_of_bytes_changes_the_revision,
                conditions::one_of_deleting_and_replacing_wins,
                listings::every_page_size_shows_each_file_once_in_byte_order,
                listings::more_than_two_pages_of_a_thousand,
                listings::a_file_and_the_folder_of_its_name_are_two,
                listings::children_show_each_folder_once,
                listings::a_token_survives_deletion_of_where_it_stands,
                listings::a_prefix_never_matches_its_neighbour,
                listings::a_listing_says_what_head_says,
                listings::what_is_written_between_pages_hides_no_other,
                listings::a_file_that_is_being_replaced_is_listed,
                deletes::a_thousand_and_more_at_once,
                deletes::nothing_there_is_no_error,
                deletes::a_deleted_file_leaves_no_folder,
                copies::a_copy_is_whole_and_apart,
                copies::a_copy_is_of_the_pinned_revision_alone,
                copies::a_copy_obeys_the_condition_on_its_target,
                copies::a_copy_onto_itself_keeps_the_bytes,
                copies::a_large_copy_is_whole,
                uploads::nothing_shows_before_completion,
                uploads::aborted_and_dropped_uploads_leave_nothing,
                uploads::conditions_are_decided_at_completion,
                uploads::an_upload_without_bytes_is_an_empty_object,
                uploads::pieces_of_any_size_come_together,
                uploads::of_two_uploads_the_later_completion_stays,
                uploads::a_file_of_an_upload_becomes_the_object,
                names::every_legal_name_is_held,
                names::twins_are_two_or_refused,
                names::the_longest_key_is_held,
                names::files_and_folders_of_one_name_come_in_any_order,
                remains::what_is_left_is_found_and_destroyed,
                remains::pages_show_everything_that_is_left,
                remains::an_unfinished_upload_is_found_and_destroyed,
                model::random_operations_look_as_on_the_model,
            }
        }
    };
    (@cases $open:expr; $($part:ident::$case:ident),* $(,)?) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                let subject: Option<$crate::conformance::Subject> = $open.await;
                let Some(subject) = subject else { return };
                $crate::conformance::$part::$case(&subject).await;
                subject.assert_nothing_left().await;
            }
        )*
    };
}
pub(crate) use conformance;

async fn memory_subject() -> Option<Subject> {
    Some(Subject::new("memory", Arc::new(MemoryStore::new(Arc::new(SystemClock)))))
}

conformance!(memory: memory_subject());

async fn versioned_memory_subject() -> Option<Subject> {
    let store = MemoryStore::keeping_versions(Arc::new(SystemClock));
    Some(Subject::new("memory that keeps versions", Arc::new(store)))
}

conformance!(versioned_memory: versioned_memory_subject());

/// `TMPDIR` names another filesystem to try: one that takes capitals for small letters, say.
async fn local_subject() -> Option<Subject> {
    // In memory where there is such a place: ten thousand objects are a minute of syncs.
    let memory = Path::new("/dev/shm");
    let folder = match std::env::var_os("TMPDIR").is_none() && memory.is_dir() {
        true => tempfile::tempdir_in(memory).unwrap(),
        false => tempfile::tempdir().unwrap(),
    };
    let store = LocalStore::open_ambient(folder.path(), Arc::new(SystemClock)).unwrap();
    let temporary = folder.path().join(".bailiwick-tmp");
    let leftovers = move || {
        let names = std::fs::read_dir(&temporary).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
        std::future::ready(names.collect()).boxed()
    };
    let subject = Subject::new("directory", Arc::new(store)).lacking(twins(folder.path()));
    Some(subject.with_leftovers(leftovers).with_model_runs(100).guarded_by(folder))
}

/// What the filesystem at hand cannot hold two of.
#[expect(clippy::disallowed_methods, reason = "the filesystem is looked at from outside")]
fn twins(folder: &Path) -> impl Iterator<Item = Ability> {
    let pairs =
        [(Ability::CaseTwins, "CASE", "case"), (Ability::NormalizationTwins, "\u{e9}", "e\u{301}")];
    let folder = folder.to_owned();
    pairs.into_iter().filter_map(move |(ability, first, second)| {
        std::fs::write(folder.join(first), "").unwrap();
        let folds = folder.join(second).exists();
        std::fs::remove_file(folder.join(first)).unwrap();
        folds.then_some(ability)
    })
}

conformance!(local: local_subject());
