"""`CustomSaver`: a checkpointer of somebody's own behind the contract, read through `list` and `get_tuple`.

These give whole checkpoints only, so every listing costs a reading of all values. It is never written: an added
checkpoint could not be taken back by what LangGraph's interface has.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import ClassVar, TypeVar

from langgraph.checkpoint.base import CheckpointTuple

from ckpt_cli.errors import NotSupported
from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Ref, Thread, Write
from ckpt_cli.savers.about import Ability, About, Totals
from ckpt_cli.savers.custom.calls import Calls, row_of
from ckpt_cli.savers.custom.entering import Entered
from ckpt_cli.savers.custom.importing import Named, explained
from ckpt_cli.savers.in_memory_rows import ReadOnlySaver, Skeleton

T = TypeVar("T")

_FEW = 8
"""Up to so many checkpoints are asked for one by one; for more the whole namespace is listed once."""


_NO_LIST = (NotImplementedError, TypeError, KeyError, AttributeError, ValueError)
"""What checkpointers raise that want a thread to be named in `list`."""


class CustomSaver(ReadOnlySaver):
    """What it lists is kept, without the values, as long as a look lasts."""

    name: ClassVar[str] = "custom"
    abilities = frozenset({Ability.BRANCHES})
    why_not = "LangGraph's interface has no way to take a change back"

    def __init__(self, entered: Entered, target: Named) -> None:
        self._entered = entered
        self._calls = Calls(entered)
        self._target = target
        self._kind = type(entered.saver)
        self._forget()
        self._depth = 0

    def _forget(self) -> None:
        self._all: Skeleton | None = None
        self._threads: dict[str, Skeleton] = {}
        self._told: dict[Ref, Payload] = {}

    def moment(self, look: Callable[[], T]) -> T:
        """A look; what it lists is listed once, and nobody keeps others from writing meanwhile."""
        if not self._depth:
            self._forget()
        self._depth += 1
        try:
            return look()
        finally:
            self._depth -= 1

    def about(self) -> About:
        """Whose class it is, and how it is read."""
        way = "alist and aget_tuple" if self._entered.is_async else "list and get_tuple"
        facts = {
            "class": f"{self._kind.__module__}.{self._kind.__qualname__}",
            "read": f"through its own {way}, whole checkpoints at a time",
            "order of writes": "as it gives them; without paths and original places",
            "decoded": "by ckpt, nothing is imported" if self._calls.inert else "by its own serializer",
        }
        return About(self._kind.__name__, self._target.text, "a checkpointer of your own", "custom", facts)

    def totals(self) -> Totals:
        """Lists everything."""
        skeleton, writes = self._everything(), 0
        ids = list(skeleton.ids())
        for thread in skeleton.threads():
            writes += sum(1 for _ in self.writes(thread.thread_id, values=0))
        threads = sum(1 for _ in skeleton.threads())
        return Totals(threads, len(ids), writes, min(ids, default=None), max(ids, default=None))

    def threads(self) -> Iterator[Thread]:
        """By ``list(None)``, which not every checkpointer has.

        Raises:
            NotSupported: this one hasn't.
        """
        return self._everything().threads()

    def thread(self, thread_id: str) -> Thread | None:
        """One thread by its exact id."""
        return self._of(thread_id).thread(thread_id)

    def namespaces(self, thread_id: str) -> list[str]:
        """The namespaces of a thread, in text order."""
        return self._of(thread_id).namespaces(thread_id)

    def count(self, thread_id: str) -> int:
        """How many checkpoints a thread has."""
        return sum(1 for _ in self._of(thread_id).rows(thread_id))

    def rows(self, thread_id: str, ns: str | None = None) -> Iterator[CheckpointRow]:
        """Ascending by namespace and id."""
        return self._of(thread_id).rows(thread_id, ns)

    def newest(self, thread_id: str, ns: str, limit: int) -> list[CheckpointRow]:
        """The highest ids, highest first."""
        return self._of(thread_id).newest(thread_id, ns, limit)

    def row(self, ref: Ref) -> CheckpointRow | None:
        """One skeleton row."""
        return self._of(ref.thread_id).row(ref)

    def metadata(self, refs: Collection[Ref]) -> Iterator[tuple[Ref, Payload]]:
        """Kept from the listing."""
        for ref in dict.fromkeys(refs):
            if self._of(ref.thread_id).row(ref) is not None:
                yield ref, self._told[ref]

    def checkpoints(self, refs: Iterable[Ref]) -> Iterator[Checkpoint]:
        """One call each, in the order asked."""
        for ref in refs:
            found = self._one(ref)
            if found is not None:
                yield self._calls.checkpoint(found)

    def headers(self, refs: Iterable[Ref]) -> Iterator[Checkpoint]:  # noqa: ARG002
        """None: what it gives needn't be the same bytes each time, so nothing can be known by them."""
        return iter(())

    def writes(
        self,
        thread_id: str,
        ns: str | None = None,
        checkpoint_ids: Collection[str] | None = None,
        *,
        values: int | None = None,
    ) -> Iterator[Write]:
        """By namespace and checkpoint, then in the order that the checkpointer gives."""
        found: dict[Ref, list[Write]] = {}
        for item in self._asked(thread_id, ns, checkpoint_ids):
            ref = row_of(item).ref
            if checkpoint_ids is None or ref.checkpoint_id in checkpoint_ids:
                some = self._calls.writes(item)
                found[ref] = [w if values is None or w.size <= values else w._replace(payload=None) for w in some]
        for ref in sorted(found):
            yield from found[ref]

    @property
    def identity(self) -> str:
        """What was named, by whatever words."""
        return f"custom:{self._target.identity}"

    def close(self) -> None:
        """Leave its context managers and its event loop; safe to call twice."""
        leave, self._entered = self._entered.leave, self._entered._replace(leave=())
        with explained(self._target.text):
            for step in reversed(leave):
                step()
        self._entered.loop.close()

    def _everything(self) -> Skeleton:
        if self._all is None:
            self._all = self._listed(None)
        return self._all

    def _of(self, thread_id: str) -> Skeleton:
        if self._all is not None:
            return self._all
        if thread_id not in self._threads:
            self._threads[thread_id] = self._listed(thread_id)
        return self._threads[thread_id]

    def _listed(self, thread_id: str | None) -> Skeleton:
        rows: list[CheckpointRow] = []
        for found in self._tuples(thread_id):
            row = row_of(found)
            rows.append(row)
            self._told[row.ref] = self._calls.payload(dict(found.metadata))
        return Skeleton(rows)

    def _asked(self, thread_id: str, ns: str | None, ids: Collection[str] | None) -> Iterator[CheckpointTuple]:
        if ids is None or len(ids) > _FEW:
            yield from self._tuples(thread_id, ns)
            return
        for checkpoint_id in dict.fromkeys(ids):
            for space in self.namespaces(thread_id) if ns is None else [ns]:
                found = self._one(Ref(thread_id, space, checkpoint_id))
                if found is not None:
                    yield found

    def _tuples(self, thread_id: str | None, ns: str | None = None) -> Iterator[CheckpointTuple]:
        with explained(self._target.text):
            try:
                yield from self._calls.all(thread_id, ns)
            except _NO_LIST as error:
                if thread_id is not None:
                    raise
                raise NotSupported(f"{self._kind.__name__} can't list all of its threads: {error!r}") from error

    def _one(self, ref: Ref) -> CheckpointTuple | None:
        with explained(self._target.text):
            return self._calls.one(ref)
