"""Whether a checkpoint holds what was written, where the serializer stores the two in different ways.

LangGraph reads these as different objects, so of two states they are different values.
"""

from datetime import datetime
from typing import Any

from ckpt_cli.values.node import Node
from ckpt_cli.values.recorded_calls import arguments_of
from ckpt_cli.values.same import compare


def is_as_written(written: Any, recorded: Any) -> bool:
    """Whether a value that was written is the recorded one, or both are forms in which one value is stored."""
    return compare(written, recorded, _is_other_form)


def is_kept(before: Any, after: Any) -> bool:
    """Whether a channel that kept its version has its value still, though one checkpoint is a pickle and one is not."""
    return compare(before, after, _is_form_of_pickle)


def is_part_kept(before: Any, after: Any) -> bool:
    """The same for a part of a value that was written to: bytes may have come in place of a bytearray."""
    return compare(before, after, _is_moment_of_pickle)


def _is_form_of_pickle(a: Any, b: Any) -> bool:
    one, other = (b, a) if isinstance(a, bytes) else (a, b)
    is_encoded = isinstance(one, Node) and one.encoding.startswith("msgpack")
    return _is_moment_of_pickle(a, b) or (not is_encoded and _is_bytearray(one, other))


def _is_moment_of_pickle(a: Any, b: Any) -> bool:
    """Whether one moment is from a pickle and has a zone, of which the other has the offset.

    Two of one encoding that differ are two values.
    """
    if not (isinstance(a, Node) and isinstance(b, Node)) or a.encoding == b.encoding:
        return False
    return _is_moment(a, b) or _is_moment(b, a)


def _is_other_form(a: Any, b: Any) -> bool:
    return _is_bytearray(a, b) or _is_bytearray(b, a) or _is_moment(a, b) or _is_moment(b, a)


def _is_bytearray(a: Any, b: Any) -> bool:
    """Whether one is a bytearray and the other has the same bytes.

    A write, and a channel in a table of its own, may be a bytearray; in a checkpoint's msgpack the same value is stored
    as bytes (langgraph-checkpoint 4.3 ``serde/jsonplus.py: dumps_typed``).
    """
    return isinstance(b, bytes) and isinstance(a, Node) and a.type == "builtins.bytearray" and a.compared.content == [b]


def _is_moment(a: Any, b: Any) -> bool:
    """Whether one is a datetime with the name of a zone, as a pickle has it, and the other has the offset there.

    msgpack keeps only the offset. ``pickle_fallback`` stores a whole checkpoint as a pickle if one channel needs it
    (langgraph-checkpoint 4.3 ``serde/jsonplus.py: dumps_typed``).
    """
    if not (isinstance(a, Node) and isinstance(b, Node) and a.type == b.type == "datetime.datetime"):
        return False
    local, bracket, name = a.state.partition("[") if isinstance(a.state, str) else ("", "", "")
    if not bracket:
        return False
    from zoneinfo import ZoneInfo

    try:
        moment = datetime.fromisoformat(local).replace(tzinfo=ZoneInfo(name.removesuffix("]")))
    except (ValueError, KeyError, OSError):  # this machine doesn't know the zone: `ZoneInfoNotFoundError` is a KeyError
        return False
    return bool(b.compared.content == arguments_of(moment))
