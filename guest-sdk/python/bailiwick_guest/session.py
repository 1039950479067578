"""The conversation around this turn."""

from datetime import timedelta

from componentize_py_types import Err

from ._arguments import U64_MAX, number, string
from .bindings.imports import session as host
from .bindings.imports.session import Status
from .errors import TooLarge


def say(part: str) -> None:
    """A piece of the reply, shown while the turn still runs. The pieces of a turn that is
    interrupted are kept as its partial reply."""
    host.say(string("part", part))


def wake(after: timedelta, input: str) -> None:
    """Runs another turn of this session, with this input, once `after` has passed (counted in
    whole milliseconds). At most 16 a turn.

    Raises `TooLarge` with the host's sentence if it is one too many, or its input too long.
    """
    after_ms = number("after", after // timedelta(milliseconds=1), U64_MAX)
    try:
        host.wake(after_ms, string("input", input))
    except Err as refusal:
        raise TooLarge("wake", refusal.value) from None


def status() -> Status:
    """Whether this turn shall stop, and the milliseconds left before the host ends it."""
    return host.current_status()


def cancelled() -> bool:
    """Whether somebody asked this turn to stop. Finish what is in hand, and return."""
    return status().cancelled


def remaining() -> timedelta:
    """Wall clock left before the host ends the turn."""
    return timedelta(milliseconds=status().remaining_ms)


__all__ = ["Status", "cancelled", "remaining", "say", "status", "wake"]
