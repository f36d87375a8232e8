"""What a thread was about: its first human message, else what was first put into it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ckpt_cli.history.tasks.step_changes import Change
from ckpt_cli.values.known import messages, spelled_out, text

_LONGEST = 500
_TALKATIVE = "messages"


def from_values(values: Mapping[str, Any]) -> str:
    """The first human message of a state; "" where there is none."""
    ordered = sorted(values, key=lambda channel: channel != _TALKATIVE)
    return next(filter(None, (_first_human(values[channel], channel == _TALKATIVE) for channel in ordered)), "")


def from_changes(changes: Iterable[Change]) -> str:
    """The first thing said in an input, else its first text; "" where there is neither."""
    known = list(changes)
    return from_values({change.channel: change.after for change in known}) or next(
        (line for change in known for line in _texts(change.after)), ""
    )


def from_input(value: Any) -> str:
    """The same of a raw input as ``__start__`` holds it."""
    if isinstance(value, dict):
        return from_values(value) or next(_texts(value), "")
    return _first_human(value) or next(_texts(value), "")


def _first_human(value: Any, conversation: bool = False) -> str:
    """The first human message of a list; of pairs of role and text, too, one alone only in a `conversation`."""
    listed = isinstance(value, list) and (conversation or not any(isinstance(item, str) for item in value))
    known = messages(spelled_out(value) if listed else [value])
    said = [one for one in known or () if one.text.strip()]
    first = next((one for one in said if one.role == "human"), None)
    return _line(first.text) if first is not None else ""


def _texts(value: Any) -> Iterator[str]:
    """The texts in a small input, the likely ones first."""
    if isinstance(value, str):
        if value.strip():
            yield _line(value)
    elif isinstance(value, dict):
        for item in value.values():
            if isinstance(item, str):
                yield from _texts(item)
    elif isinstance(value, list) and value:
        yield from _texts(value[0])
    elif (natural := text(value)) is not None:
        yield _line(natural)


def _line(said: str) -> str:
    return " ".join(said[: _LONGEST * 2].split())[:_LONGEST]
