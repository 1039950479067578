"""Text verbs, done by the host: the bytes of a file stay there."""

from collections.abc import Iterator

from ._arguments import U32_MAX, U64_MAX, number, optional, precondition, string
from .bindings.imports import text as host
from .bindings.imports.text import Match, Matches, Slice
from .bindings.imports.types import File
from .errors import raised


@raised
def read(path: str, line: int = 1, *, offset: int | None = None, lines: int = 1000) -> Slice:
    """Up to `lines` whole lines, at most 256 KiB, of a text file or of the text read out of a
    document: from a line, counted from 1, or from the byte offset that an earlier slice gave as
    `next`. One line longer than the bound is cut, and `next` goes on inside it.

    Raises `NoText` if the file has none, `TextPending` while a document is being read out, and as
    `files.read`.
    """
    start: host.Position = host.Position_Line(number("line", line, U32_MAX))
    if offset is not None:
        start = host.Position_Offset(number("offset", offset, U64_MAX))
    return host.read(string("path", path), start, number("lines", lines, U32_MAX))


def slices(path: str, lines: int = 1000) -> Iterator[Slice]:
    """The slices of a text from its first line to its last, asked for as they are needed. They
    are of one content only where their `revision` is the same."""
    piece = read(path, lines=lines)
    yield piece
    while piece.next is not None:
        piece = read(path, offset=piece.next, lines=lines)
        yield piece


@raised
def replace(
    path: str, old: str, new: str, *, every: bool = False, if_revision: str | None = None
) -> File:
    """Replaces `old` by `new` in a file of at most 16 MiB. It must stand there exactly once, or,
    with `every`, at least once.

    Raises `NoMatch` if it does not (the message says how often it does), `Conflict` if the file
    has another revision.
    """
    occurrence = host.Occurrence.EVERY if every else host.Occurrence.ONLY
    condition = precondition(False, if_revision)
    old, new = string("old", old), string("new", new)
    return host.replace(string("path", path), old, new, occurrence, condition)


@raised
def append(path: str, text: str) -> File:
    """Appends to a file of at most 16 MiB, creating it if absent. Two appends never lose one
    another, and none happens twice."""
    return host.append(string("path", path), string("text", text))


def search(folder: str, pattern: str, *, glob: str | None = None) -> Iterator[Match]:
    """Lines that match a regular expression (syntax of the Rust `regex` crate) in the files under
    a folder, and of those only in files like `glob` (as in a `.gitignore`); the empty folder is
    all that the turn can reach. Pages are asked for as they are needed."""
    after = None
    while True:
        page = search_page(folder, pattern, glob=glob, after=after)
        yield from page.found
        if page.next is None:
            return
        after = page.next


@raised
def search_page(
    folder: str,
    pattern: str,
    *,
    glob: str | None = None,
    after: str | None = None,
    limit: int = 1000,
) -> Matches:
    """One page of a search: `after` is `next` of the page before, `limit` is 1 to 1000. A page
    may be empty and not last.

    Raises `Invalid` on a pattern, glob, cursor or limit that is none.
    """
    glob, after = optional("glob", glob), optional("after", after)
    limit = number("limit", limit, U32_MAX)
    return host.search(string("folder", folder), glob, string("pattern", pattern), after, limit)


__all__ = [
    "Match",
    "Matches",
    "Slice",
    "append",
    "read",
    "replace",
    "search",
    "search_page",
    "slices",
]
