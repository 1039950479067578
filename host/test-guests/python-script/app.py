"""Does the calls that its input names, as the guest `script` does, and calls one tool, as the
guest `tools` does: both as the SDK for Python has them."""

import collections
import csv
import json
import pathlib

from bailiwick_guest import (
    Error,
    Failure,
    Request,
    agent,
    dispatch,
    errors,
    files,
    log,
    session,
    spill,
    text,
    tools,
)


@agent
def run(request: Request) -> str:
    asked = json.loads(request.input)
    if isinstance(asked, list):
        return json.dumps(perform_all(asked))
    if "name" not in asked:
        return json.dumps([tool.to_dict() for tool in tools()])
    return json.dumps(dispatch(asked["name"], json.dumps(asked.get("arguments"))).to_dict())


def perform_all(steps: list[dict]) -> list[dict]:
    handles: dict = {}
    answers: list[dict] = []
    for step in steps:
        try:
            answers.append({"ok": perform(step, handles)})
        except Error as error:
            answers.append({"error": told(error)})
    return answers


def told(error: Error) -> dict:
    return {
        "code": error.code,
        "reason": error.reason,
        "message": error.message,
        "suggestions": error.suggestions,
    }


def perform(step: dict, handles: dict) -> object:
    verb = step["do"]
    if verb in VERBS:
        return VERBS[verb](step)
    if verb in OPENING:
        handles[step["as"]] = OPENING[verb](step)
        return {}
    if verb in HANDLED:
        return HANDLED[verb](handles[step["on"]], step)
    raise Failure(f"`{verb}` is no step")


def condition(step: dict) -> dict:
    when = step.get("if")
    if when == "absent":
        return {"if_absent": True}
    return {"if_revision": when["revision"]} if when else {}


def data(step: dict) -> bytes:
    given = step["bytes"]
    if isinstance(given, str):
        return given.encode()
    fill, size = given["fill"].encode(), given["size"]
    return (fill * (size // len(fill) + 1))[:size]


def read(step: dict) -> dict:
    chunk = files.read(step["path"], step.get("offset", 0), step.get("length", 4 << 20))
    return {"text": chunk.bytes.decode(), "size": chunk.size, "revision": chunk.revision}


def read_slice(step: dict) -> dict:
    return vars(text.read(step["path"], step.get("line", 1), lines=step.get("lines", 1000)))


def replace(step: dict) -> dict:
    every = step.get("every", False)
    changed = text.replace(step["path"], step["old"], step["new"], every=every, **condition(step))
    return vars(changed)


def read_object(step: dict) -> dict:
    """What a file object gives: its lines, and its end after a seek."""
    with files.open(step["path"]) as lines, files.open(step["path"], "rb") as raw:
        raw.seek(-step["tail"], 2)
        return {"lines": [line.rstrip("\n") for line in lines], "tail": raw.read().decode()}


def write_object(step: dict) -> dict:
    """Writes lines by a file object, and leaves it as it is told: whole, by an exception, or
    forgotten."""
    try:
        if step["leave"] == "forgotten":
            forgotten = files.open(step["path"], "w")
            forgotten.write("".join(f"{line}\n" for line in step["lines"]))
            del forgotten
            return {}
        with files.open(step["path"], step.get("mode", "w")) as lines:
            lines.writelines(f"{line}\n" for line in step["lines"])
            if step["leave"] == "raising":
                raise KeyError("on the way")
    except KeyError:
        pass
    return {}


def read_all(step: dict) -> dict:
    whole = files.read_bytes(step["path"])
    return {"length": len(whole), "tail": whole[-8:].decode()}


def listed(step: dict) -> dict:
    return {"paths": [file.path for file in files.list(step["folder"])]}


def searched(step: dict) -> dict:
    found = text.search(step["folder"], step["pattern"], glob=step.get("glob"))
    return {"found": [f"{match.path}:{match.line}" for match in found]}


def half(step: dict) -> dict:
    """Text with half of a character, handed to whatever takes text."""
    calls = [
        lambda part: files.stat(f"session/{part}"),
        lambda part: files.write("session/half.txt", part),
        lambda part: text.append("session/half.txt", part),
        lambda part: text.search_page("", part),
        session.say,
        lambda part: spill("half.txt", part),
    ]
    refused = []
    for call in calls:
        try:
            call("\ud800")
        except Error as error:
            refused.append(error.code)
    log.info("half \ud800")
    return {"refused": refused}


def plain(step: dict) -> dict:
    """What the standard library does with the scopes as folders, and the SDK sees of it."""
    folder = pathlib.Path("/session/plain")
    folder.mkdir()
    (folder / "a.txt").write_text("one\nzwei é\n", encoding="utf-8")
    names = sorted(path.name for path in folder.iterdir())
    try:
        pathlib.Path("/workspace/a.txt").write_text("")
        refused = False
    except OSError:
        refused = True
    return {"names": names, "text": files.read_text("session/plain/a.txt"), "refused": refused}


def natural(step: dict) -> dict:
    """Whether Python's own names of failures catch those of the host."""
    caught = []
    for path, kind in [
        ("session/nothing", FileNotFoundError),
        ("workspace/a.txt", PermissionError),
        ("nowhere/a.txt", ValueError),
    ]:
        try:
            files.write(path, "") if kind is PermissionError else files.stat(path)
        except kind as error:
            caught.append(isinstance(error, errors.Error) and str(error) == error.message)
    return {"caught": caught}


def aggregate(step: dict) -> dict:
    """Flights and minutes of delay of each carrier, of a table in a plain file; also as a table."""
    flights, delays = collections.Counter(), collections.Counter()
    with open(step["path"], newline="") as table:
        for row in csv.DictReader(table):
            flights[row["carrier"]] += 1
            if row["arr_delay"] != "NA":
                delays[row["carrier"]] += int(row["arr_delay"])
    found = {carrier: [flights[carrier], delays[carrier]] for carrier in sorted(flights)}
    with open(step["into"], "w", newline="") as table:
        writer = csv.writer(table)
        writer.writerow(["carrier", "flights", "delay"])
        writer.writerows([carrier, *sums] for carrier, sums in found.items())
    return found


VERBS = {
    "read": read,
    "write": lambda step: vars(files.write(step["path"], data(step), **condition(step))),
    "delete": lambda step: files.delete(step["path"], **condition(step)),
    "stat": lambda step: vars(files.stat(step["path"])),
    "list": listed,
    "copy": lambda step: vars(files.copy(step["source"], step["target"], **condition(step))),
    "move": lambda step: vars(files.move(step["source"], step["target"], **condition(step))),
    "text-read": read_slice,
    "replace": replace,
    "append": lambda step: vars(text.append(step["path"], step["text"])),
    "search": searched,
    "spill": lambda step: vars(spill(step["name"], data(step))),
    "read-object": read_object,
    "write-object": write_object,
    "read-all": read_all,
    "half": half,
    "natural": natural,
    "plain": plain,
    "aggregate": aggregate,
}
OPENING = {
    "open-reader": lambda step: files.Reader(step["path"]),
    "open-writer": lambda step: files.Writer(step["path"], **condition(step)),
}
HANDLED = {
    "reader-read": lambda reader, step: {"length": len(reader.chunk(step["length"]))},
    "reader-close": lambda reader, step: reader.close(),
    "writer-write": lambda writer, step: {"size": writer.write(data(step))},
    "writer-finish": lambda writer, step: vars(writer.finish()),
    "writer-abort": lambda writer, step: writer.abort(),
}
