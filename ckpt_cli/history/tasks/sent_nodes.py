"""`SentNodes`: the node that each Send of a checkpoint called, from writes, task ids or the checkpoint."""

from collections.abc import Callable, Iterable, Iterator
from functools import cache

from ckpt_cli.history.state.channels import TASKS
from ckpt_cli.history.tasks.possible_nodes import PossibleNodes, called
from ckpt_cli.history.tasks.stored_sends import indexed_sends
from ckpt_cli.history.tasks.task_ids import Place
from ckpt_cli.history.tasks.write_attribution import WriteAttribution
from ckpt_cli.history.tasks.write_makers import is_command
from ckpt_cli.values.state import State, TaskWrite

ReadState = Callable[[str], State | None]
"""Gives the decoded checkpoint of the namespace with an id; None if it can't be read."""

_COPIES = frozenset({"update", "fork"})  # the sources of a checkpoint that may have Sends of a step before its parent


class SentNodes:
    """The Sends with which the checkpoints of one namespace start.

    Args:
        places: gives the possible places where the task of a write started.
        read_state: called only for a checkpoint that an update or a fork made, if no stored write shows its Sends, and
            for one before which nothing is stored.
    """

    def __init__(
        self,
        attribution: WriteAttribution,
        names: PossibleNodes,
        places: Callable[..., list[Place]],
        read_state: ReadState,
    ) -> None:
        self._attribution = attribution
        self._names = names
        self._places = places
        self._read_state = read_state
        self._own = cache(self._read_own)
        self.packets = attribution.remembered(self._read_packets)
        """Gives the nodes of the Sends that a checkpoint starts with, None for each Send whose value was not read."""
        self._unwritten = attribution.remembered(self._read_unwritten)
        self._replaced = attribution.remembered(self._read_replaced)
        self.pushed = attribution.remembered(self._read_pushed)
        """Gives the id that the task of each Send of a checkpoint has: to the node and the index of the Send."""

    def starting_writes(self, checkpoint_id: str) -> list[TaskWrite]:
        """The writes that started the tasks of a checkpoint: of the previous step, and of a Command given there.

        The Sends of a Command replace the others (langgraph 1.2 ``channels/topic.py: Topic.update``).
        """
        previous = [w for w in self._attribution.unordered(checkpoint_id) or () if not is_command(w)]
        return [*previous, *filter(is_command, self._attribution.writes.get(checkpoint_id, ()))]

    def node(self, write: TaskWrite, index: int) -> str | None:
        """The node that a Send called: read from the Send's value, else the Send target that gives the task's id.

        A task may be of a Send that a Command's Send replaced afterwards, for another node at the same index.
        """
        checkpoint_id = write.row.checkpoint_id
        possible = (self.packets(checkpoint_id), self._replaced(checkpoint_id))
        named = (nodes[index] for nodes in possible if index < len(nodes))
        both = list(dict.fromkeys(node for node in named if node is not None))
        if len(both) == 1:
            return both[0]
        places = self._places(write)

        def started(targets: Iterable[str | None]) -> str | None:
            tried = ((place, node) for place in places for node in targets if node is not None)
            return next((node for place, node in tried if write.task_id in place.push(node, index)), None)

        return started(both or self._names.send_targets()) or started(self._unwritten(checkpoint_id)[index : index + 1])

    def _read_packets(self, checkpoint_id: str) -> list[str | None]:
        started = [w for w in self.starting_writes(checkpoint_id) if w.channel == TASKS]
        if not started and self._attribution.note(checkpoint_id).source in _COPIES:
            return self._own(checkpoint_id)
        return called([write for write in started if is_command(write)] or started)

    def _read_own(self, checkpoint_id: str) -> list[str | None]:
        """The nodes of the Sends in a checkpoint. A fork, a second update of its parent, or one after a run, left no
        writes; those before the oldest checkpoint were pruned or deleted with theirs."""
        state = self._read_state(checkpoint_id)
        nodes = {index: send.node for index, send in indexed_sends(state)} if state is not None else {}
        return [nodes.get(index) for index in range(max(nodes, default=-1) + 1)]

    def _read_unwritten(self, checkpoint_id: str) -> list[str | None]:
        """The nodes of a checkpoint's Sends if no writes of a step before it are stored."""
        return [] if self.starting_writes(checkpoint_id) else self._own(checkpoint_id)

    def _read_replaced(self, checkpoint_id: str) -> list[str | None]:
        """The nodes of the Sends that a Command's Sends replaced; [] if none did."""
        started = [w for w in self.starting_writes(checkpoint_id) if w.channel == TASKS]
        return called(w for w in started if not is_command(w)) if any(map(is_command, started)) else []

    def _read_pushed(self, checkpoint_id: str) -> dict[str, tuple[str, int]]:
        """See `pushed`. The order of the Sends of several tasks isn't known, so each node is tried at each index."""
        return dict(self._pushed_ids(checkpoint_id))

    def _pushed_ids(self, checkpoint_id: str) -> Iterator[tuple[str, tuple[str, int]]]:
        packets = self.packets(checkpoint_id) or self._unwritten(checkpoint_id)
        names = dict.fromkeys(name for name in packets if name is not None)
        for write in self._attribution.writes.get(checkpoint_id, ())[:1]:
            for place in (*self._places(write, javascript=False), *self._places(write, javascript=True)):
                for name in names:
                    for index in range(len(packets)):
                        yield from ((task_id, (name, index)) for task_id in place.push(name, index))
