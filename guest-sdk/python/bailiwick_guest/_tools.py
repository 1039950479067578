"""The storage verbs as tools for a language model."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from ._spill import spill
from ._verbs import SHOWN_BYTES_MAX, VERBS, Verb, head
from .errors import Error


@dataclass(frozen=True)
class Tool:
    """A tool, as models are told of it: what the model calls it by, when to use it and what it
    answers, and the JSON Schema of its arguments."""

    name: str
    description: str
    input_schema: dict

    def to_dict(self) -> dict:
        """`{"name", "description", "input_schema"}`."""
        return {
            "name": self.name,
            "description": self.description,
            "input_schema": self.input_schema,
        }


@dataclass(frozen=True)
class Answer:
    """What a tool answered, for the model: the result, or sentences on what went wrong and what
    to try instead; and whether it went wrong."""

    content: str
    is_error: bool

    def to_dict(self) -> dict:
        """`{"content", "is_error"}`."""
        return {"content": self.content, "is_error": self.is_error}


def tools() -> list[Tool]:
    """The tools, for the request to a model."""
    return [Tool(verb.name, verb.description, verb.input_schema()) for verb in VERBS]


def dispatch(name: str, arguments: str | Mapping[str, object]) -> Answer:
    """Does what a model asked for: the name of a tool and its arguments, as JSON text or as what
    was read of it. What goes wrong is answered in words that the model can act on, and a result
    too large to show is kept in a file that the answer names."""
    verb = next((verb for verb in VERBS if verb.name == name), None)
    if verb is None:
        names = ", ".join(verb.name for verb in VERBS)
        return Answer(f"There is no tool `{name}`. The tools are {names}.", True)
    try:
        checked = verb.check(_parsed(verb, arguments))
        return Answer(_shown(verb, verb.run(checked)), False)
    except Error as error:
        return Answer(error.advice(), True)
    except ValueError as fault:
        return Answer(str(fault), True)


def _parsed(verb: Verb, arguments: str | Mapping[str, object]) -> dict:
    """The arguments. No text at all is none, which some models send so."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments if arguments.strip() else "{}")
            # Half of a character, escaped, is none that the host could be told.
            json.dumps(arguments, ensure_ascii=False).encode()
        except (ValueError, RecursionError) as error:
            raise ValueError(f"The arguments are not JSON: {error}.") from None
    if not isinstance(arguments, Mapping):
        raise ValueError(f"The arguments are not a JSON object. {verb.usage()}")
    return {name: value for name, value in arguments.items() if value is not None}


def _shown(verb: Verb, content: str) -> str:
    """The content where it is short, what the host shows of it where it is not."""
    if len(content.encode()) <= SHOWN_BYTES_MAX:
        return content
    try:
        return spill(f"{verb.name}.txt", content).text
    except Error as error:
        return f"{head(content)}\n[cut here: {error}]"
