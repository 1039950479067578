"""One turn: what comes in, what goes out."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

from componentize_py_types import Err

from . import log
from .bindings.exports import turn as exported
from .bindings.exports.turn import Request
from .errors import Error


class Failure(Exception):
    """A failure that the guest reports itself: the caller reads its text, and those of what
    caused it."""


@dataclass(frozen=True)
class Park:
    """What a turn returns that waits for a person. The session's next turn carries the answer."""

    question: str


Turn = Callable[[Request], str | Park]


def agent(turn: Turn) -> Turn:
    """Makes a function the guest's turn. It takes a `Request` and returns the reply, or a `Park`;
    an exception that leaves it fails the turn, and is logged with its place unless it is a
    `Failure` or an `Error`.

    It belongs in the module that `componentize-py` is told, once.
    """

    class Exported:
        def run(self, request: Request) -> exported.Outcome:
            try:
                return _outcome(turn(request))
            except Exception as failure:
                if not isinstance(failure, Failure | Error):
                    log.error(f"{_told(failure)}{_places(failure.__traceback__)}")
                told = _explained(failure).encode(errors="replace").decode()
            raise Err(told)

    # `componentize-py` looks for the export in the module by this name.
    sys.modules[turn.__module__].Turn = Exported  # type: ignore[attr-defined]
    return turn


def _outcome(returned: str | Park) -> exported.Outcome:
    if isinstance(returned, Park):
        return exported.Outcome_Park(_unicode(returned.question))
    return exported.Outcome_Reply(_unicode(returned))


def _unicode(text: str) -> str:
    if not isinstance(text, str):
        raise TypeError(f"a turn returns a str or a Park, and not {type(text).__name__}")
    text.encode()
    return text


def _explained(failure: BaseException) -> str:
    """The texts of an exception and its causes, without those that repeat what was said."""
    text = _told(failure)
    seen = {id(failure)}
    while (cause := failure.__cause__) is not None and id(cause) not in seen:
        seen.add(id(cause))
        if (told := _told(cause)) not in text:
            text = f"{text}: {told}"
        failure = cause
    return text


def _told(failure: BaseException) -> str:
    if isinstance(failure, Failure | Error):
        return str(failure)
    return f"{type(failure).__name__}: {failure}"


def _places(traceback: TracebackType | None) -> str:
    """Where it happened. The sources are not in the component, so that lines are numbers alone."""
    text = ""
    while traceback is not None:
        code = traceback.tb_frame.f_code
        text += f"\n  {code.co_filename}:{traceback.tb_lineno} in {code.co_name}"
        traceback = traceback.tb_next
    return text
