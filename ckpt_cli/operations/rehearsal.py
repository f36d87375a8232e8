"""The rows and the log as the undo of an operation will leave them, to try the undo of an earlier one.

A hint names two undos in a row only if the second is known to work after the first.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from ckpt_cli.errors import Refused
from ckpt_cli.history.state.channels import ERROR, INTERRUPT, RESUME, SCHEDULED
from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Ref, Row, RowChange, Thread, Write, WriteKey
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.operation import Operation, Phase
from ckpt_cli.operations.operation_list import read_operations
from ckpt_cli.operations.restoring import ParentSearch
from ckpt_cli.operations.row_images import key_text
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.paging import pages
from ckpt_cli.savers.passing import PassingSaver

T = TypeVar("T")

_CONTROL = {-1: ERROR, -2: SCHEDULED, -3: INTERRUPT, -4: RESUME}
"""See `Write.idx`."""


class LogAfterUndo(OperationLog):
    """A log that says which later operations are in effect once an operation is undone; all else is as in `log`."""

    def __init__(self, log: OperationLog, undone: Operation) -> None:
        vars(self).update(vars(log))  # the open file too
        self._phases: dict[int, Phase] = {}
        phase = Phase.UNDONE
        one: Operation | None = undone
        while one is not None:  # as `operation_rows.mark_done` does it
            self._phases[one.number] = phase
            one = next(iter(read_operations(log, "o.number = ?", (one.undoes,))), None)
            phase = Phase.DONE if phase is Phase.UNDONE else Phase.UNDONE

    def later_on_threads(self, operation: Operation) -> list[Operation]:
        """See `OperationLog.later_on_threads`."""
        later = super().later_on_threads(operation)
        return [replace(one, phase=self._phases.get(one.number, one.phase)) for one in later]

    def later_operations(self, number: int) -> list[Operation]:
        """See `OperationLog.later_operations`."""
        return [one for one in super().later_operations(number) if self._phases.get(one.number) is not Phase.UNDONE]


class RowsAfterUndo(PassingSaver):
    """A saver that reads the rows of another as the undo of an operation will leave them; it writes nothing.

    Only what `operations.undo.inverse` reads is as it will be; images stay in the log until they are compared.

    Args:
        saver: the database as it is.
        log: its operation log.
        undone: the operation whose undo is imagined; that undo must be possible now.
    """

    def __init__(self, saver: Saver, log: OperationLog, undone: Operation) -> None:
        super().__init__(saver)
        self._log, self._number = log, undone.number
        self._changed, self._gone = set[tuple[str, str]](), set[Ref | WriteKey]()
        self._writes: set[WriteKey] = set()
        refs = set[Ref]()
        for change in log.changes(self._number):
            self._changed.add((change.relation, key_text(change.key)))
            self._gone.update(saver.added(change))
            back = saver.added(RowChange(change.relation, change.key, change.after, change.before))
            self._writes.update(name for name in back if isinstance(name, WriteKey))
            refs.update(name for name in back if isinstance(name, Ref))
        threads = sorted({ref.thread_id for ref in refs})
        present = (row.ref for page in pages(threads, saver.page) for row in saver.rows_of(page))
        self._parents = dict(self._find_parents(ParentSearch({*present, *refs})))

    def _find_parents(self, search: ParentSearch) -> Iterator[tuple[Ref, str | None]]:
        """The checkpoints that the undo brings back or changes, each with the parent that it will have."""
        for change in self._log.changes(self._number):
            name = self.record_of(change.relation, change.key)
            if isinstance(name, Ref) and change.before is not None:
                parent = search.find(name, change.before)
                yield name, None if parent is None else parent.checkpoint_id

    def currents(self, names: Sequence[tuple[str, Row]]) -> list[Row | None]:
        """See `Saver.currents`."""
        return [
            self._after(relation, key, now) if (relation, key_text(key)) in self._changed else now
            for (relation, key), now in zip(names, self._saver.currents(names), strict=True)
        ]

    def _after(self, relation: str, key: Row, now: Row | None) -> Row | None:
        image = self._log.change(self._number, relation, key).before
        return None if image is None else self._saver.restored(relation, image, now)

    def current(self, relation: str, key: Row) -> Row | None:
        """See `Saver.current`."""
        return self.currents([(relation, key)])[0]

    def rows(self, thread_id: str, ns: str | None = None) -> Iterator[CheckpointRow]:
        """See `Saver.rows`."""
        kept = (row for row in self._saver.rows(thread_id, ns) if row.ref not in self._gone)
        back = (
            CheckpointRow(*ref, parent_id)
            for ref, parent_id in self._parents.items()
            if ref.thread_id == thread_id and ns in (None, ref.ns)
        )
        rows = [*(row for row in kept if row.ref not in self._parents), *back]
        return iter(sorted(rows, key=lambda row: (row.checkpoint_id, row.ns)))

    def newest(self, thread_id: str, ns: str, limit: int) -> list[CheckpointRow]:
        """See `Saver.newest`."""
        return sorted(self.rows(thread_id, ns), key=lambda row: row.checkpoint_id, reverse=True)[:limit]

    def row(self, ref: Ref) -> CheckpointRow | None:
        """See `Saver.row`."""
        return next((row for row in self.rows(ref.thread_id, ref.ns) if row.ref == ref), None)

    def writes(
        self,
        thread_id: str,
        ns: str | None = None,
        checkpoint_ids: Collection[str] | None = None,
        *,
        values: int | None = None,
    ) -> Iterator[Write]:
        """See `Saver.writes`; the writes that come back have no values."""
        for write in self._saver.writes(thread_id, ns, checkpoint_ids, values=values):
            key = WriteKey(write.ref, write.task_id, write.idx)
            if key not in self._gone and key not in self._writes:
                yield write
        for key in self._writes:
            is_there = key.ref.thread_id == thread_id and ns in (None, key.ref.ns)
            if is_there and (checkpoint_ids is None or key.ref.checkpoint_id in checkpoint_ids):
                channel = _CONTROL.get(key.idx, "") if isinstance(key.idx, int) else ""
                yield Write(*key.ref, key.task_id, key.idx, channel)

    def writes_on(self, refs: Collection[Ref], *, values: int | None = None) -> Iterator[Write]:
        """See `Saver.writes_on`."""
        return Saver.writes_on(self, refs, values=values)

    def moment(self, look: Callable[[], T]) -> T:
        """See `Saver.moment`."""
        return self._saver.moment(look)

    def threads(self) -> Iterator[Thread]:
        """The threads as they are now, which no undo asks for."""
        return self._saver.threads()

    def thread(self, thread_id: str) -> Thread | None:
        """The thread as it is now, which no undo asks for."""
        return self._saver.thread(thread_id)

    def namespaces(self, thread_id: str) -> list[str]:
        """See `Saver.namespaces`."""
        return sorted({row.ns for row in self.rows(thread_id)})

    def count(self, thread_id: str) -> int:
        """See `Saver.count`."""
        return sum(1 for _ in self.rows(thread_id))

    def metadata(self, refs: Collection[Ref]) -> Iterator[tuple[Ref, Payload]]:
        """The metadata as it is now, which no undo asks for."""
        return self._saver.metadata(refs)

    def checkpoints(self, refs: Collection[Ref]) -> Iterator[Checkpoint]:  # type: ignore[override]
        """The checkpoints as they are now, which no undo asks for."""
        return self._saver.checkpoints(refs)

    def transaction(self, work: Callable[[], T]) -> T:  # noqa: ARG002
        """A rehearsal has none."""
        raise Refused("a rehearsal changes nothing")

    def change(self, changes: object) -> None:  # noqa: ARG002
        """A rehearsal makes no change."""
        raise Refused("a rehearsal changes nothing")
