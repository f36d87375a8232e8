"""Which checkpoint called which subgraph's checkpoints, for `ckpt prune`: they stay or go together."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.tasks.nesting import caller_task, levels
from ckpt_cli.layouts import parents_of
from ckpt_cli.model import Ref
from ckpt_cli.reading import Reader


class Calls:
    """The callers of a thread's subgraphs.

    A task's namespace has the id of the task that made the call, and this task's writes are stored on the caller. Of a
    subgraph with its own memory, and of a task without writes, only the metadata of its checkpoints shows the caller.

    Args:
        reader: the database.
        thread_id: the thread.
        lineages: the tree of each of its namespaces.
        starts: the id of each task that a namespace names, to the checkpoint on which the task's writes are stored.
    """

    def __init__(
        self, reader: Reader, thread_id: str, lineages: Mapping[str, Lineage], starts: Mapping[str, Ref]
    ) -> None:
        self._reader = reader
        self._thread_id = thread_id
        self._lineages = lineages
        self._starts = starts

    @cached_property
    def callers(self) -> dict[Ref, Ref | None]:
        """Each checkpoint of a subgraph: to its caller, None if the caller isn't known or isn't stored."""
        callers: dict[Ref, Ref | None] = {}
        for ns, lineage in self._lineages.items():
            if not ns:
                continue
            refs = [Ref(self._thread_id, ns, i) for i in lineage.rows]
            caller = self._starts.get(caller_task(ns))
            if caller is not None and self._is_stored(caller):
                callers.update(dict.fromkeys(refs, caller))
            else:
                callers.update(self._by_metadata(ns, refs))
        return callers

    @cached_property
    def called(self) -> dict[Ref, list[Ref]]:
        """Each caller: to the checkpoints of the subgraphs that its tasks called."""
        called = defaultdict[Ref, list[Ref]](list)
        for ref, caller in self.callers.items():
            if caller is not None:
                called[caller].append(ref)
        return called

    def _by_metadata(self, ns: str, refs: Iterable[Ref]) -> Iterator[tuple[Ref, Ref | None]]:
        outer = levels(ns)[-2::-1]
        for ref, payload in self._reader.saver.metadata(list(refs)):
            parents = parents_of(self._reader.value(payload))
            named = (Ref(self._thread_id, space, parents[space]) for space in outer if space in parents)
            yield ref, next(filter(self._is_stored, named), None)

    def _is_stored(self, ref: Ref) -> bool:
        return ref.ns in self._lineages and ref.checkpoint_id in self._lineages[ref.ns]
