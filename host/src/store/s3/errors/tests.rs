use super::FailureKind::{Again, Condition, Full, Lost, NoBucket, NoUpload, NotFound, Refused};
use super::by_answer;

/// Only an answer that says that nothing was done counts as such.
#[test]
fn an_answer_leaves_no_more_doubt_than_it_must() {
    let answers = [
        ((404, "NoSuchKey"), NotFound),
        ((404, "NotFound"), NotFound),
        ((404, "NoSuchBucket"), NoBucket),
        ((404, "NoSuchUpload"), NoUpload),
        ((412, "PreconditionFailed"), Condition),
        ((409, "ConditionalRequestConflict"), Again),
        ((503, "SlowDown"), Again),
        ((503, "ServiceUnavailable"), Lost),
        ((500, "InternalError"), Lost),
        ((502, ""), Lost),
        // An error inside of a 200, as from CompleteMultipartUpload.
        ((200, "InternalError"), Lost),
        ((507, ""), Full),
        ((400, "InvalidRequest"), Refused),
    ];
    for ((status, code), kind) in answers {
        assert_eq!(by_answer(status, code), kind, "{status} {code}");
    }
}
