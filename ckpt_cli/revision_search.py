"""Revisions by what happened: before a text appeared, before a node ran, where a task failed.

It reads along one line of ancestors, and stops where the answer is known.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice, pairwise
from typing import Protocol

from ckpt_cli.errors import PayloadCorrupt
from ckpt_cli.history.search.pattern import Needle
from ckpt_cli.history.search.search import Search
from ckpt_cli.history.state.channels import ERROR, missing
from ckpt_cli.history.tasks.next_tasks import Wiring
from ckpt_cli.history.tasks.node_names import Names
from ckpt_cli.history.tasks.seen_nodes import ran_between
from ckpt_cli.history.tasks.task_ids import pulled
from ckpt_cli.history.tasks.write_makers import is_update
from ckpt_cli.model import NULL_TASK, Ref
from ckpt_cli.values.state import State, TaskWrite

_AT_ONCE = 50  # checkpoints whose writes are listed together


class States(Protocol):
    """What the search reads; see `reading.Reader`."""

    def states(self, refs: Iterable[Ref]) -> Iterator[State]:
        """Decoded checkpoints in the order of `refs`."""
        ...

    def writes_by_checkpoint(
        self, thread_id: str, ns: str, checkpoint_ids: Collection[str] | None = None, *, values: int | None = None
    ) -> dict[str, list[TaskWrite]]:
        """The writes stored on checkpoints, by the checkpoint's id."""
        ...


class LineSearch:
    """Searches one line of ancestors.

    Args:
        reader: reads checkpoints and writes.
        thread_id: the thread.
        ns: the namespace.
        line: the ids of the head and its ancestors, newest first.
    """

    def __init__(self, reader: States, thread_id: str, ns: str, line: Sequence[str]) -> None:
        self._reader, self._thread_id, self._ns, self._line = reader, thread_id, ns, line

    def before_text(self, pattern: str) -> str | None:
        """The last checkpoint before a text first appeared; "" if the first one has it, None if the line doesn't.

        Text that the head's tasks have written counts, though no checkpoint has it yet. Of other checkpoints' writes,
        only those to delta channels count: their values aren't in the checkpoints.

        Raises:
            UsageError: the pattern is no regular expression.
        """
        needle = Needle(pattern)
        with needle.watch.running():
            return self._before(Search(needle))

    def _before(self, search: Search) -> str | None:
        before = ""
        for state in self._reader.states(self._refs(reversed(self._line))):
            unstored = set(missing(state)) if before else set()
            if _is_in(search, state) or (unstored and self._has_written(search, before, unstored)):
                return before
            before = state.ref.checkpoint_id
        return before if before and self._has_written(search, before, None) else None

    def before_node(self, node: str) -> str | None:
        """The checkpoint from which a node ran last; None if nothing on the line shows that it ran.

        A node whose writes are never stored, as those to an UntrackedValue, leaves only its entry in ``versions_seen``.
        """
        stored = self._before_writes(node)
        return self._before_unstored(node, stored) or stored

    def _before_writes(self, node: str) -> str | None:
        """The newest checkpoint with writes of a node."""
        for checkpoint_id, writes in self._written():
            tasks = {write.task_id for write in writes if write.task_id != NULL_TASK and not is_update(write)}
            by_path = {write.task_id: pulled(write.row.task_path) for write in writes if write.task_id in tasks}
            if node in by_path.values():
                return checkpoint_id
            if not all(by_path.values()) and node in self._names(checkpoint_id, tasks):
                return checkpoint_id
        return None

    def _before_unstored(self, node: str, stored: str | None) -> str | None:
        """The checkpoint from which a node ran later than from `stored`, as ``versions_seen`` shows; None if it didn't.

        It is None too where a checkpoint can't be read, or where several steps lie between two checkpoints.
        """
        line = self._line if stored is None else self._line[: self._line.index(stored)]
        with suppress(PayloadCorrupt):
            if stored is not None and (len(line) < 2 or not self._saw_between(node, line[-1], line[0])):
                return None
            for state, before in pairwise(self._reader.states(self._refs(line))):
                ran = ran_between(node, state, before)
                if ran or ran is None or not before.seen.get(node):
                    return before.ref.checkpoint_id if ran else None
        return None

    def _saw_between(self, node: str, older: str, newer: str) -> bool:
        """Whether a node saw something new between two checkpoints."""
        first, last = self._reader.states(self._refs([older, newer]))
        return first.seen.get(node) != last.seen.get(node)

    def failed(self) -> str | None:
        """The newest checkpoint from which a task failed; None if none did."""
        for checkpoint_id, writes in self._written():
            if _with_errors(writes) and _with_errors(self._writes(checkpoint_id)):  # some errors are no failures
                return checkpoint_id
        return None

    def _writes(self, checkpoint_id: str) -> list[TaskWrite]:
        return self._reader.writes_by_checkpoint(self._thread_id, self._ns, [checkpoint_id]).get(checkpoint_id, [])

    def _written(self) -> Iterator[tuple[str, list[TaskWrite]]]:
        """The checkpoints with writes, newest first; values of the writes aren't read."""
        rest = iter(self._line)
        while some := list(islice(rest, _AT_ONCE)):
            writes = self._reader.writes_by_checkpoint(self._thread_id, self._ns, some, values=0)
            yield from ((checkpoint_id, writes[checkpoint_id]) for checkpoint_id in some if checkpoint_id in writes)

    def _names(self, checkpoint_id: str, tasks: Collection[str]) -> set[str | None]:
        """The nodes of tasks whose paths aren't stored, or whose paths don't name them."""
        [state] = self._reader.states(self._refs([checkpoint_id]))
        writes = self._writes(checkpoint_id)
        wiring = Wiring(state, lambda: self._reader.states(self._refs(self._line)))
        wiring.learn_until(lambda: False)  # learn from all checkpoints of the line
        names = Names(state, writes, wiring)
        return {names.node(task_id) for task_id in tasks}

    def _has_written(self, search: Search, checkpoint_id: str, channels: Collection[str] | None) -> bool:
        """Whether a write on a checkpoint has the text; with `channels`, a write to one of them."""
        found = self._reader.writes_by_checkpoint(self._thread_id, self._ns, [checkpoint_id])
        writes = (write for write in found.get(checkpoint_id, ()) if channels is None or write.channel in channels)
        return any(_has(search, write.value) for write in writes)

    def _refs(self, checkpoint_ids: Iterable[str]) -> Iterator[Ref]:
        return (Ref(self._thread_id, self._ns, checkpoint_id) for checkpoint_id in checkpoint_ids)


def _is_in(search: Search, state: State) -> bool:
    """Whether a value of a channel has the text; names of channels are no text of a thread, as for ``grep``."""
    return any(_has(search, value) for value in state.values.values())


def _has(search: Search, value: object) -> bool:
    return next(iter(search.find(value)), None) is not None


def _with_errors(writes: Iterable[TaskWrite]) -> bool:
    return any(write.channel == ERROR for write in writes)
