"""What an undo brings back, beside what its threads hold by now: a thread made anew under the same id, or gone on."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from ckpt_cli.history.lineage import ids
from ckpt_cli.model import CheckpointRow, Ref, WriteKey
from ckpt_cli.operations.log import Operation, OperationLog
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.paging import pages

_OLD = (
    3600  # seconds before an operation that prove a checkpoint older than it, whatever the clocks of two machines say
)


@dataclass(frozen=True, slots=True)
class Clash:
    """Why what comes back doesn't fit into a thread.

    Attributes:
        added: the checkpoints there that the operation didn't know.
        at: the checkpoint from which the thread went on since; None where the thread was made anew.
    """

    thread_id: str
    added: tuple[str, ...]
    at: Ref | None = None


@dataclass(slots=True)
class Restored:
    """What an undo brings back.

    Attributes:
        newest: the highest id of the checkpoints of each thread.
        changed: checkpoints that the operation changed and left where they were.
        added: checkpoints that the operation made, which go.
    """

    newest: dict[str, str] = field(default_factory=dict)
    changed: set[Ref] = field(default_factory=set)
    added: set[Ref] = field(default_factory=set)

    def add_row(self, name: Ref | WriteKey | None, *, was_there: bool, is_left: bool) -> None:
        """Take in one row of the operation: what it holds, and whether that existed before and after."""
        if not isinstance(name, Ref):
            return
        if not was_there:
            self.added.add(name)
        elif is_left:
            self.changed.add(name)
        else:
            self.newest[name.thread_id] = max(name.checkpoint_id, self.newest.get(name.thread_id, ""))


def find_restored(saver: Saver, log: OperationLog, number: int) -> Restored:
    """What the undo of an operation brings back, from the names of its rows alone."""
    found = Restored()
    for relation, key, before, after in log.hashes(number):
        name = saver.record_of(relation, key)
        found.add_row(name, was_there=before is not None, is_left=after is not None)
    return found


def find_clash(
    saver: Saver, log: OperationLog, operation: Operation, back: Restored, *, beside_none: bool = False
) -> Clash | None:
    """The first thread that what comes back doesn't fit into.

    Every checkpoint in it was made since the operation; or one whose writes come back has got a child since, which
    those writes would be read as the origin of. With `beside_none` any checkpoint made since is too many: Redis and
    Valkey keep a list or a pointer beside a thread's checkpoints, which can't be taken back in part.
    """
    for page in pages(sorted(back.newest), saver.page):
        present: dict[str, list[CheckpointRow]] = {}
        for row in saver.rows_of(page):
            if row.ref not in back.added:
                present.setdefault(row.thread_id, []).append(row)
        for thread_id, rows in present.items():
            later = set(_added_later(saver, log, operation, thread_id))
            new = [row for row in rows if row.ref in later or not _existed(row, operation, back)]
            if len(new) == len(rows):
                return Clash(thread_id, tuple(row.checkpoint_id for row in new))
            if found := (_first(new) if beside_none else _gone_on(saver, log, operation, new)):
                return found
    return None


def _existed(row: CheckpointRow, operation: Operation, back: Restored) -> bool:
    """Whether a checkpoint was there when the operation was made; ids of one thread ascend with time.

    Of one whose id tells no time nothing says that it was made since.
    """
    if row.ref in back.changed or row.checkpoint_id <= back.newest[row.thread_id]:
        return True
    made = ids.unix_time(row.checkpoint_id)
    return made is None or made < operation.at - _OLD


def _added_later(saver: Saver, log: OperationLog, operation: Operation, thread_id: str) -> Iterator[Ref]:
    """The checkpoints that later operations added to a thread."""
    for later in log.operations():
        if later.number <= operation.number:
            return
        for relation, key, before, after in log.hashes(later.number):
            name = saver.record_of(relation, key)
            if isinstance(name, Ref) and name.thread_id == thread_id and before is None and after is not None:
                yield name


def _gone_on(saver: Saver, log: OperationLog, operation: Operation, new: list[CheckpointRow]) -> Clash | None:
    parents = {Ref(row.thread_id, row.ns, row.parent_id or ""): row.checkpoint_id for row in new}
    for relation, key, before, after in log.hashes(operation.number) if parents else ():
        name = saver.record_of(relation, key)
        if isinstance(name, WriteKey) and name.ref in parents and before is not None and after is None:
            return Clash(name.ref.thread_id, (parents[name.ref],), name.ref)
    return None


def _first(new: list[CheckpointRow]) -> Clash | None:
    row = min(new, key=lambda row: row.checkpoint_id, default=None)
    if row is None or row.parent_id is None:
        return None
    return Clash(row.thread_id, (row.checkpoint_id,), row.ref._replace(checkpoint_id=row.parent_id))


def head_beside(saver: Saver, back: Restored) -> Ref | None:
    """The head that stays where all that comes back is older, in an operation on a part of one thread."""
    if len(back.newest) != 1:
        return None
    [(thread_id, newest)] = back.newest.items()
    head = next(iter(saver.newest(thread_id, "", 1)), None)
    return head.ref if head is not None and head.checkpoint_id > newest else None
