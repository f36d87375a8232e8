"""`AgentRows`: how an agent's records are stored and read; here through plans, in transactions.

An agent writes only records of its own threads, as LangGraph's own saver does. So it needs no images of rows and no
locks against other ckpts. A backend that can do without them has a subclass in its own ``agent_rows.py``.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from ckpt_cli.model import Checkpoint, Plan, Ref, Write
from ckpt_cli.savers.plan_application import apply_plan

if TYPE_CHECKING:
    from ckpt_cli.savers.contract import Saver


class Found(NamedTuple):
    """A checkpoint and all of its writes, in LangGraph's order."""

    checkpoint: Checkpoint
    writes: list[Write]


class TaskWrites(NamedTuple):
    """What one task wrote.

    Attributes:
        writes: the writes, with different indexes and with their payloads; perhaps none.
        replace: whether they replace existing writes, or existing writes are kept.
    """

    writes: Sequence[Write]
    replace: bool


class AgentRows:
    """Stores an agent's records as plans do; a subclass sends the statements of LangGraph's own saver instead.

    Args:
        saver: the open database; one thread at a time may use it.

    Attributes:
        writers: how many threads may call `put_of_run` and `put_writes` at the same time.
        joins: whether `put_tasks` sends less than `put_writes` for each task.
    """

    writers: ClassVar[int] = 1
    joins: ClassVar[bool] = False

    def __init__(self, saver: "Saver") -> None:
        self._saver = saver

    def get(self, thread_id: str, ns: str, checkpoint_id: str | None) -> Found | None:
        """One checkpoint, or the newest of its namespace if `checkpoint_id` is None; None if it doesn't exist."""
        return self._saver.moment(lambda: self._get(thread_id, ns, checkpoint_id))

    def put(self, record: Checkpoint) -> None:
        """Add a checkpoint, or replace the existing checkpoint with the same id.

        If channels are stored apart, the record has only those with new versions; a stored version keeps its value.

        Raises:
            Refused: the database can't hold it, or may not be written; nothing was written.
        """
        self._saver.transaction(lambda: self._put(record))

    def put_of_run(self, record: Checkpoint, run_id: str) -> None:  # noqa: ARG002 - for databases with such a field
        """Like `put`, for a database whose checkpoints name their run ("" for none) beside their metadata."""
        self.put(record)

    def put_writes(self, writes: Sequence[Write], *, replace: bool) -> None:
        """Add the writes of one task, which have different indexes.

        Args:
            writes: the writes, with their payloads.
            replace: whether they replace existing writes, or existing writes are kept.

        Raises:
            Refused: the database can't hold them, or may not be written; nothing was written.
        """
        self._saver.transaction(lambda: self._put_writes(writes, replace=replace))

    def put_tasks(self, tasks: Sequence[TaskWrites]) -> None:
        """Add the writes of several tasks, at least one of each.

        Raises:
            CkptError: some may not be written; all of them can be added again.
        """
        for writes, replace in tasks:
            self.put_writes(writes, replace=replace)

    def _get(self, thread_id: str, ns: str, checkpoint_id: str | None) -> Found | None:
        rows = [] if checkpoint_id else self._saver.newest(thread_id, ns, 1)
        refs = [Ref(thread_id, ns, checkpoint_id)] if checkpoint_id else [row.ref for row in rows]
        checkpoint = next(iter(self._saver.checkpoints(refs)), None)
        if checkpoint is None:
            return None
        return Found(checkpoint, list(self._saver.writes(thread_id, ns, [checkpoint.row.checkpoint_id])))

    def _put(self, record: Checkpoint) -> None:
        if self._saver.row(record.row.ref) is None:
            apply_plan(self._saver, Plan("", add=(record,)))
            return
        if record.channels is not None:
            (stored,) = self._saver.checkpoints([record.row.ref])
            record = record._replace(channels={**(stored.channels or {}), **record.channels})
        apply_plan(self._saver, Plan("", replace=(record,)))

    def _put_writes(self, writes: Sequence[Write], *, replace: bool) -> None:
        ref, task_id = writes[0].ref, writes[0].task_id
        stored = self._saver.writes(ref.thread_id, ref.ns, [ref.checkpoint_id], values=0)
        existing = {write.idx for write in stored if write.task_id == task_id}
        new = tuple(write for write in writes if write.idx not in existing)
        changed = tuple(write for write in writes if write.idx in existing) if replace else ()
        if new or changed:
            apply_plan(self._saver, Plan("", new, changed))
