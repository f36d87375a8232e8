"""Lists stored with the items of later steps: a Topic that accumulates, and is stored late.

Checkpoints are stored in the background (``durability="async"``, the default), and a Topic gives its own list to them
(langgraph 1.2 ``channels/topic.py: checkpoint, update``). So a checkpoint may have what the next steps wrote. A new run
goes on from such a list as it is stored. Where steps may be gone that wrote such items, nothing shows who did.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain, combinations
from typing import Any, NamedTuple

from ckpt_cli.history.state.channels import INTERRUPT
from ckpt_cli.values.write_forms import is_as_written

LATE = 60
"""A checkpoint is stored at most so many steps late, which a busy disk may take."""

IN_RUNS = frozenset({"loop", "input", "fork"})
"""The sources of checkpoints that a run may store so."""

_TRIED = 6  # tasks of a step of which any may have finished


class LaterStep(NamedTuple):
    """One of the next steps.

    Attributes:
        tasks: what each task wrote.
        after: gives the channels after it; none if they can't be read.
        is_cut: says, of the last that is stored, whether the run may have made further ones.
    """

    tasks: Sequence[Mapping[str, list[Any]]]
    after: Callable[[], Mapping[str, Any]]
    is_cut: Callable[[], bool] = bool

    def written(self, channel: str) -> list[list[Any]]:
        """What each task wrote to a channel, but for tasks that wrote nothing to it."""
        return [task[channel] for task in self.tasks if channel in task]

    @property
    def has_asked(self) -> bool:
        """Whether a task of the step asked a question, which ended the run."""
        return any(INTERRUPT in task for task in self.tasks)


Lists = dict[str, list[Any]]
"""Channel to its list without the items of later steps."""

Later = Callable[[], Iterable[LaterStep]]
"""Gives the next steps, one by one."""


class Early(NamedTuple):
    """The lists in a checkpoint that were stored with later items, without these.

    Attributes:
        unproved: the channels of which not all later items are stored.
    """

    lists: Lists
    unproved: frozenset[str] = frozenset()

    def without(self, others: Collection[str]) -> "Early":
        """The same, but for those unproved lists that no later step can have made: of these channels."""
        lists = {c: value for c, value in self.lists.items() if not (c in self.unproved and c in others)}
        return Early(lists, self.unproved.difference(others))


NO_EARLY = Early({})


def settled(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    written: Mapping[str, list[Any]],
    early_before: Lists,
    find: Callable[[Lists], Early],
) -> tuple[Lists, Early]:
    """The lists in two checkpoints that were stored with later items, without these items.

    Args:
        before: the channels of the older checkpoint, as they are stored.
        after: those of the newer one.
        written: what the tasks of the step between them wrote.
        early_before: those of the older one as far as the steps before show them; none unless a run went on from it
            without reading it. An input, an update and a run that is resumed go on from what is stored.
        find: gives those of the newer one, if the step began with these in the older one.
    """
    grown = (c for c in early_before if c in written and after.get(c) != before.get(c))
    read_again = {c for c in grown if gathered(before.get(c), written[c]) == after.get(c)}
    own = {c: value for c, value in early_before.items() if c not in read_again}
    early = find(own)
    going = {c for c, value in own.items() if c in early.lists or gathered(value, written.get(c, ())) == after.get(c)}
    if going == own.keys():
        return own, early
    own = {c: value for c, value in own.items() if c in going}
    return own, find(own)


def has_grown(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether some list is longer after a step."""
    lists = ((channel, value) for channel, value in after.items() if type(value) is list)
    return any(len(value) > _length(before.get(channel), ()) for channel, value in lists)


def without_later_items(
    before: Mapping[str, Any], after: Mapping[str, Any], written: Mapping[str, list[Any]], later: Later
) -> Early:
    """The lists in a checkpoint that have exactly what its step made and the next items; without these items.

    Of a list that begins so, the other items are unproved if a step that may have written them may be gone.

    Args:
        before: the channels before the step.
        after: the channels as the checkpoint has them.
        written: what the step wrote to each channel.
        later: gives the next steps.
    """
    early, unproved = Lists(), set[str]()
    for channel, value in after.items():
        if type(value) is list and len(value) > _length(before.get(channel), written.get(channel, ())):
            made = gathered(before.get(channel), written.get(channel, ()))
            is_continued = _is_continued(value, made, channel, later)
            if is_continued is not False:
                early[channel] = made
            if is_continued is None:
                unproved.add(channel)
    return Early(early, frozenset(unproved))


def _is_continued(value: list[Any], made: list[Any], channel: str, later: Later) -> bool | None:
    """Whether the next items make a list whole, and it is still there after the step that wrote the last of them.

    None if the items that are stored begin it, and steps that may have written the others may be gone. A Topic that
    accumulates loses nothing; a list of two numbers that happens to look like two writes changes.
    """
    newest: Callable[[], Mapping[str, Any]] = dict
    for step in later():
        before, tasks = made, step.written(channel)
        made = gathered(before, chain.from_iterable(tasks))
        is_whole = len(made) >= len(value)
        if is_whole and (is_as_written(made, value) or (step.has_asked and _is_made_by_some(value, before, tasks))):
            return _begins_with(step.after().get(channel), value)
        if step.is_cut() and _begins_with(value, before) and _begins_with(newest().get(channel), value):
            return None  # not all tasks of the last step may have left their writes
        if is_whole:
            return False
        newest = step.after
    return False


def _is_made_by_some(value: list[Any], before: list[Any], tasks: Sequence[list[Any]]) -> bool:
    """Whether some tasks of a step make a list: a run that a question ends applies what the others have written.

    It does so for its output alone (1.2 ``pregel/_loop.py: _suppress_interrupt``); a Topic's list has it from then on.
    """
    if len(tasks) > _TRIED:
        return False
    some = chain.from_iterable(combinations(tasks, count) for count in range(1, len(tasks)))
    return any(is_as_written(gathered(before, chain.from_iterable(finished)), value) for finished in some)


def _begins_with(after: Any, value: list[Any]) -> bool:
    return type(after) is not list or (len(after) >= len(value) and is_as_written(value, after[: len(value)]))


def gathered(before: Any, writes: Iterable[Any]) -> list[Any]:
    """What a Topic makes of writes; a list adds its elements (1.2 ``channels/topic.py: _flatten``)."""
    items = (item for write in writes for item in (write if isinstance(write, list) else [write]))
    return [*(before if type(before) is list else ()), *items]


def _length(before: Any, writes: Iterable[Any]) -> int:
    """The length of `gathered`."""
    old = len(before) if type(before) is list else 0
    return old + sum(len(write) if isinstance(write, list) else 1 for write in writes)
