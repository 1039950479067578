//! A pattern, made to be looked for in many lines at once.

use regex_automata::meta::{self, BuildError};
use regex_automata::{Input, MatchKind};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{
    Class, ClassBytes, ClassBytesRange, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look,
    Repetition,
};

use crate::limits::{SEARCH_PATTERN_BYTES_MAX, SEARCH_PROGRAM_BYTES_MAX};
use crate::space::Error;

/// Deepest nesting of groups in a pattern.
const NESTED_MAX: u32 = 64;

/// A regular expression that means within a text of many lines what it means for each of them
/// alone: it matches no end of a line, and takes the ends of a line for the ends of the text.
pub(super) struct Pattern(meta::Regex);

impl Pattern {
    /// # Errors
    /// `too-large` over its bounds, `invalid` if it is none.
    pub(super) fn compile(pattern: &str) -> Result<Self, Error> {
        if pattern.len() > SEARCH_PATTERN_BYTES_MAX {
            let message = format!("a pattern is at most {SEARCH_PATTERN_BYTES_MAX} bytes");
            return Err(Error::too_large("pattern", message));
        }
        let mut parser = ParserBuilder::new().utf8(false).nest_limit(NESTED_MAX).build();
        let parsed = parser.parse(pattern).map_err(|error| no_pattern(&error.to_string()))?;
        let config = meta::Config::new()
            .match_kind(MatchKind::LeftmostFirst)
            .utf8_empty(false)
            .nfa_size_limit(Some(SEARCH_PROGRAM_BYTES_MAX))
            .hybrid_cache_capacity(2 * SEARCH_PROGRAM_BYTES_MAX);
        let built = meta::Builder::new().configure(config).build_from_hir(&within_lines(&parsed));
        built.map(Self).map_err(|error| refused(&error))
    }

    /// Where in `text`, from `at` on, the first match is known to have been: an offset in the
    /// line that it is in. Takes time with the lines up to it, and no more.
    pub(super) fn find_from(&self, text: &[u8], at: usize) -> Option<usize> {
        let input = Input::new(text).range(at..).earliest(true);
        self.0.search_half(&input).map(|found| found.offset())
    }
}

fn no_pattern(error: &str) -> Error {
    Error::invalid("pattern", format!("that is not a regular expression: {error}"))
}

fn refused(error: &BuildError) -> Error {
    match error.size_limit() {
        Some(_) => {
            Error::too_large("pattern", "that pattern is too large once compiled: repeat less")
        }
        None => no_pattern(&error.to_string()),
    }
}

/// The expression for lines of a text. As deep as the pattern is nested, which is bounded.
fn within_lines(hir: &Hir) -> Hir {
    match hir.kind() {
        HirKind::Empty => Hir::empty(),
        HirKind::Literal(literal) if literal.0.contains(&b'\n') => Hir::fail(),
        HirKind::Literal(literal) => Hir::literal(literal.0.clone()),
        HirKind::Class(class) => Hir::class(without_line_feed(class.clone())),
        HirKind::Look(Look::Start) => Hir::look(Look::StartLF),
        HirKind::Look(Look::End) => Hir::look(Look::EndLF),
        HirKind::Look(look) => Hir::look(*look),
        HirKind::Repetition(repetition) => Hir::repetition(Repetition {
            sub: Box::new(within_lines(&repetition.sub)),
            ..repetition.clone()
        }),
        // Nobody asks for what a group matched.
        HirKind::Capture(capture) => within_lines(&capture.sub),
        HirKind::Concat(parts) => Hir::concat(parts.iter().map(within_lines).collect()),
        HirKind::Alternation(parts) => Hir::alternation(parts.iter().map(within_lines).collect()),
    }
}

fn without_line_feed(mut class: Class) -> Class {
    match &mut class {
        Class::Unicode(letters) => {
            letters.difference(&ClassUnicode::new([ClassUnicodeRange::new('\n', '\n')]));
        }
        Class::Bytes(bytes) => {
            bytes.difference(&ClassBytes::new([ClassBytesRange::new(b'\n', b'\n')]));
        }
    }
    class
}
