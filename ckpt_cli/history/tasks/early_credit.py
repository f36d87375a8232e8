"""Who wrote an item that a Topic's list has too early: it may be stored after later steps.

LangGraph encodes a checkpoint in the background, and a Topic that accumulates extends the same list (1.2
``channels/topic.py: checkpoint, update``), as a reducer may do that alters its list or dict in place. Checkpoints are
encoded one after another (``pregel/_loop.py: _checkpointer_put_after_previous``), so a list has the items of all steps
up to one.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from ckpt_cli.history.diff.element_keys import digest
from ckpt_cli.history.tasks.value_credit import Credit, Writers, name_of
from ckpt_cli.history.tasks.write_signs import Explains, Gives, bare
from ckpt_cli.values.langgraph_values import items

_STORED_EARLY = "wrote it, and code that alters values in place may have stored it too early"
_GONE = "a later step may have written it, and such steps may be gone"
_SURPLUS = "more of these came than the step wrote"


def mark_surplus(made: Sequence[Credit], changes: Sequence[Explains], own: Sequence[Any]) -> list[Credit]:
    """The credits of a step's changes; an element is unwritten too if equal ones before it are all that it wrote.

    Args:
        made: a credit for each change.
        changes: the changes, elements in the order of the list.
        own: what the step wrote to the channel.
    """
    written = Counter(_written(own))
    if sum(map(is_element, changes)) <= written.total():
        return [*made]
    marked = []
    for one, explains in zip(made, changes, strict=True):
        key = _key(explains)
        is_surplus = key in written and written[key] == 0
        written[key] -= key in written and not is_surplus
        marked.append(one._replace(is_unwritten=True) if is_surplus and one.by == "node" else one)
    return marked


def or_later(made: Sequence[Credit], changes: Sequence[Explains], writers: Writers, when: str) -> list[Credit]:
    """The credits of a step's changes, each unwritten one with those of a later step who wrote it.

    An element stays unwritten if another one is equal: who wrote the one may have written the other, or a step after
    that. `when` names the step, as in "step 7".
    """
    keys = [_key(explains) if one.is_unwritten else None for one, explains in zip(made, changes, strict=True)]
    equal = {key for key, count in Counter(keys).items() if key is not None and count > 1}
    added = []
    for one, explains, key in zip(made, changes, keys, strict=True):
        fitting = writers.fitting(explains) if one.is_unwritten and isinstance(explains, Gives) else None
        added.append(_with(one, fitting, when)._replace(is_unwritten=key in equal) if fitting and fitting.all else one)
    return added


def or_gone(made: Sequence[Credit], changes: Sequence[Explains]) -> list[Credit]:
    """The credits of a step's changes; an unwritten part says that steps that may have written it may be gone."""
    added = []
    for one, explains in zip(made, changes, strict=True):
        is_part = is_element(explains) or is_key(explains)
        why = f"{one.why or _SURPLUS}; {_GONE}"
        added.append(one._replace(why=why) if one.is_unwritten and is_part else one)
    return added


def _with(made: Credit, writers: Writers, when: str) -> Credit:
    before = made.candidates or ([name_of(made.by, made.node)] if made.by else [])
    names = dict.fromkeys([*before, *writers.names])
    why = f"{made.why or _SURPLUS}; {when} {_STORED_EARLY}"
    if _STORED_EARLY in made.why:
        why = f"{made.why}; so did {when}"
    return Credit(candidates=[*names], why=why)


def is_element(explains: Explains) -> bool:
    """Whether the change is that an element of the channel's list came."""
    return _key(explains) is not None


def is_key(explains: Explains) -> bool:
    """Whether the change is that a key of the channel's dict got its value."""
    return isinstance(explains, Gives) and len(explains.steps) == 1 and isinstance(explains.steps[0], str)


def _key(explains: Explains) -> int | None:
    if not isinstance(explains, Gives) or len(explains.steps) != 1 or type(explains.steps[0]) is not int:
        return None
    return digest(explains.value, raw=False)


def _written(writes: Sequence[Any]) -> Iterator[int | None]:
    """A digest of each item that some writes add to a list."""
    for write in writes:
        value = bare(write)
        elements = value if isinstance(value, tuple) else items(value)
        yield from (digest(bare(one), raw=False) for one in ([value] if elements is None else elements))
