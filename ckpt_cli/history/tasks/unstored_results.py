"""`UnstoredResults`: the nodes that ran in a step, and of whose tasks not all results are stored.

A run with ``durability="exit"`` stores no writes of the steps that it makes, but for those to delta channels (langgraph
1.2 ``pregel/_loop.py: put_writes``). If it makes just one step more, the writes of an earlier run are stored where the
step began: what some tasks gave, and that others asked or failed. Those of which they show nothing had been killed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from ckpt_cli.history.state.channels import CONTROL_WRITES, START
from ckpt_cli.history.tasks.error_handlers import Handler
from ckpt_cli.history.tasks.lost_sends import NO_LOST_SENDS, LostSends, lost_sends
from ckpt_cli.history.tasks.pending_goto import goto_nodes
from ckpt_cli.history.tasks.seen_nodes import pulled_by_seen
from ckpt_cli.history.tasks.task_ids import pull_path, sent
from ckpt_cli.history.tasks.write_attribution import LOOPS, WriteAttribution
from ckpt_cli.history.tasks.write_makers import is_call, is_of_run
from ckpt_cli.model import NULL_TASK
from ckpt_cli.values.state import State, TaskWrite


class UnstoredResults:
    """Finds them by the writes of other tasks, and by ``versions_seen``.

    Args:
        handlers: gives the tasks of error handlers at a checkpoint, by task id.
        node: gives the node of the task that made a write; None if it isn't known.
        sends: gives the nodes of the Sends that a checkpoint starts with; None for each that wasn't read.
    """

    def __init__(
        self,
        attribution: WriteAttribution,
        handlers: Callable[[str], Mapping[str, Handler]],
        node: Callable[[TaskWrite], str | None],
        sends: Callable[[str], Sequence[str | None]],
    ) -> None:
        self._attribution = attribution
        self._handlers = handlers
        self._node = node
        self._sends = sends
        self._in_step = attribution.remembered(self._read_step)
        self.lost_sends = attribution.remembered(self._read_lost_sends)
        """Gives the Sends of the step that made a checkpoint whose tasks left no writes."""

    def late(self, checkpoint_id: str) -> Iterator[str]:
        """The nodes of tasks that had asked or failed, and of which nothing else is stored."""
        for writes in self._tasks(checkpoint_id):
            if all(write.channel in CONTROL_WRITES for write in writes):
                yield from self._ended(writes)

    def between(self, before: State | None, state: State) -> list[str]:
        """The nodes of all such tasks of the step between two decoded checkpoints."""
        checkpoint_id, ran = state.ref.checkpoint_id, pulled_by_seen(state, before)
        paths = {write.row.task_path for write in self._attribution.unordered(checkpoint_id) or ()}
        if all(node == START or pull_path(node) in paths for node in ran):
            ran = {}
        return self.of(checkpoint_id, ran)

    def of(self, checkpoint_id: str, ran: Iterable[str]) -> list[str]:
        """The nodes of all such tasks of the step that made a checkpoint; ``versions_seen`` shows that these `ran`."""
        known, partly = self._in_step(checkpoint_id)
        traceless = [] if None in known or not known else [one for one in ran if one not in known and one != START]
        return list(dict.fromkeys([*partly, *traceless, *self.lost_sends(checkpoint_id).ran]))

    def _read_step(self, checkpoint_id: str) -> tuple[set[str | None], list[str]]:
        """The nodes of the tasks that made a checkpoint, None if one isn't known, and those without a stored result."""
        tasks = self._tasks(checkpoint_id)
        partly = [node for writes in tasks if not any(map(_is_result, writes)) for node in self._ended(writes)]
        return {self._node(writes[0]) for writes in tasks}, partly

    def _read_lost_sends(self, checkpoint_id: str) -> LostSends:
        """A run that stored its writes at its end has none of its last step's tasks, so nothing is lost there."""
        before, tasks = self._attribution.lineage.parent(checkpoint_id), self._tasks(checkpoint_id)
        if before is None or not tasks or any(is_of_run(write) for writes in tasks for write in writes):
            return NO_LOST_SENDS
        ran = {self._node(writes[0]) for writes in tasks if self._is_sent(writes[0])}
        if not ran and self._attribution.note(before).source not in LOOPS:
            return NO_LOST_SENDS  # its Sends would have to be read from the checkpoint itself
        if not (sent_nodes := self._sends(before)):
            return NO_LOST_SENDS
        stored = [writes[0] for writes in self._attribution.unsorted_tasks(before).values()]
        return lost_sends(sent_nodes, [self._node(one) for one in stored if self._is_sent(one)], ran)

    def _is_sent(self, write: TaskWrite) -> bool:
        """Whether a Send may have started the task of a write."""
        task_path = self._attribution.path_of(write)
        return not task_path or sent(task_path) is not None

    def _ended(self, writes: Sequence[TaskWrite]) -> Iterator[str]:
        """The node of a task, if it is known; the step isn't made before its tasks have ended, but for what failed.

        None if a Command's goto went to the node: that puts off a deferred one (langgraph 1.2
        ``channels/last_value.py: LastValueAfterFinish.update``).
        """
        began, task_ids = writes[0].row.checkpoint_id, {write.task_id for write in writes}
        is_handled = any(handler.failed in task_ids for handler in self._handlers(began).values())
        if not (is_handled or is_call(writes) or self._attribution.is_entrypoint(began)):
            node = self._node(writes[0])
            yield from [] if node is None or node in goto_nodes(self._attribution.writes.get(began, ())) else [node]

    def _tasks(self, checkpoint_id: str) -> list[list[TaskWrite]]:
        """The writes that made a checkpoint, by task; none if no writes did, or those of several steps.

        What a run stored at its end has an id that differs from the task's in the first part.
        """
        tasks: dict[str, list[TaskWrite]] = {}
        if self._attribution.note(checkpoint_id).source in LOOPS and not self._attribution.spans_steps(checkpoint_id):
            for write in self._attribution.unordered(checkpoint_id) or ():
                if write.task_id != NULL_TASK:
                    tasks.setdefault(write.task_id.partition("-")[2] or write.task_id, []).append(write)
        return [*tasks.values()]


def _is_result(write: TaskWrite) -> bool:
    """Whether a task's own write records what it gave; a run stores at its end only what goes to delta channels."""
    return write.channel not in CONTROL_WRITES and not is_of_run(write)


def unstored_words(nodes: Sequence[str]) -> str:
    """Says that these nodes ran and that nothing shows all that they wrote."""
    return f"{', '.join(nodes)} ran there, and {'its' if len(nodes) == 1 else 'their'} results aren't all stored"
