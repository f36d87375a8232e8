"""The operation that made a checkpoint, and what it stored with it, if the log shows it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from ckpt_cli.model import Plan, Ref, RowChange, WriteKey
from ckpt_cli.operations import rows
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.operation import Operation
from ckpt_cli.operations.restoring import ParentSearch
from ckpt_cli.savers.contract import Saver


@dataclass(frozen=True, slots=True)
class Stored:
    """The records that an operation added.

    Attributes:
        operation: the operation.
        intact: those that are in the database as the operation left them.
        altered: the others: somebody changed or removed them, or another write of the same task.
        parents: the checkpoints to which it added children.
    """

    operation: Operation
    intact: set[Ref | WriteKey] = field(default_factory=set)
    altered: set[Ref | WriteKey] = field(default_factory=set)
    parents: set[Ref] = field(default_factory=set)

    def writes_on(self, ref: Ref) -> set[WriteKey]:
        """The writes that it stored on a checkpoint, intact or not."""
        return {one for one in self.intact | self.altered if isinstance(one, WriteKey) and one.ref == ref}


StoredWith = Callable[[Ref], Stored | None]
"""See `Makers.stored_with`."""


class Makers:
    """Finds the operations that made checkpoints; each operation is read once."""

    def __init__(self, saver: Saver, log: OperationLog) -> None:
        self._saver, self._log = saver, log
        self._stored: dict[int, Stored] = {}

    def stored_with(self, ref: Ref) -> Stored | None:
        """What the operation that made a checkpoint added; None if the log shows no such operation.

        None also if the operation gave the checkpoint a child: then the writes on it made this child.
        """
        number = self._maker(ref)
        if number is None:
            return None
        stored = self._stored.get(number) or self._stored.setdefault(number, self._read(number))
        return None if ref in stored.parents else stored

    def _maker(self, ref: Ref) -> int | None:
        """The number of the operation that made a checkpoint; an undo only brings checkpoints back."""
        if not self._log.exists:
            return None
        for change in self._saver.expand(Plan("", remove=(ref,))):
            if self._saver.record_of(change.relation, change.key) == ref:
                first = self._log.first_change(change.relation, change.key)
                is_made = first is not None and first[1] and self._log.operation(first[0]).undoes is None
                return first[0] if first is not None and is_made else None
        return None

    def _read(self, number: int) -> Stored:
        stored, refs = Stored(self._log.operation(number)), set[Ref]()
        for added, intact in self._added(number):
            stored.intact.update(intact)
            stored.altered.update(added - intact)
            refs.update(name for name in added if isinstance(name, Ref))
        altered = {(one.ref, one.task_id) for one in stored.altered if isinstance(one, WriteKey)}
        halves = {one for one in stored.intact if isinstance(one, WriteKey) and (one.ref, one.task_id) in altered}
        stored.intact.difference_update(halves)
        stored.altered.update(halves)
        search = ParentSearch(refs)
        for change in self._log.changes(number):
            name = self._saver.record_of(change.relation, change.key)
            if name in refs and isinstance(name, Ref) and change.after is not None:
                stored.parents.update(filter(None, [search.find(name, change.after)]))
        return stored

    def _added(self, number: int) -> Iterator[tuple[set[Ref | WriteKey], set[Ref | WriteKey]]]:
        """The records that an operation added, row by row, and those of them that are as it left them."""
        saver, changes = self._saver, self._log.changes(number)
        while page := list(islice(changes, saver.page)):
            current = saver.currents([(change.relation, change.key) for change in page])
            for change, now in zip(page, current, strict=True):
                added = set(saver.added(change))
                if rows.is_image(saver, change.relation, now, change.after):
                    yield added, added
                    continue
                gone = saver.added(RowChange(change.relation, change.key, now, change.after))
                changed = saver.written(RowChange(change.relation, change.key, change.after, now))
                yield added, added - {*gone, *changed}
