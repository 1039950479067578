"""What the host answers when it does not do what was asked: one exception for each code of the
contract, all of them an `Error`, and what Python calls such a failure where it has a word."""

import functools
from collections.abc import Callable
from typing import ClassVar, ParamSpec, TypeVar

from componentize_py_types import Err

from .bindings.imports import types


class Error(Exception):
    """A host call that was refused or failed. Its text is the host's message."""

    code: ClassVar[str] = ""
    """The name of the code in the contract, such as `not-found`."""

    def __init__(self, reason: str, message: str, suggestions: list[str] | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        """A stable word within the code, such as `climbs-out`; new ones may come."""
        self.message = message
        """One or two sentences a model can act on."""
        self.suggestions = suggestions or []
        """Paths to try instead; empty unless there is a good one."""

    def __str__(self) -> str:
        return self.message

    def advice(self) -> str:
        """The message, and the paths to try instead: what to put in front of a model."""
        if not self.suggestions:
            return self.message
        paths = ", ".join(f"`{path}`" for path in self.suggestions)
        return f"{self.message.rstrip('.')}. Try: {paths}."


class NoScope(Error, ValueError):
    """The path names no scope. `suggestions` holds the same path under each scope."""

    code = "no-scope"


class Invalid(Error, ValueError):
    """A malformed argument: a path, cursor, pattern or bound. Refused, never repaired."""

    code = "invalid"


class Denied(Error, PermissionError):
    """The grant does not allow it. The same whether or not the file exists."""

    code = "denied"


class NotFound(Error, FileNotFoundError):
    """Nothing is there."""

    code = "not-found"


class Conflict(Error):
    """A precondition failed: the file exists, is gone, or has another revision."""

    code = "conflict"


class NoMatch(Error, ValueError):
    """The text to replace does not stand there, or not exactly once."""

    code = "no-match"


class TooLarge(Error):
    """Over a size, count or length bound, or a quota. The message names it and its number."""

    code = "too-large"


class NoText(Error, ValueError):
    """Text was asked of a file that has none."""

    code = "no-text"


class TextPending(Error):
    """The text of a document is still being read out. Ask again."""

    code = "text-pending"


class Closed(Error, ValueError):
    """The handle was finished, closed, or poisoned by an earlier error."""

    code = "closed"


class Unsupported(Error):
    """This store or this host cannot do it."""

    code = "unsupported"


class Busy(Error):
    """The host is short of memory, handles or connections. Ask again shortly."""

    code = "busy"


class Unavailable(Error, TimeoutError):
    """Storage did not answer. The message says whether anything may have changed."""

    code = "unavailable"


_BY_CODE: dict[types.ErrorCode, type[Error]] = {
    types.ErrorCode.NO_SCOPE: NoScope,
    types.ErrorCode.INVALID: Invalid,
    types.ErrorCode.DENIED: Denied,
    types.ErrorCode.NOT_FOUND: NotFound,
    types.ErrorCode.CONFLICT: Conflict,
    types.ErrorCode.NO_MATCH: NoMatch,
    types.ErrorCode.TOO_LARGE: TooLarge,
    types.ErrorCode.NO_TEXT: NoText,
    types.ErrorCode.TEXT_PENDING: TextPending,
    types.ErrorCode.CLOSED: Closed,
    types.ErrorCode.UNSUPPORTED: Unsupported,
    types.ErrorCode.BUSY: Busy,
    types.ErrorCode.UNAVAILABLE: Unavailable,
}

_P = ParamSpec("_P")
_T = TypeVar("_T")


def raised(call: Callable[_P, _T]) -> Callable[_P, _T]:
    """A function that calls the host, with its refusals as exceptions of this module."""

    @functools.wraps(call)
    def calling(*arguments: _P.args, **named: _P.kwargs) -> _T:
        try:
            return call(*arguments, **named)
        except Err as refusal:
            told: types.Error = refusal.value
        raise _BY_CODE[told.code](told.reason, told.message, list(told.suggestions))

    return calling
