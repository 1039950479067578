"""Arguments of host calls, checked where the contract's types are narrower than Python's."""

from typing import TYPE_CHECKING

from .bindings.imports import types
from .errors import Invalid

if TYPE_CHECKING:
    from typing_extensions import Buffer as Data
else:
    Data = bytes | bytearray | memoryview

U32_MAX = (1 << 32) - 1
U64_MAX = (1 << 64) - 1


def number(name: str, value: int, most: int) -> int:
    """A whole number from 0 to `most`. Raises `Invalid` if it is none."""
    if not isinstance(value, int) or not 0 <= value <= most:
        raise Invalid("number", f"`{name}` is not a whole number from 0 to {most}")
    return int(value)


def string(name: str, value: str) -> str:
    """Text that has a UTF-8 form. Raises `Invalid` if it has none, and `TypeError` if it is no
    text."""
    if not isinstance(value, str):
        raise TypeError(f"`{name}` is a str, and not {type(value).__name__}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Invalid("not-unicode", f"`{name}` holds half of a character") from None
    return value


def optional(name: str, value: str | None) -> str | None:
    """As `string`, or nothing."""
    return None if value is None else string(name, value)


def content(data: Data | str) -> bytes:
    """Bytes as they are, text as UTF-8."""
    return string("data", data).encode() if isinstance(data, str) else bytes(data)


def precondition(if_absent: bool, if_revision: str | None) -> types.Precondition:
    """When a write may take effect. Both conditions at once are refused."""
    if if_absent and if_revision is not None:
        raise Invalid("precondition", "a file cannot be absent and have a revision")
    if if_revision is not None:
        return types.Precondition_IfRevision(string("if_revision", if_revision))
    return types.Precondition_IfAbsent() if if_absent else types.Precondition_Always()
