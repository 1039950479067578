"""A result too large to show to a model."""

from ._arguments import Data, content, string
from .bindings.imports import spill as host
from .bindings.imports.spill import Spilled
from .errors import raised


@raised
def spill(name: str, data: Data | str) -> Spilled:
    """Keeps a result where it is found again, and answers with what to show of it: the whole text
    if it fits, else its head and tail on whole lines and a sentence that names the file under
    `session/spill/`. `name` becomes part of the file's name (`table.csv`); the same content under
    the same name is the same file.

    Raises `Invalid` if `name` is no file's name, and whatever keeps the file from being written.
    """
    return host.spill(string("name", name), content(data))


__all__ = ["Spilled", "spill"]
