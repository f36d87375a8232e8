"""Paths inside state, as people type them: ``messages[-1].content``, ``files["a b"].size``, ``["odd.channel"]``.

A step by name is a text key of a dict or a field of an object. A step in brackets is a position in a list, set, tuple
or deque, or a dict's key of any plain type. No attribute of a Python object is read, only recorded fields.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from ckpt_cli.errors import CkptError, PathNotFound, UsageError, ValueUnknown
from ckpt_cli.values.node import Node
from ckpt_cli.values.parts import fields, inside, positions
from ckpt_cli.values.well_known_types import text as natural

_NAME = re.compile(r"[^.\[\]\"'\s][^.\[\]]*")
_PLAIN = re.compile(r"[^\W\d][\w\-]*")
_BRACKET = re.compile(
    r"\[\s*(?:(?P<int>-?\d{1,18})|(?P<real>-?\d{1,18}\.\d{1,18})|(?P<word>true|false|null)"
    r"|(?P<quoted>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'))\s*\]"
)
_WORDS = {"true": True, "false": False, "null": None}
_HINT = 'write channel.field, list[0], list[-1], dict["any key"] or ["any channel"].field'
_RANGE = re.compile(r"\[\s*-?\d*\s*:")
_RANGE_HINT = "a path names one place; `ckpt get THREAD PATH --query 'value[-2:]'` prints a part of the list there"
_LISTED = 8


def parse(text: str) -> list[Any]:
    """The steps of a path: text for keys and fields, int, float, bool or None for positions and other keys.

    Raises:
        UsageError: the text is no path; a caret shows where.
    """
    steps: list[Any] = []
    at = 0
    while at < len(text):
        if bracket := _BRACKET.match(text, at):
            steps.append(_key(bracket))
            at = bracket.end()
            continue
        start = at + 1 if steps and text[at] == "." else at
        name = _NAME.match(text, start)
        if name is None or (steps and start == at):
            hint = _RANGE_HINT if _RANGE.match(text, start) else _HINT
            raise UsageError("the path can't be read from here on", hint=hint, candidates=[text, " " * start + "^"])
        steps.append(name[0])
        at = name.end()
    if not steps:
        raise UsageError("the path is empty", hint=_HINT)
    return steps


def _key(match: re.Match[str]) -> Any:
    if match["int"]:
        return int(match["int"])
    if match["real"]:
        return float(match["real"])
    if match["word"]:
        return _WORDS[match["word"]]
    body = match["quoted"][1:-1]
    if match["quoted"][0] == "'":
        body = body.replace("\\'", "'").replace('"', '\\"')
    try:
        return json.loads(f'"{body}"', strict=False)
    except ValueError as error:
        raise UsageError(f"{match['quoted']} is no text", hint=_HINT) from error


def spell(steps: Sequence[Any]) -> str:
    """The text of the path with these steps; `parse` reads it back if all keys are of plain types."""
    path = ""
    for step in steps:
        if isinstance(step, str) and _PLAIN.fullmatch(step):
            path += f".{step}" if path else step
        else:
            path += f"[{_spelled(step)}]"
    return path


def _spelled(step: Any) -> str:
    if step is None or isinstance(step, str | int | float):
        return json.dumps(step, ensure_ascii=False)
    return natural(step) or str(step)


def follow(value: Any, steps: Sequence[Any], start: Sequence[Any] = ()) -> Any:
    """The part that a path leads to from a value; `start` is the path of that value, for errors.

    Raises:
        PathNotFound: the path leads nowhere. The message names the deepest part that exists, and its contents.
        ValueUnknown: the path leads into a value that isn't known.
    """
    for at, step in enumerate(steps):
        part = find(value, step)
        if part is None:
            raise lost([*start, *steps[:at]], step, value)
        value = part[1]
    return value


def find(value: Any, step: Any) -> tuple[Any, Any] | None:
    """The key or position that a step names, and the part there; None if there is none."""
    if isinstance(inside(value), dict) or isinstance(step, str):
        return _by_key(fields(value), step)
    elements = positions(value)
    if type(step) is not int or elements is None or not -len(elements) <= step < len(elements):
        return None
    return step % len(elements), elements[step]


def _by_key(keyed: dict[Any, Any], step: Any) -> tuple[Any, Any] | None:
    """The item with this key, else the item whose key has the same text: JSON and old releases made all keys text."""
    if step in keyed:
        return step, keyed[step]
    for key, item in keyed.items():
        if key == str(step) if isinstance(key, str) else _spelled(key) == step:
            return key, item
    return None


def lost(path: Sequence[Any], step: Any, value: Any) -> CkptError:
    """The error for a step that leads nowhere; `path` is the path of `value`."""
    from ckpt_cli.history.reducers.rebuilt import is_unproven

    value = inside(value)
    here = spell(path) or "the state"
    missing = spell([*path, step])
    if is_unproven(value):
        return ValueUnknown(f"{missing} isn't known: what is stored doesn't prove the value of delta channel {here}")
    if isinstance(step, int) and not isinstance(value, dict) and (elements := positions(value)) is not None:
        count = "1 item" if len(elements) == 1 else f"{len(elements)} items"
        return PathNotFound(f"no {missing}: {here} has {count}", hint=_range(here, len(elements)))
    names = [_spelled(key) if not isinstance(key, str) else key for key in fields(value)]
    if not names:
        return PathNotFound(f"no {missing}: {here} is {_kind(value)}")
    from difflib import get_close_matches

    near = get_close_matches(str(step), names, n=3, cutoff=0.5)
    shown = ", ".join([*names[:_LISTED], *([f"… {len(names) - _LISTED} more"] if len(names) > _LISTED else [])])
    hint = f"did you mean {spell([*path, near[0]])}?" if near else f"{here} has {shown}"
    return PathNotFound(
        f"no {missing}: {here} is {_kind(value)} without it", hint=hint, candidates=near if len(near) > 1 else ()
    )


def _range(here: str, count: int) -> str:
    if count < 2:
        return f"{here}[0] is the only one" if count else f"{here} is empty"
    return f"{here}[0] to {here}[{count - 1}]; [-1] is the last"


def _kind(value: Any) -> str:
    if isinstance(value, Node):
        return f"a {value.name or 'value that cannot be decoded'}"
    names = {dict: "a dict", list: "a list", str: "a text", bytes: "bytes", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number" if isinstance(value, int | float) else f"a {type(value).__name__}")
