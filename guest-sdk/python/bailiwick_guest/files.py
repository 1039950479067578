"""Files of the turn's scopes.

A path is `<scope>/<rest>`. The host resolves every path; one that breaks a rule is refused with a
sentence that names the rule. Any path that an answer holds can be handed back.
"""

import io
from collections.abc import Iterator
from typing import IO, Any, cast

from ._arguments import U32_MAX, U64_MAX, Data, content, number, optional, precondition, string
from ._handles import READ_BYTES_MAX, Reader, TextWriter, Writer
from .bindings.imports import files as host
from .bindings.imports.files import Chunk, Depth, Page
from .bindings.imports.types import File
from .errors import Invalid, NoText, NotFound, raised

_WRITE_BYTES_MAX = 16 << 20
_BUFFER_BYTES = 256 << 10


@raised
def read(path: str, offset: int = 0, length: int = READ_BYTES_MAX) -> Chunk:
    """Up to `length` bytes from `offset`, at most 4 MiB. Fewer only at the end of the file; empty
    at or past it.

    Raises `NotFound`, `Denied`, or `Invalid` on a path that breaks a rule.
    """
    offset, length = number("offset", offset, U64_MAX), number("length", length, U32_MAX)
    return host.read(string("path", path), offset, length)


def read_bytes(path: str) -> bytes:
    """The whole of a file, of one revision, however many calls that takes.

    Raises as `read`, and `Conflict` if the file is replaced meanwhile and its pinned bytes are
    gone.
    """
    first = read(path)
    if len(first.bytes) == first.size:
        return first.bytes
    with Reader(path) as reader:
        if reader.file.revision != first.revision:
            return reader.readall()
        reader.seek(len(first.bytes))
        return first.bytes + reader.readall()


def read_text(path: str) -> str:
    """The whole of a UTF-8 text file, of one revision, its ends of lines as they are.

    Raises `NoText` if it is not UTF-8, and as `read_bytes`.
    """
    try:
        return read_bytes(path).decode()
    except UnicodeDecodeError:
        raise NoText("not-utf-8", f"`{path}` is not UTF-8 text.") from None


def write(
    path: str, data: Data | str, *, if_absent: bool = False, if_revision: str | None = None
) -> File:
    """Creates or replaces a file, whole, of any size; text as UTF-8. All or nothing: a reader
    sees the old bytes or the new ones.

    Raises `Conflict` if something is there (`if_absent`), or if the file has not, or no longer,
    this revision; `Denied` where the turn may not write.
    """
    whole = content(data)
    if len(whole) <= _WRITE_BYTES_MAX:
        return _write(path, whole, precondition(if_absent, if_revision))
    with Writer(path, if_absent=if_absent, if_revision=if_revision) as writer:
        writer.write(whole)
        return writer.finish()


@raised
def _write(path: str, data: bytes, condition: host.types.Precondition) -> File:
    return host.write(string("path", path), data, condition)


@raised
def delete(path: str, *, if_revision: str | None = None) -> None:
    """Removes a file.

    Raises `NotFound` if it is missing, `Conflict` if it has another revision, `Denied` where the
    turn may not write.
    """
    host.delete(string("path", path), precondition(False, if_revision))


@raised
def stat(path: str) -> File:
    """A file's size, revision, time and media type. Raises as `read`."""
    return host.stat(string("path", path))


def exists(path: str) -> bool:
    """Whether a file is there. Raises as `stat`, but for `NotFound`."""
    try:
        stat(path)
    except NotFound:
        return False
    return True


@raised
def copy(
    source: str, target: str, *, if_absent: bool = False, if_revision: str | None = None
) -> File:
    """Copies a file within what the turn can reach, without the bytes passing through the guest.
    The conditions are on the target.

    Raises `Denied` unless the turn may read the one and write the other, `Conflict` if a
    condition fails.
    """
    condition = precondition(if_absent, if_revision)
    return host.copy(string("source", source), string("target", target), condition)


@raised
def move(
    source: str, target: str, *, if_absent: bool = False, if_revision: str | None = None
) -> File:
    """Moves a file: a copy of the source as it is now, then its deletion if it is still the same.

    Raises `Conflict` if the source changed meanwhile, and both stay; as `copy`.
    """
    condition = precondition(if_absent, if_revision)
    return host.move(string("source", source), string("target", target), condition)


def list(folder: str = "") -> Iterator[File]:
    """All files under a folder, in byte order of their paths where the store lists so; the empty
    folder is all that the turn can reach. Pages are asked for as they are needed."""
    for page in pages(folder):
        yield from page.files


def pages(folder: str = "", depth: Depth = Depth.ALL) -> Iterator[Page]:
    """The pages of a listing, asked for as they are needed. With `Depth.CHILDREN`, a page names
    the folders directly under this one instead of what is in them."""
    page = list_page(folder, depth)
    yield page
    while page.next is not None:
        page = list_page(folder, depth, after=page.next)
        yield page


@raised
def list_page(
    folder: str, depth: Depth = Depth.ALL, *, after: str | None = None, limit: int = 1000
) -> Page:
    """One page of a listing: `after` is `next` of the page before, `limit` is 1 to 1000. A page
    may be empty and not last.

    Raises `Invalid` on a cursor or limit that is none; as `read`.
    """
    after, limit = optional("after", after), number("limit", limit, U32_MAX)
    return host.list_files(string("folder", folder), depth, after, limit)


def open(path: str, mode: str = "r", *, newline: str | None = None) -> IO[Any]:
    """A file object, as Python's own `open` gives: `r` reads, `w` creates or replaces, `x` only
    creates; UTF-8 text, or bytes with `b`. What is read is of one revision. What is written is at
    the path once it is closed, whole; a `with` block that an exception leaves, and a file that is
    not closed, leave what was there before.

    Raises `Invalid` on another mode, `Conflict` where `x` finds something, and as `read` and
    `write`. There is no appending: `text.append` does that.
    """
    kinds = sorted(mode.replace("t", "", 1))
    if kinds == ["r"] or kinds == ["b", "r"]:
        buffered = io.BufferedReader(Reader(path), _BUFFER_BYTES)
        text = "b" not in kinds
        return io.TextIOWrapper(buffered, encoding="utf-8", newline=newline) if text else buffered
    if kinds not in (["w"], ["b", "w"], ["x"], ["b", "x"]) or ("t" in mode and "b" in mode):
        raise Invalid("mode", f"`{mode}` is not r, w or x, with b for bytes")
    writer = Writer(path, if_absent="x" in kinds)
    return cast(IO[Any], writer if "b" in kinds else TextWriter(writer, newline))


__all__ = [
    "Chunk",
    "Depth",
    "File",
    "Page",
    "Reader",
    "Writer",
    "copy",
    "delete",
    "exists",
    "list",
    "list_page",
    "move",
    "open",
    "pages",
    "read",
    "read_bytes",
    "read_text",
    "stat",
    "write",
]
