"""Files of any size, read and written as file objects."""

import io
import os
from typing import Any, cast

from ._arguments import U32_MAX, U64_MAX, Data, number, precondition, string
from .bindings.imports import files as host
from .bindings.imports.types import File
from .errors import Closed, Invalid, raised

READ_BYTES_MAX = 4 << 20
_CALL_BYTES_MAX = 4 << 20
_BUFFER_BYTES = 256 << 10


class Reader(io.RawIOBase):
    """A file being read, pinned to the revision it was opened at. Each `read` is a call of the
    host: read large pieces, or take `files.open`, which buffers.

    Raises `TooLarge` with too many readers open (64, by default), and as `files.read`; reading
    raises `Conflict` if the file was replaced or deleted and its pinned bytes are gone.
    """

    def __init__(self, path: str) -> None:
        super().__init__()
        self._host = raised(host.open_reader)(string("path", path))
        self._position = 0
        self.file: File = self._host.file()
        """The file, as it was when it was opened."""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def chunk(self, length: int) -> bytes:
        """Up to `length` bytes, at most 4 MiB; empty at the end."""
        self._check_open()
        data = raised(self._host.read)(number("length", length, U32_MAX))
        self._position += len(data)
        return data

    def readinto(self, buffer: Data) -> int:
        with memoryview(buffer).cast("B") as room:
            data = self.chunk(min(len(room), READ_BYTES_MAX)) if len(room) else b""
            room[: len(data)] = data
            return len(data)

    def readall(self) -> bytes:
        pieces = []
        while self._position < self.file.size and (piece := self.chunk(READ_BYTES_MAX)):
            pieces.append(piece)
        return b"".join(pieces)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._check_open()
        bases = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self.file.size}
        if whence not in bases:
            raise Invalid("seek", f"{whence} is nothing to seek from")
        target = number("offset", bases[whence] + offset, U64_MAX)
        self._host.seek(target)
        self._position = target
        return target

    def close(self) -> None:
        if not self.closed and hasattr(self, "_host"):
            self._host.close()
        super().close()

    def _check_open(self) -> None:
        if self.closed:
            raise Closed("closed", "this reader is closed")


class Writer(io.BufferedIOBase):
    """A file being written. It is at its path once it is finished: by `finish`, by `close`, or at
    the end of a `with` block. One that an exception leaves, `abort` or mere forgetting leave what
    was there before.

    Raises `TooLarge` with too many writers open (16, by default), `Conflict` if a condition fails
    (at once, or when it is finished), and `Denied` where the turn may not write.
    """

    def __init__(
        self, path: str, *, if_absent: bool = False, if_revision: str | None = None
    ) -> None:
        super().__init__()
        self._gathered = bytearray()
        self._file: File | None = None
        self._host: host.Writer | None = None
        condition = precondition(if_absent, if_revision)
        self._host = raised(host.open_writer)(string("path", path), condition)

    def writable(self) -> bool:
        return True

    def write(self, data: Data) -> int:
        """Takes all of the data: what is small is gathered, and goes to the host together."""
        self._open()
        with memoryview(data).cast("B") as whole:
            if len(self._gathered) + len(whole) <= _BUFFER_BYTES:
                self._gathered += whole
                return len(whole)
            self.flush()
            for start in range(0, len(whole), _CALL_BYTES_MAX):
                raised(self._open().write)(bytes(whole[start : start + _CALL_BYTES_MAX]))
            return len(whole)

    def flush(self) -> None:
        """Hands on to the host what was gathered. The file is not made by that."""
        if self._host is not None and self._gathered:
            data = bytes(self._gathered)
            self._gathered.clear()
            raised(self._host.write)(data)

    def finish(self) -> File:
        """Makes the file: from here on it is at its path, whole. Again, it says so again.

        Raises `Closed` after an error of an earlier write, and once it was given up.
        """
        if self._file is None:
            writer = self._open()
            try:
                self.flush()
                self._file = raised(writer.finish)()
            finally:
                self._release()
        return self._file

    def abort(self) -> None:
        """Gives the file up, unless it is made already."""
        if self._host is not None:
            self._gathered.clear()
            self._host.abort()
            self._release()

    def close(self) -> None:
        """`finish`, unless the file was made or given up already."""
        if not self.closed and self._host is not None:
            self.finish()
        super().close()

    def __exit__(self, kind: object, value: object, traceback: object) -> None:
        if kind is not None:
            self.abort()
        self.close()

    def __del__(self) -> None:
        # The base class would close it, and so make a file that is not whole.
        if getattr(self, "_host", None) is not None:
            self.abort()

    def _open(self) -> host.Writer:
        if self._host is None:
            raise Closed("closed", "this writer is closed")
        return self._host

    def _release(self) -> None:
        self._host = None
        super().close()


class TextWriter(io.TextIOWrapper):
    """A `Writer` of UTF-8 text."""

    def __init__(self, writer: Writer, newline: str | None) -> None:
        super().__init__(cast(Any, writer), encoding="utf-8", newline=newline)
        self._writer = writer

    def __exit__(self, kind: object, value: object, traceback: object) -> None:
        if kind is not None:
            self._writer.abort()
            return
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_writer"):
            self._writer.abort()
