"""`CustomSaver`: reads a checkpointer of the user's own through its `list` and `get_tuple`.

These methods give whole checkpoints only, so every listing reads all values. Nothing is ever written: LangGraph's
interface has no method to take back an added checkpoint.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import ClassVar, TypeVar

from langgraph.checkpoint.base import CheckpointTuple

from ckpt_cli.errors import NotSupported
from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Ref, Thread, Write
from ckpt_cli.savers.about import Ability, About, RecordFormat, Totals
from ckpt_cli.savers.custom.checkpointer import OpenCheckpointer
from ckpt_cli.savers.custom.importing import Target, translate_errors
from ckpt_cli.savers.custom.reading import CheckpointerReader, row_of
from ckpt_cli.savers.in_memory_rows import ReadOnlySaver, Skeleton
from ckpt_cli.savers.selection import FilterKind, Selection

T = TypeVar("T")

_FEW = 8
"""Up to this many checkpoints are read one by one; for more, the whole namespace is listed once."""


_NO_LIST = (NotImplementedError, TypeError, KeyError, AttributeError, ValueError)
"""What a checkpointer raises if its `list` needs a thread."""


class CustomSaver(ReadOnlySaver):
    """A checkpointer of the user's own; within a moment, its skeleton rows and metadata are listed only once."""

    name: ClassVar[str] = "custom"
    form = RecordFormat(filter=FilterKind.OWN)
    abilities = frozenset({Ability.BRANCHES})
    why_not = "LangGraph's interface has no way to take a change back"

    def __init__(self, opened: OpenCheckpointer, target: Target) -> None:
        self._opened = opened
        self._reader = CheckpointerReader(opened)
        self._target = target
        self._class = type(opened.saver)
        self._forget()
        self._depth = 0

    def _forget(self) -> None:
        self._whole_skeleton: Skeleton | None = None
        self._threads: dict[str, Skeleton] = {}
        self._metadata: dict[Ref, Payload] = {}

    def moment(self, look: Callable[[], T]) -> T:
        """Run `look`; within the moment, checkpoints are listed at most once, though other programs may write."""
        if not self._depth:
            self._forget()
        self._depth += 1
        try:
            return look()
        finally:
            self._depth -= 1

    def about(self) -> About:
        """The checkpointer's class, and how it is read."""
        way = "alist and aget_tuple" if self._opened.is_async else "list and get_tuple"
        facts = {
            "class": f"{self._class.__module__}.{self._class.__qualname__}",
            "read": f"through its own {way}, whole checkpoints at a time",
            "order of writes": "as it gives them; without paths and original places",
            "decoded": "by ckpt, nothing is imported" if self._reader.inert else "by its own serializer",
        }
        return About(self._class.__name__, self._target.text, "a checkpointer of your own", "custom", facts)

    def totals(self) -> Totals:
        """List everything and count it."""
        skeleton, writes = self._everything(), 0
        ids = list(skeleton.ids())
        for thread in skeleton.threads():
            writes += sum(1 for _ in self.writes(thread.thread_id, values=0))
        threads = sum(1 for _ in skeleton.threads())
        return Totals(threads, len(ids), writes, min(ids, default=None), max(ids, default=None))

    def threads(self) -> Iterator[Thread]:
        """Every thread, by ``list(None)``, which not every checkpointer supports.

        Raises:
            NotSupported: this checkpointer can't list all threads.
        """
        return self._everything().threads()

    def thread(self, thread_id: str) -> Thread | None:
        """One thread by its exact id."""
        return self._thread_skeleton(thread_id).thread(thread_id)

    def namespaces(self, thread_id: str) -> list[str]:
        """The namespaces of a thread, in text order."""
        return self._thread_skeleton(thread_id).namespaces(thread_id)

    def count(self, thread_id: str) -> int:
        """How many checkpoints a thread has."""
        return sum(1 for _ in self._thread_skeleton(thread_id).rows(thread_id))

    def rows(self, thread_id: str, ns: str | None = None) -> Iterator[CheckpointRow]:
        """The rows of a thread or a namespace, ascending by namespace and id."""
        return self._thread_skeleton(thread_id).rows(thread_id, ns)

    def newest(self, thread_id: str, ns: str, limit: int) -> list[CheckpointRow]:
        """The rows with the highest ids, highest first."""
        return self._thread_skeleton(thread_id).newest(thread_id, ns, limit)

    def row(self, ref: Ref) -> CheckpointRow | None:
        """One skeleton row."""
        return self._thread_skeleton(ref.thread_id).row(ref)

    def metadata(self, refs: Collection[Ref]) -> Iterator[tuple[Ref, Payload]]:
        """The metadata that was read with the listing."""
        for ref in dict.fromkeys(refs):
            if self._thread_skeleton(ref.thread_id).row(ref) is not None:
                yield ref, self._metadata[ref]

    def select(self, selection: Selection) -> Iterator[Ref]:
        """The checkpoints that the checkpointer's own ``list`` selects, in its own order."""
        with translate_errors(self._target.text):
            yield from (row_of(item).ref for item in self._reader.selected(selection))

    def checkpoints(self, refs: Iterable[Ref]) -> Iterator[Checkpoint]:
        """These checkpoints in the order of `refs`; each is read by its own call."""
        for ref in refs:
            item = self._read_one(ref)
            if item is not None:
                yield self._reader.checkpoint(item)

    def headers(self, refs: Iterable[Ref]) -> Iterator[Checkpoint]:  # noqa: ARG002
        """No checkpoints: a checkpointer may encode a value differently each time, so bytes prove nothing."""
        return iter(())

    def writes(
        self,
        thread_id: str,
        ns: str | None = None,
        checkpoint_ids: Collection[str] | None = None,
        *,
        values: int | None = None,
    ) -> Iterator[Write]:
        """The writes by namespace and checkpoint, then in the checkpointer's own order."""
        writes: dict[Ref, list[Write]] = {}
        for item in self._items(thread_id, ns, checkpoint_ids):
            ref = row_of(item).ref
            if checkpoint_ids is None or ref.checkpoint_id in checkpoint_ids:
                own = self._reader.writes(item)
                writes[ref] = [w if values is None or w.size <= values else w._replace(payload=None) for w in own]
        for ref in sorted(writes):
            yield from writes[ref]

    @property
    def identity(self) -> str:
        """The imported attribute, however the user wrote it."""
        return f"custom:{self._target.identity}"

    def close(self) -> None:
        """Leave the checkpointer's context managers and close its event loop; safe to call twice."""
        leave, self._opened = self._opened.leave, self._opened._replace(leave=())
        with translate_errors(self._target.text):
            for step in reversed(leave):
                step()
        self._opened.loop.close()

    def _everything(self) -> Skeleton:
        if self._whole_skeleton is None:
            self._whole_skeleton = self._skeleton(None)
        return self._whole_skeleton

    def _thread_skeleton(self, thread_id: str) -> Skeleton:
        if self._whole_skeleton is not None:
            return self._whole_skeleton
        if thread_id not in self._threads:
            self._threads[thread_id] = self._skeleton(thread_id)
        return self._threads[thread_id]

    def _skeleton(self, thread_id: str | None) -> Skeleton:
        rows: list[CheckpointRow] = []
        for item in self._tuples(thread_id):
            row = row_of(item)
            rows.append(row)
            self._metadata[row.ref] = self._reader.payload(dict(item.metadata))
        return Skeleton(rows)

    def _items(self, thread_id: str, ns: str | None, ids: Collection[str] | None) -> Iterator[CheckpointTuple]:
        if ids is None or len(ids) > _FEW:
            yield from self._tuples(thread_id, ns)
            return
        for checkpoint_id in dict.fromkeys(ids):
            for space in self.namespaces(thread_id) if ns is None else [ns]:
                item = self._read_one(Ref(thread_id, space, checkpoint_id))
                if item is not None:
                    yield item

    def _tuples(self, thread_id: str | None, ns: str | None = None) -> Iterator[CheckpointTuple]:
        with translate_errors(self._target.text):
            try:
                yield from self._reader.all(thread_id, ns)
            except _NO_LIST as error:
                if thread_id is not None:
                    raise
                raise NotSupported(f"{self._class.__name__} can't list all of its threads: {error!r}") from error

    def _read_one(self, ref: Ref) -> CheckpointTuple | None:
        with translate_errors(self._target.text):
            return self._reader.one(ref)
