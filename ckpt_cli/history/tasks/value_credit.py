"""Which task of a step gave or removed a part of a channel's value, as far as writes prove it."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

_SEVERAL = "several tasks wrote the channel in this step"
_OTHERWISE = (
    "what it wrote isn't this; a reducer of the graph's own or code that alters values in place may make it, or "
    "somebody altered the database"
)

Explains = Callable[[Sequence[Any]], bool]
"""Whether these writes have a part, or take it away."""


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
        by: ``node``, ``input``, ``update``, ``fork`` or ``channel``; "" if this isn't known.
        candidates: the nodes of which one did it, if it isn't known which.
        why: why it isn't known; "" if it is.
    """

    by: str = ""
    node: str | None = None
    task: str | None = None
    candidates: Sequence[str] = ()
    why: str = ""


def _is_unproved() -> bool:
    return False


def credit(
    writers: Sequence[Writer],
    explains: Explains,
    *,
    is_exact: bool = True,
    is_made: Callable[[], bool] = _is_unproved,
) -> Credit:
    """The writer among those of one step whose writes explain it, or the node that all of them belong to.

    Args:
        writers: at least one.
        explains: asked with the writes of one writer, and of all.
        is_exact: whether `Writer.values` are what was written; what old metadata records isn't always.
        is_made: asked last: whether a known reducer makes the channel's value of these writes.
    """
    fitting = [one for one in writers if explains(one.values or ())] if is_exact or len(writers) > 1 else []
    left = fitting or list(writers)
    first = left[0]
    is_one = len({(one.by, one.node) for one in left}) == 1 and (len(left) == 1 or first.node is not None)
    if is_one and is_exact and not fitting:
        together = [value for one in left for value in one.values or ()]
        if not explains(together) and not is_made():
            return Credit(candidates=(name(first),), why=_OTHERWISE)
    if is_one:
        return Credit(first.by, first.node, first.task or None if len(left) == 1 else None)
    return Credit(candidates=tuple(dict.fromkeys(name(one) for one in left)), why=_SEVERAL)


def name(writer: Writer) -> str:
    """The name of a writer among several."""
    return writer.node or ("unknown node" if writer.by == "node" else writer.by)
