"""Write agent guests for Bailiwick in Python.

A guest is a function and one decorator: the function takes what the caller sent and returns the
reply. Between the two it keeps files in the few places that the host gave its turn: `session/…`
lives as long as the conversation, `agent/…` as long as the agent, `workspace/…` is shared by the
workspace's agents, and `skill/<slug>/…` is a read-only package.

- `files`: read, write, list, copy, move, delete; `files.open` gives file objects, for files of
  any size.
- `text`: slices by line, exact replacement, appending, searching.
- `spill`: a result too large to show goes to a file, a digest of it to the model.
- `session`: pieces of the reply while the turn runs, a later turn, the time that is left.
- `log`: lines about the guest's own work.
- `tools` and `dispatch`: all of it as tools for a language model, in two lines.
- `errors`: what the host answers when it does not do what was asked, an exception each.

Import modules at the top of yours: a component holds those that were imported when it was built,
and no others.
"""

from . import errors, files, log, session, text
from ._places import Access, Mount, mounts
from ._spill import Spilled, spill
from ._tools import Answer, Tool, dispatch, tools
from ._turn import Failure, Park, Request, agent
from .errors import Error
from .files import File

__all__ = [
    "Access",
    "Answer",
    "Error",
    "Failure",
    "File",
    "Mount",
    "Park",
    "Request",
    "Spilled",
    "Tool",
    "agent",
    "dispatch",
    "errors",
    "files",
    "log",
    "mounts",
    "session",
    "spill",
    "text",
    "tools",
]
