//! What a model may call: each tool with its parameters and what it does.

use crate::bindings::bailiwick::storage::text::{Match, Position, Slice};
use crate::files::{self, Depth, Page};
use crate::{File, Precondition, Result, text};

use super::arguments::Arguments;

/// A tool and what it does.
pub(super) struct Verb {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) parameters: &'static [Parameter],
    pub(super) run: fn(&Arguments) -> Result<String>,
}

/// One argument of a tool.
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    need: Need,
    pub(super) description: &'static str,
}

/// What an argument may be.
pub(super) enum Kind {
    Text,
    Flag,
    Count { min: u64, max: u64 },
}

#[derive(PartialEq)]
enum Need {
    Required,
    Optional,
}

impl Parameter {
    const fn required(name: &'static str, description: &'static str) -> Self {
        Self { name, kind: Kind::Text, need: Need::Required, description }
    }

    const fn optional(name: &'static str, kind: Kind, description: &'static str) -> Self {
        Self { name, kind, need: Need::Optional, description }
    }

    pub(super) fn is_required(&self) -> bool {
        self.need == Need::Required
    }
}

const LINES_DEFAULT: u32 = 200;
const LISTED_DEFAULT: u32 = 100;
const FOUND_DEFAULT: u32 = 50;

/// The most that every reader of JSON holds exactly.
const EXACT_MAX: u64 = (1 << 53) - 1;
const ANY_OFFSET: Kind = Kind::Count { min: 0, max: EXACT_MAX };
const LINE: Kind = Kind::Count { min: 1, max: u32::MAX as u64 };
const LINES: Kind = Kind::Count { min: 1, max: 10_000 };
const PAGE: Kind = Kind::Count { min: 1, max: 1000 };

const PATH: Parameter = Parameter::required(
    "path",
    "Path of the file, starting with its scope: session/, agent/, workspace/ or skill/<slug>/.",
);
const SOURCE: Parameter = Parameter::required("source", "Path of the file to take.");
const TARGET: Parameter = Parameter::required("target", "Path that it gets; replaced if there.");
const IF_REVISION: Parameter = Parameter::optional(
    "if_revision",
    Kind::Text,
    "Only if the file still has this revision, as an earlier answer gave it.",
);
const IF_ABSENT: Parameter =
    Parameter::optional("if_absent", Kind::Flag, "Only if nothing is there yet.");
const AFTER: Parameter =
    Parameter::optional("after", Kind::Text, "Where to go on, as the last answer gave it.");

/// The tools, in the order that a model is told of them.
pub(super) const VERBS: &[Verb] = &[
    Verb {
        name: "list_files",
        description: "Lists the files and folders under a folder. Without a folder: every place \
                      that can be reached.",
        parameters: &[
            Parameter::optional("folder", Kind::Text, "Path of the folder."),
            Parameter::optional("all", Kind::Flag, "Files of all folders below it, too."),
            AFTER,
            Parameter::optional("limit", PAGE, "Most files to list; 100 if not given."),
        ],
        run: list_files,
    },
    Verb {
        name: "read_file",
        description: "Reads lines of a text file, or of the text of a document. Says where to go \
                      on if there is more.",
        parameters: &[
            PATH,
            Parameter::optional("line", LINE, "First line, counted from 1."),
            Parameter::optional(
                "offset",
                ANY_OFFSET,
                "Where to go on, as the last answer gave it.",
            ),
            Parameter::optional("lines", LINES, "Most lines to read; 200 if not given."),
        ],
        run: read_file,
    },
    Verb {
        name: "write_file",
        description: "Creates or replaces a file, whole. To change a part of one, use edit_file.",
        parameters: &[
            PATH,
            Parameter::required("content", "The whole text."),
            IF_ABSENT,
            IF_REVISION,
        ],
        run: write_file,
    },
    Verb {
        name: "edit_file",
        description: "Replaces text in a file. The old text must stand there exactly once, unless \
                      every is true.",
        parameters: &[
            PATH,
            Parameter::required("old", "The text that stands there, exactly."),
            Parameter::required("new", "The text to put in its place."),
            Parameter::optional("every", Kind::Flag, "Replace it wherever it stands."),
            IF_REVISION,
        ],
        run: edit_file,
    },
    Verb {
        name: "append_to_file",
        description: "Appends text to a file, creating it if absent. Ends of lines are yours to \
                      write.",
        parameters: &[PATH, Parameter::required("text", "The text to append.")],
        run: append_to_file,
    },
    Verb {
        name: "search_files",
        description: "Finds lines that match a regular expression in the text files under a \
                      folder.",
        parameters: &[
            Parameter::required("pattern", "The regular expression; no look-around."),
            Parameter::optional("folder", Kind::Text, "Where to search; everywhere if not given."),
            Parameter::optional("glob", Kind::Text, "Only in files like this, such as *.md."),
            AFTER,
            Parameter::optional("limit", PAGE, "Most lines to find; 50 if not given."),
        ],
        run: search_files,
    },
    Verb {
        name: "file_info",
        description: "A file's size, revision, time and media type.",
        parameters: &[PATH],
        run: file_info,
    },
    Verb {
        name: "copy_file",
        description: "Copies a file, also to another scope.",
        parameters: &[SOURCE, TARGET, IF_ABSENT],
        run: copy_file,
    },
    Verb {
        name: "move_file",
        description: "Moves or renames a file.",
        parameters: &[SOURCE, TARGET, IF_ABSENT],
        run: move_file,
    },
    Verb {
        name: "delete_file",
        description: "Removes a file. It cannot be had back.",
        parameters: &[PATH, IF_REVISION],
        run: delete_file,
    },
];

