"""`QuickView`: the view of a thread by its head and rows; rare fields are made when read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ckpt_cli.history.lineage import ids
from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.lineage.short_ids import SHORTEST, ShortIds
from ckpt_cli.history.tasks.snapshot import Snapshot, Status
from ckpt_cli.model import CheckpointRow, Ref
from ckpt_cli.output.quantities import iso
from ckpt_cli.queries.thread_status import PLAIN_METADATA, nothing_since, waiting_views
from ckpt_cli.savers.head_reads import HeadRead
from ckpt_cli.views.threads import FailedView, ThreadView

FINISHED = Snapshot([])
_DONE = str(Status.DONE)
_ROWS, _CREATED, _METADATA = 3, 12, 17
"""The places in which the tuple has not a field but what that is made of: rows, the first id, the whole metadata."""


@dataclass(slots=True, eq=False)
class QuickHead:
    """A head without its values, and what is due there.

    Attributes:
        read: what was read of it.
        row: its row.
        due: the nodes that its edges start.
        title: "" if no message is among the values.
        first: the first checkpoint of the head's namespace; `first_ref` is its name.
        snapshot: the tasks; None if they need a closer look.
    """

    read: HeadRead
    row: CheckpointRow
    due: Sequence[str]
    ts: Any
    title: str
    metadata: Mapping[str, Any]
    metadata_problem: str
    first: CheckpointRow
    first_ref: Ref
    snapshot: Snapshot | None = FINISHED


class QuickView(ThreadView):
    """Equals the view that `ThreadStatus` makes. Long lists have many of these, of which a pipe shows few fields."""

    @classmethod
    def of_head(cls, head: QuickHead, title: str) -> "QuickView":
        """The view of a head that was read with the rows of its thread."""
        (thread_id, ns, head_id, *_), rows = head.row, head.read.rows
        metadata, snapshot, ts = head.metadata, head.snapshot or FINISHED, head.ts
        tasks = snapshot.tasks
        own = rows if rows and rows[0].ns == rows[-1].ns == ns else [one for one in rows if one.ns == ns]
        step, source = metadata.get("step"), metadata.get("source")
        updated = ids.unix_time(head_id) or ids.unix_time(ts if isinstance(ts, str) and ts else head_id)
        statuses = [str(status) for status in snapshot.statuses] if tasks else [_DONE]
        fields: tuple[Any, ...] = (  # in the order of `ThreadView`, whose own way with names takes 2 µs
            thread_id,
            ns,
            head_id,
            rows,
            len(rows),
            None,
            _branches(own),
            step if isinstance(step, int) else ids.step(head_id),
            source if isinstance(source, str) else "",
            statuses[0],
            snapshot.next if tasks else [],
            iso(updated),
            own[0].checkpoint_id if own else head_id,
            title,
            None,
            waiting_views(tasks) if tasks else [],
            [FailedView(task.node, task.error) for task in snapshot.with_error] if tasks else [],
            metadata,
            None,
            head.metadata_problem or None,
            statuses,
            [],
            nothing_since(source, tasks) if tasks else None,
            [],
        )
        return tuple.__new__(cls, fields)

    @property
    def short(self) -> str:
        """See `ThreadView`."""
        return _short(self.head, self._rows)

    @property
    def namespaces(self) -> int:
        """See `ThreadView`."""
        return len({row.ns for row in self._rows} - {self.ns})

    @property
    def created(self) -> str | None:
        """See `ThreadView`."""
        return iso(ids.unix_time(cast(str, self[_CREATED])))

    @property
    def size(self) -> int | None:
        """See `ThreadView`."""
        sizes = [row.size for row in self._rows if row.size is not None]
        return sum(sizes) if sizes else None

    @property
    def metadata(self) -> Mapping[str, Any]:
        """See `ThreadView`."""
        return {
            key: value for key, value in cast(Mapping[str, Any], self[_METADATA]).items() if key not in PLAIN_METADATA
        }

    @property
    def _rows(self) -> Sequence[CheckpointRow]:
        return cast(Sequence[CheckpointRow], self[_ROWS])

    def __iter__(self) -> Iterator[Any]:
        return (getattr(self, name) for name in self._fields)

    def __eq__(self, other: object) -> bool:
        return tuple(self) == other

    def __hash__(self) -> int:
        return hash((self.thread_id, self.head))


def _branches(rows: Sequence[CheckpointRow]) -> int:
    """The number of branches of one namespace; a chain, in which each row continues the row before it, is one."""
    before = rows[0].checkpoint_id if rows else ""
    for _, _, own_id, parent_id, _ in rows[1:]:
        if parent_id != before or own_id <= before:
            return len(Lineage(rows).branches)
        before = own_id
    return len(Lineage(rows).branches) if not rows or rows[0].parent_id else 1


def _short(head_id: str, rows: Sequence[CheckpointRow]) -> str:
    """The short form of an id: the beginning of its last group, if no other id needs more of it."""
    short = head_id[24 : 24 + SHORTEST]
    for row in rows:
        other = row.checkpoint_id
        if other != head_id and (other.startswith(short) or other[24:].startswith(short)):
            return ShortIds(row.checkpoint_id for row in rows)(head_id)
    return short if ids.is_uuid6(head_id) else ShortIds(row.checkpoint_id for row in rows)(head_id)
