"""Lines that a guest reports about its own work; the host keeps them with the turn."""

from .bindings.imports.log import Level, emit


def debug(message: object) -> None:
    """A line for whoever looks for a fault."""
    _emit(Level.DEBUG, message)


def info(message: object) -> None:
    """A line on the normal course of the turn."""
    _emit(Level.INFO, message)


def warn(message: object) -> None:
    """A line on something unexpected that the turn gets over."""
    _emit(Level.WARN, message)


def error(message: object) -> None:
    """A line on something that keeps the turn from its work."""
    _emit(Level.ERROR, message)


def _emit(level: Level, message: object) -> None:
    emit(level, str(message).encode(errors="replace").decode())