fn list_files(arguments: &Arguments) -> Result<String> {
    let depth = if arguments.flag("all") { Depth::All } else { Depth::Children };
    let limit = arguments.count_or("limit", LISTED_DEFAULT);
    let after = arguments.optional_text("after");
    let page = files::list_page(arguments.text("folder"), depth, after, limit)?;
    Ok(page_lines(&page))
}

fn page_lines(page: &Page) -> String {
    let folders = page.folders.iter().cloned();
    let files = page.files.iter().map(|file| format!("{} ({} bytes)", file.path, file.size));
    let mut lines: Vec<_> = folders.chain(files).collect();
    if lines.is_empty() && page.next.is_none() {
        return "There is nothing.".to_owned();
    }
    lines.extend(page.next.as_ref().map(|next| more(&format!("\"after\": \"{next}\""))));
    lines.join("\n")
}

fn more(argument: &str) -> String {
    format!("[there is more: go on with {argument}]")
}

fn read_file(arguments: &Arguments) -> Result<String> {
    let start = arguments
        .optional_count("offset")
        .map_or_else(|| Position::Line(arguments.count_or("line", 1)), Position::Offset);
    let lines = arguments.count_or("lines", LINES_DEFAULT);
    let slice = fitting_slice(arguments.text("path"), start, lines)?;
    let more = slice.next.map(|next| format!("\n{}", more(&format!("\"offset\": {next}"))));
    Ok(format!("{}{}", slice.text, more.unwrap_or_default()))
}

/// The slice, or as many of its lines as can be shown at once.
fn fitting_slice(path: &str, start: Position, lines: u32) -> Result<Slice> {
    let slice = text::read(path, start, lines)?;
    if slice.text.len() <= super::SHOWN_BYTES_MAX {
        return Ok(slice);
    }
    match super::head(&slice.text).matches('\n').count() {
        0 => Ok(slice),
        fitting => text::read(path, start, u32::try_from(fitting).unwrap_or(lines)),
    }
}

fn write_file(arguments: &Arguments) -> Result<String> {
    let precondition = precondition(arguments);
    let file = files::write_if(arguments.text("path"), arguments.text("content"), &precondition)?;
    Ok(format!("Written: {}", file_line(&file)))
}

fn precondition(arguments: &Arguments) -> Precondition {
    if let Some(revision) = arguments.optional_text("if_revision") {
        return Precondition::IfRevision(revision.to_owned());
    }
    if arguments.flag("if_absent") { Precondition::IfAbsent } else { Precondition::Always }
}

fn file_line(file: &File) -> String {
    let File { path, size, revision, media_type, .. } = file;
    format!("{path} ({size} bytes, {media_type}, revision {revision})")
}

fn edit_file(arguments: &Arguments) -> Result<String> {
    let every = arguments.flag("every");
    let occurrence = if every { text::Occurrence::Every } else { text::Occurrence::Only };
    let (path, old, new) = (arguments.text("path"), arguments.text("old"), arguments.text("new"));
    let file = text::replace_if(path, old, new, occurrence, &precondition(arguments))?;
    Ok(format!("Edited: {}", file_line(&file)))
}

fn append_to_file(arguments: &Arguments) -> Result<String> {
    let file = text::append(arguments.text("path"), arguments.text("text"))?;
    Ok(format!("Appended: {}", file_line(&file)))
}

fn search_files(arguments: &Arguments) -> Result<String> {
    let page = text::search_page(
        arguments.text("folder"),
        arguments.optional_text("glob"),
        arguments.text("pattern"),
        arguments.optional_text("after"),
        arguments.count_or("limit", FOUND_DEFAULT),
    )?;
    let mut lines: Vec<_> = page.found.iter().map(match_line).collect();
    if lines.is_empty() && page.next.is_none() {
        return Ok("No line matches.".to_owned());
    }
    lines.extend(page.next.map(|next| more(&format!("\"after\": \"{next}\""))));
    Ok(lines.join("\n"))
}

fn match_line(found: &Match) -> String {
    format!("{}:{}: {}", found.path, found.line, found.text)
}

fn file_info(arguments: &Arguments) -> Result<String> {
    let file = files::stat(arguments.text("path"))?;
    let modified = file.modified_ms;
    Ok(format!("{}, changed {modified} ms after 1970-01-01 UTC", file_line(&file)))
}

fn copy_file(arguments: &Arguments) -> Result<String> {
    let (source, target) = (arguments.text("source"), arguments.text("target"));
    let file = files::copy_if(source, target, &precondition(arguments))?;
    Ok(format!("Copied to {}", file_line(&file)))
}

fn move_file(arguments: &Arguments) -> Result<String> {
    let (source, target) = (arguments.text("source"), arguments.text("target"));
    let file = files::rename_if(source, target, &precondition(arguments))?;
    Ok(format!("Moved to {}", file_line(&file)))
}

fn delete_file(arguments: &Arguments) -> Result<String> {
    let path = arguments.text("path");
    files::delete_if(path, &precondition(arguments))?;
    Ok(format!("Deleted: {path}"))
}
