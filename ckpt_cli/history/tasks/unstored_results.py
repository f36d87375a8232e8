"""`UnstoredResults`: the nodes that ran in a step, and of whose tasks no result is stored.

A run with ``durability="exit"`` stores no writes of the steps that it makes, but for those to delta channels (langgraph
1.2 ``pregel/_loop.py: put_writes``). If it makes just one step more, the writes of an earlier run are stored where the
step began: what some tasks gave, and that others asked or failed. Those of which they show nothing had been killed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from ckpt_cli.history.state.channels import CONTROL_WRITES, START
from ckpt_cli.history.tasks.error_handlers import Handler
from ckpt_cli.history.tasks.seen_nodes import nodes_by_seen
from ckpt_cli.history.tasks.task_ids import PULL
from ckpt_cli.history.tasks.write_attribution import LOOPS, WriteAttribution
from ckpt_cli.history.tasks.write_makers import is_call
from ckpt_cli.model import NULL_TASK
from ckpt_cli.values.state import State, TaskWrite


class UnstoredResults:
    """Finds them by the writes of other tasks, and by ``versions_seen``.

    Args:
        handlers: gives the tasks of error handlers at a checkpoint, by task id.
        node: gives the node of the task that made a write; None if it isn't known.
    """

    def __init__(
        self,
        attribution: WriteAttribution,
        handlers: Callable[[str], Mapping[str, Handler]],
        node: Callable[[TaskWrite], str | None],
    ) -> None:
        self._attribution = attribution
        self._handlers = handlers
        self._node = node

    def late(self, checkpoint_id: str) -> Iterator[str]:
        """The nodes of tasks that had asked or failed; the step isn't made before all of its tasks have finished."""
        for task_id, writes in self._tasks(checkpoint_id).items():
            began = writes[0].row.checkpoint_id
            if not all(write.channel in CONTROL_WRITES for write in writes) or is_call(writes):
                continue
            is_handled = any(handler.failed == task_id for handler in self._handlers(began).values())
            node = None if is_handled or self._attribution.is_entrypoint(began) else self._node(writes[0])
            if node is not None:
                yield node

    def between(self, before: State | None, state: State) -> list[str]:
        """The nodes of all such tasks of the step between two decoded checkpoints."""
        checkpoint_id, ran = state.ref.checkpoint_id, nodes_by_seen(state, before)
        paths = {write.row.task_path for write in self._attribution.unordered(checkpoint_id) or ()}
        if all(node == START or f"~{PULL}, {node}" in paths for node in ran):
            ran = {}
        return self.of(checkpoint_id, ran)

    def of(self, checkpoint_id: str, ran: Iterable[str]) -> list[str]:
        """The nodes of all such tasks of the step that made a checkpoint; ``versions_seen`` shows that these `ran`."""
        tasks = self._tasks(checkpoint_id)
        known = {self._node(writes[0]) for writes in tasks.values()}
        traceless = [] if None in known or not tasks else [one for one in ran if one not in known and one != START]
        return list(dict.fromkeys([*self.late(checkpoint_id), *traceless]))

    def _tasks(self, checkpoint_id: str) -> dict[str, list[TaskWrite]]:
        """The writes that made a checkpoint, by task; {} if no writes did, or those of several steps."""
        tasks: dict[str, list[TaskWrite]] = {}
        if self._attribution.note(checkpoint_id).source in LOOPS and not self._attribution.spans_steps(checkpoint_id):
            for write in self._attribution.unordered(checkpoint_id) or ():
                if write.task_id != NULL_TASK:
                    tasks.setdefault(write.task_id, []).append(write)
        return tasks


def unstored_words(nodes: Sequence[str]) -> str:
    """Says that these nodes ran and nothing shows what they wrote."""
    return f"{', '.join(nodes)} ran there, and no result of {'it' if len(nodes) == 1 else 'them'} is stored"
