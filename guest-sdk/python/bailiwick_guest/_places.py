"""What a turn can reach."""

from .bindings.imports import files as host
from .bindings.imports.types import Access, Mount


def mounts() -> list[Mount]:
    """What this turn can reach, each place with what may be done there. A place that the turn has
    no grant for is not listed."""
    return host.mounts()


__all__ = ["Access", "Mount", "mounts"]
