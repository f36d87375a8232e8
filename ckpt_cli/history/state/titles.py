"""The title of a thread: its first human message, else the first text of its input."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ckpt_cli.model import Payload
from ckpt_cli.values.langgraph_values import messages_of, spelled_out, text

if TYPE_CHECKING:
    from ckpt_cli.history.tasks.step_changes import Change

_LONGEST = 500
_MESSAGES = "messages"
_NO_MESSAGES = frozenset({str, int, float, bool, bytes, type(None)})


def from_values(values: Mapping[str, Any]) -> str:
    """The first human message of a state; "" if there is none."""
    if _MESSAGES in values and (spoken := _first_human(values[_MESSAGES], conversation=True)):
        return spoken
    for channel in values:
        value = values[channel]
        if type(value) not in _NO_MESSAGES and channel != _MESSAGES and (spoken := _first_human(value)):
            return spoken
    return ""


def may_hold_message(channel: str, payload: Payload) -> bool:
    """Whether a payload may hold a human message, by its bytes alone: msgpack has texts, and names of types, as UTF-8.

    The roles and types of human messages are "human" and "user". In a conversation a text without a role is one too.
    """
    if channel == _MESSAGES or payload.tag != "msgpack":
        return True
    data = payload.data.lower()
    return b"human" in data or b"user" in data


def from_changes(changes: "Iterable[Change]") -> str:
    """The first human message in an input, else the input's first text; "" if there is neither."""
    listed = list(changes)
    return from_values({change.channel: change.after for change in listed}) or _first_text(c.after for c in listed)


def from_channels(values: Mapping[str, Any]) -> str:
    """The same from what an input gave to each channel."""
    return from_values(values) or _first_text(values.values())


def _first_text(values: Iterable[Any]) -> str:
    return next((line for value in values for line in _texts(value)), "")


def from_input(value: Any) -> str:
    """The title from a raw input, as ``__start__`` holds it."""
    if isinstance(value, dict):
        return from_values(value) or next(_texts(value), "")
    return _first_human(value) or next(_texts(value), "")


def _first_human(value: Any, *, conversation: bool = False) -> str:
    """The text of the first human message in a value; "" if there is none.

    Pairs of role and text count as messages. If `value` itself is such a pair, it only counts in a `conversation`.
    """
    if type(value) in _NO_MESSAGES:
        return ""
    if type(value) is list and not conversation and str in map(type, value):
        return ""
    spelled = spelled_out(value) if isinstance(value, list) else [value]
    spoken = (one.text for one in messages_of(spelled, "human") if one.text.strip())
    return _line(next(spoken, ""))


def _texts(value: Any) -> Iterator[str]:
    """The texts in a small input, the likely titles first."""
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


def _line(text: str) -> str:
    return " ".join(text[: _LONGEST * 2].split())[:_LONGEST]
