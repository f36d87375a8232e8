"""Which task of a step gave or removed a part of a channel's value, as far as writes prove it."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ckpt_cli.history.state.paths import find
from ckpt_cli.values.langgraph_values import items, message, overwrite, spelled_out
from ckpt_cli.values.parts import inside
from ckpt_cli.values.same import same

REMOVE_ALL = "__remove_all__"
"""The id of a message that removes all messages (langgraph 1.2 ``graph/message.py: REMOVE_ALL_MESSAGES``)."""

_SEVERAL = "several tasks wrote the channel in this step"


class Writer(NamedTuple):
    """One task, or one input or update, and what it wrote to the channel.

    Attributes:
        by: ``node``, ``input`` or ``update``.
        node: None if it isn't known.
        values: what it wrote to the channel; None if this was not read.
    """

    by: str
    node: str | None
    task: str
    values: Sequence[Any] | None = None


class Credit(NamedTuple):
    """Who gave a part its value.

    Attributes:
        by: ``node``, ``input``, ``update`` or ``fork``; "" if this isn't known.
        candidates: the nodes of which one did it, if it isn't known which.
        why: why it isn't known; "" if it is.
    """

    by: str = ""
    node: str | None = None
    task: str | None = None
    candidates: Sequence[str] = ()
    why: str = ""


def credit(writers: Sequence[Writer], explains: Callable[[Any], bool]) -> Credit:
    """The writer among those of one step that did it: the only one, or the only one with a write that explains it.

    Args:
        writers: at least one.
        explains: whether a write has the part, or takes the part away.
    """
    fitting = [one for one in writers if any(map(explains, one.values or ()))] if len(writers) > 1 else []
    left = fitting or list(writers)
    first = left[0]
    if len(left) == 1:
        return Credit(first.by, first.node, first.task or None)
    if first.node is not None and len({(one.by, one.node) for one in left}) == 1:
        return Credit(first.by, first.node)
    return Credit(candidates=tuple(dict.fromkeys(name(one) for one in left)), why=_SEVERAL)


def name(writer: Writer) -> str:
    """The name of a writer among several."""
    return writer.node or ("unknown node" if writer.by == "node" else writer.by)


def has_part(written: Any, steps: Sequence[Any], value: Any) -> bool:
    """Whether a write has this value at this path of the channel; `steps` is the path inside the channel.

    A write to a list may be the whole list, some elements or one element, in any place.
    """
    wrapped = overwrite(written)
    written = inside(wrapped.value if wrapped is not None else written)
    if not steps:
        return same(written, value) or _same_message(written, value)
    step, rest = steps[0], steps[1:]
    if type(step) is int and not isinstance(written, dict):
        elements = written if isinstance(written, tuple) else items(written)
        return any(has_part(one, rest, value) for one in elements or ()) or has_part(written, rest, value)
    part = find(written, step)
    return part is not None and has_part(part[1], rest, value)


def takes_away(written: Any, steps: Sequence[Any], value: Any) -> bool:
    """Whether a write removes the part at this path: a RemoveMessage, an Overwrite without the part, a null for a key.

    langgraph 1.2 ``graph/message.py: add_messages``; a null deletes a key in reducers that people write.
    """
    wrapped = overwrite(written)
    if wrapped is not None:
        return not has_part(wrapped.value, steps, value)
    given = map(message, written if isinstance(written, list) else [written])
    removed = {one.id for one in given if one is not None and one.role == "remove"}
    if removed:
        own = message(value)
        return REMOVE_ALL in removed or (own is not None and own.id in removed)
    part = find(written, steps[0]) if len(steps) == 1 and isinstance(inside(written), dict) else None
    return part is not None and part[1] is None


def _same_message(written: Any, value: Any) -> bool:
    """Whether a write is this message, in whatever form, perhaps without the id that `add_messages` gives it."""
    own = message(value)
    if own is None:
        return False
    forms = spelled_out(written)
    given = message(forms[0]) if len(forms) == 1 else None
    if given is None or (given.id is not None and given.id != own.id):
        return False
    return (given.role, given.text, list(given.tool_calls)) == (own.role, own.text, list(own.tool_calls))
