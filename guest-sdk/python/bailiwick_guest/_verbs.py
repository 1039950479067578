"""What a model may call: each tool with its parameters and what it does."""

from collections.abc import Callable
from dataclasses import dataclass

from . import files, text
from ._arguments import U32_MAX
from .files import Depth, File, Page

SHOWN_BYTES_MAX = 16 << 10
"""Answers longer than this are offered to the host for spilling."""

EXACT_MAX = (1 << 53) - 1
"""The most that every reader of JSON holds exactly."""


@dataclass(frozen=True)
class Parameter:
    """One argument of a tool: a string, a truth, or a whole number between two."""

    name: str
    description: str
    kind: type = str
    required: bool = False
    least: int = 0
    most: int = 0

    def schema(self) -> dict:
        """Its JSON Schema."""
        if self.kind is int:
            kind = {"type": "integer", "minimum": self.least, "maximum": self.most}
        else:
            kind = {"type": "boolean" if self.kind is bool else "string"}
        return kind | {"description": self.description}

    def admits(self, value: object) -> bool:
        """Whether it may be this. To Python, truths are numbers."""
        if self.kind is int:
            if not isinstance(value, int) or isinstance(value, bool):
                return False
            return self.least <= value <= self.most
        return isinstance(value, self.kind)

    def noun(self) -> str:
        """What it may be, in words."""
        if self.kind is int:
            return f"a whole number from {self.least} to {self.most}"
        return "true or false" if self.kind is bool else "a string"


@dataclass(frozen=True)
class Verb:
    """A tool and what it does."""

    name: str
    description: str
    parameters: tuple[Parameter, ...]
    run: Callable[[dict], str]

    def input_schema(self) -> dict:
        """The JSON Schema of its arguments: a closed object."""
        return {
            "type": "object",
            "properties": {each.name: each.schema() for each in self.parameters},
            "required": [each.name for each in self.parameters if each.required],
            "additionalProperties": False,
        }

    def usage(self) -> str:
        """What it takes, in a sentence."""
        needs = {True: "required", False: "optional"}
        takes = (
            f"`{each.name}` ({each.noun()}, {needs[each.required]})" for each in self.parameters
        )
        return f"`{self.name}` takes {', '.join(takes)}."

    def check(self, arguments: dict) -> dict:
        """Arguments, each declared, of its kind, and none that is required missing. Raises
        `ValueError` with a sentence for the model."""
        known = {each.name for each in self.parameters}
        for name in arguments:
            if name not in known:
                raise ValueError(f"There is no argument `{name}`. {self.usage()}")
        for each in self.parameters:
            if each.name not in arguments:
                if each.required:
                    raise ValueError(f"`{each.name}` is missing. {self.usage()}")
            elif not each.admits(arguments[each.name]):
                raise ValueError(f"`{each.name}` is not {each.noun()}. {self.usage()}")
        return arguments


def head(content: str) -> str:
    """As much of a text as is shown at most, whole characters."""
    return content.encode()[:SHOWN_BYTES_MAX].decode(errors="ignore")


def _list_files(arguments: dict) -> str:
    depth = Depth.ALL if arguments.get("all") else Depth.CHILDREN
    after, limit = arguments.get("after"), arguments.get("limit", 100)
    page = files.list_page(arguments.get("folder", ""), depth, after=after, limit=limit)
    return _page_lines(page)


def _page_lines(page: Page) -> str:
    lines = [*page.folders, *(f"{file.path} ({file.size} bytes)" for file in page.files)]
    if not lines and page.next is None:
        return "There is nothing."
    return "\n".join([*lines, *_more_after(page.next)])


def _more_after(cursor: str | None) -> list[str]:
    return [] if cursor is None else [_more(f'"after": "{cursor}"')]


def _more(argument: str) -> str:
    return f"[there is more: go on with {argument}]"


def _read_file(arguments: dict) -> str:
    place = {name: arguments[name] for name in ("line", "offset") if name in arguments}
    found = _fitting_slice(arguments["path"], place, arguments.get("lines", 200))
    more = "" if found.next is None else "\n" + _more(f'"offset": {found.next}')
    return found.text + more


def _fitting_slice(path: str, place: dict, lines: int) -> text.Slice:
    """The slice, or as many of its lines as can be shown at once."""
    whole = text.read(path, **place, lines=lines)
    if len(whole.text.encode()) <= SHOWN_BYTES_MAX:
        return whole
    fitting = head(whole.text).count("\n")
    return text.read(path, **place, lines=fitting) if fitting else whole


def _write_file(arguments: dict) -> str:
    file = files.write(arguments["path"], arguments["content"], **_condition(arguments))
    return f"Written: {_file_line(file)}"


def _condition(arguments: dict) -> dict:
    """A revision says more than that nothing is there, and goes before it."""
    if "if_revision" in arguments:
        return {"if_revision": arguments["if_revision"]}
    return {"if_absent": True} if arguments.get("if_absent") else {}


