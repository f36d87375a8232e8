"""`RenamedThreads`: threads of a database under other ids, for `ckpt import --rename`."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TypeVar

from ckpt_cli.layouts import must_have_metadata
from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Ref, Thread, Write
from ckpt_cli.savers.about import About, RecordFormat, Totals
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.in_memory_rows import ReadOnlySaver
from ckpt_cli.serde.codec import Codec

T = TypeVar("T")


class RenamedThreads(ReadOnlySaver):
    """The threads of another saver, some under other ids; it is only read.

    Up to langgraph 0.4 the metadata contains the thread's id, which becomes the new one there too.

    Args:
        saver: has the threads.
        names: a thread's id to its new id.
        codec: decodes and encodes metadata.
    """

    why_not = "it shows another database's threads under other ids"

    def __init__(self, saver: Saver, names: Mapping[str, str], codec: Codec) -> None:
        self._saver, self._codec = saver, codec
        self._new = dict(names)
        self._old = {new: old for old, new in names.items()}
        self.name, self.abilities, self.form = saver.name, saver.abilities, saver.form  # type: ignore[misc]

    def moment(self, look: Callable[[], T]) -> T:
        """See `Saver.moment`."""
        return self._saver.moment(look)

    def about(self) -> About:
        """See `Saver.about`."""
        return self._saver.about()

    def form_of(self, thread_id: str) -> RecordFormat:
        """See `Saver.form_of`."""
        return self._saver.form_of(self._old_id(thread_id))

    def totals(self) -> Totals:
        """See `Saver.totals`."""
        return self._saver.totals()

    def threads(self) -> Iterator[Thread]:
        """See `Saver.threads`."""
        return map(self._renamed, self._saver.threads())

    def thread(self, thread_id: str) -> Thread | None:
        """See `Saver.thread`."""
        found = self._saver.thread(self._old_id(thread_id))
        return None if found is None else self._renamed(found)

    def namespaces(self, thread_id: str) -> list[str]:
        """See `Saver.namespaces`."""
        return self._saver.namespaces(self._old_id(thread_id))

    def count(self, thread_id: str) -> int:
        """See `Saver.count`."""
        return self._saver.count(self._old_id(thread_id))

    def rows(self, thread_id: str, ns: str | None = None) -> Iterator[CheckpointRow]:
        """See `Saver.rows`."""
        found = self._saver.rows(self._old_id(thread_id), ns)
        return (row._replace(thread_id=thread_id) for row in found)

    def newest(self, thread_id: str, ns: str, limit: int) -> list[CheckpointRow]:
        """See `Saver.newest`."""
        found = self._saver.newest(self._old_id(thread_id), ns, limit)
        return [row._replace(thread_id=thread_id) for row in found]

    def row(self, ref: Ref) -> CheckpointRow | None:
        """See `Saver.row`."""
        found = self._saver.row(self._old_ref(ref))
        return None if found is None else found._replace(thread_id=ref.thread_id)

    def metadata(self, refs: Collection[Ref]) -> Iterator[tuple[Ref, Payload]]:
        """See `Saver.metadata`."""
        for ref, payload in self._saver.metadata([self._old_ref(ref) for ref in refs]):
            yield self._new_ref(ref), self._changed(ref, payload)

    def checkpoints(self, refs: Iterable[Ref]) -> Iterator[Checkpoint]:
        """See `Saver.checkpoints`."""
        for one in self._saver.checkpoints(map(self._old_ref, refs)):
            row = one.row._replace(thread_id=self._new_ref(one.row.ref).thread_id)
            yield one._replace(row=row, metadata=self._changed(one.row.ref, one.metadata))

    def writes(
        self,
        thread_id: str,
        ns: str | None = None,
        checkpoint_ids: Collection[str] | None = None,
        *,
        values: int | None = None,
    ) -> Iterator[Write]:
        """See `Saver.writes`."""
        found = self._saver.writes(self._old_id(thread_id), ns, checkpoint_ids, values=values)
        return (write._replace(thread_id=thread_id) for write in found)

    @property
    def identity(self) -> str:
        """See `Saver.identity`."""
        return self._saver.identity

    def close(self) -> None:
        """See `Saver.close`."""
        self._saver.close()

    def _old_id(self, thread_id: str) -> str:
        return self._old.get(thread_id, thread_id)

    def _old_ref(self, ref: Ref) -> Ref:
        return ref._replace(thread_id=self._old_id(ref.thread_id))

    def _new_ref(self, ref: Ref) -> Ref:
        return ref._replace(thread_id=self._new.get(ref.thread_id, ref.thread_id))

    def _renamed(self, thread: Thread) -> Thread:
        head = self._new_ref(thread.head)
        return Thread(head.thread_id, head)

    def _changed(self, ref: Ref, payload: Payload) -> Payload:
        """The metadata of a checkpoint with the thread's new id in it; the same bytes if it has no id."""
        new = self._new.get(ref.thread_id)
        if new is None:
            return payload
        metadata = must_have_metadata(self._codec.decode(payload), ref)
        if str(metadata.get("thread_id")) != ref.thread_id:
            return payload
        return self._codec.encode({**metadata, "thread_id": new}, payload)
