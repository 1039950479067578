"""Keeps notes for its agent: `note TEXT` adds one, `find PATTERN` shows those that match, `table`
makes a table of all of them in the session."""

import csv

from bailiwick_guest import Failure, Park, Request, agent, files, log, text

NOTES = "agent/notes.md"
TABLE = "session/notes.csv"


@agent
def run(request: Request) -> str | Park:
    word, _, rest = request.input.strip().partition(" ")
    rest = rest.strip()
    if request.answer is not None:
        return note(request.answer.strip())
    if word == "note":
        return note(rest) if rest else Park("What shall be noted?")
    if word == "find" and rest:
        return find(rest)
    if word == "table":
        return table()
    raise Failure("The input is `note TEXT`, `find PATTERN` or `table`.")


def note(line: str) -> str:
    if not line or "\n" in line:
        raise Failure("A note is one line.")
    file = text.append(NOTES, f"- {line}\n")
    log.info(f"{file.path} has {file.size} bytes")
    return f"Noted: {line}"


def find(pattern: str) -> str:
    found = [f"{match.line}: {match.text}" for match in text.search("agent", pattern, glob="*.md")]
    return "\n".join(found) or "No note matches."


def table() -> str:
    if not files.exists(NOTES):
        return "There are no notes yet."
    with files.open(NOTES) as notes, files.open(TABLE, "w", newline="") as target:
        rows = csv.writer(target)
        rows.writerow(["number", "note"])
        rows.writerows(enumerate((line.strip().removeprefix("- ") for line in notes), start=1))
    return f"{TABLE} has {files.stat(TABLE).size} bytes."