def _file_line(file: File) -> str:
    return f"{file.path} ({file.size} bytes, {file.media_type}, revision {file.revision})"


def _edit_file(arguments: dict) -> str:
    every = arguments.get("every", False)
    old, new = arguments["old"], arguments["new"]
    file = text.replace(arguments["path"], old, new, every=every, **_condition(arguments))
    return f"Edited: {_file_line(file)}"


def _append_to_file(arguments: dict) -> str:
    return f"Appended: {_file_line(text.append(arguments['path'], arguments['text']))}"


def _search_files(arguments: dict) -> str:
    page = text.search_page(
        arguments.get("folder", ""),
        arguments["pattern"],
        glob=arguments.get("glob"),
        after=arguments.get("after"),
        limit=arguments.get("limit", 50),
    )
    lines = [f"{found.path}:{found.line}: {found.text}" for found in page.found]
    if not lines and page.next is None:
        return "No line matches."
    return "\n".join([*lines, *_more_after(page.next)])


def _file_info(arguments: dict) -> str:
    file = files.stat(arguments["path"])
    return f"{_file_line(file)}, changed {file.modified_ms} ms after 1970-01-01 UTC"


def _copy_file(arguments: dict) -> str:
    file = files.copy(arguments["source"], arguments["target"], **_condition(arguments))
    return f"Copied to {_file_line(file)}"


def _move_file(arguments: dict) -> str:
    file = files.move(arguments["source"], arguments["target"], **_condition(arguments))
    return f"Moved to {_file_line(file)}"


def _delete_file(arguments: dict) -> str:
    files.delete(arguments["path"], **_condition(arguments))
    return f"Deleted: {arguments['path']}"


_PATH = Parameter(
    "path",
    "Path of the file, starting with its scope: session/, agent/, workspace/ or skill/<slug>/.",
    required=True,
)
_SOURCE = Parameter("source", "Path of the file to take.", required=True)
_TARGET = Parameter("target", "Path that it gets; replaced if there.", required=True)
_IF_REVISION = Parameter(
    "if_revision", "Only if the file still has this revision, as an earlier answer gave it."
)
_IF_ABSENT = Parameter("if_absent", "Only if nothing is there yet.", bool)
_AFTER = Parameter("after", "Where to go on, as the last answer gave it.")


def _count(name: str, description: str, least: int, most: int) -> Parameter:
    return Parameter(name, description, int, least=least, most=most)


VERBS = (
    Verb(
        "list_files",
        "Lists the files and folders under a folder. Without a folder: every place that can be "
        "reached.",
        (
            Parameter("folder", "Path of the folder."),
            Parameter("all", "Files of all folders below it, too.", bool),
            _AFTER,
            _count("limit", "Most files to list; 100 if not given.", 1, 1000),
        ),
        _list_files,
    ),
    Verb(
        "read_file",
        "Reads lines of a text file, or of the text of a document. Says where to go on if there "
        "is more.",
        (
            _PATH,
            _count("line", "First line, counted from 1.", 1, U32_MAX),
            _count("offset", "Where to go on, as the last answer gave it.", 0, EXACT_MAX),
            _count("lines", "Most lines to read; 200 if not given.", 1, 10_000),
        ),
        _read_file,
    ),
    Verb(
        "write_file",
        "Creates or replaces a file, whole. To change a part of one, use edit_file.",
        (_PATH, Parameter("content", "The whole text.", required=True), _IF_ABSENT, _IF_REVISION),
        _write_file,
    ),
    Verb(
        "edit_file",
        "Replaces text in a file. The old text must stand there exactly once, unless every is "
        "true.",
        (
            _PATH,
            Parameter("old", "The text that stands there, exactly.", required=True),
            Parameter("new", "The text to put in its place.", required=True),
            Parameter("every", "Replace it wherever it stands.", bool),
            _IF_REVISION,
        ),
        _edit_file,
    ),
    Verb(
        "append_to_file",
        "Appends text to a file, creating it if absent. Ends of lines are yours to write.",
        (_PATH, Parameter("text", "The text to append.", required=True)),
        _append_to_file,
    ),
    Verb(
        "search_files",
        "Finds lines that match a regular expression in the text files under a folder.",
        (
            Parameter("pattern", "The regular expression; no look-around.", required=True),
            Parameter("folder", "Where to search; everywhere if not given."),
            Parameter("glob", "Only in files like this, such as *.md."),
            _AFTER,
            _count("limit", "Most lines to find; 50 if not given.", 1, 1000),
        ),
        _search_files,
    ),
    Verb("file_info", "A file's size, revision, time and media type.", (_PATH,), _file_info),
    Verb(
        "copy_file",
        "Copies a file, also to another scope.",
        (_SOURCE, _TARGET, _IF_ABSENT),
        _copy_file,
    ),
    Verb("move_file", "Moves or renames a file.", (_SOURCE, _TARGET, _IF_ABSENT), _move_file),
    Verb(
        "delete_file",
        "Removes a file. It cannot be had back.",
        (_PATH, _IF_REVISION),
        _delete_file,
    ),
)
