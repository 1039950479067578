use super::*;

fn not_found() -> Error {
    let mut error = Error::new(ErrorCode::NotFound, "missing", "There is no `agent/note.md`.");
    error.suggestions.push("agent/notes.md".to_owned());
    error
}

/// An error that went through `std::io` keeps its kind and can be had back whole.
#[test]
fn an_error_survives_std_io() -> io::Result<()> {
    let error = io::Error::from(not_found());
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    assert_eq!(error.to_string(), "There is no `agent/note.md`.");
    assert_eq!(error.downcast::<Error>()?, not_found());
    Ok(())
}

/// The advice for a model names the paths to try instead, and adds nothing where there are none.
#[test]
fn advice_names_the_suggestions() {
    let mut error = not_found();
    assert_eq!(error.advice(), "There is no `agent/note.md`. Try: `agent/notes.md`.");
    error.suggestions.clear();
    assert_eq!(error.advice(), error.to_string());
}
