"""Applies a change to many threads: one operation, one part and one transaction for each thread.

Each part is atomic, the whole isn't. A page of parts is logged in one transaction of the log, then each of its threads
is changed, then the page is marked in one transaction of the log. After a crash `settle` decides each part alone.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from ckpt_cli import ctrl_c
from ckpt_cli.errors import CkptError, Failed, Refused
from ckpt_cli.model import Plan, Ref, Row, RowChange
from ckpt_cli.operations.apply import verify
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.operation import Heading, Operation, Phase
from ckpt_cli.operations.operation_list import read_parts
from ckpt_cli.operations.part_log import PartLog, PartRecord
from ckpt_cli.operations.proofs import RowKeys
from ckpt_cli.operations.row_images import Change
from ckpt_cli.operations.rows import is_image
from ckpt_cli.operations.settle import complete_or_undo, settle
from ckpt_cli.operations.side_effects import check_side_effects
from ckpt_cli.operations.undo import describe, inverse
from ckpt_cli.operations.witnesses import WITNESSES, Choice, confirm, sample_checkpoints
from ckpt_cli.savers.about import Ability, SideEffect
from ckpt_cli.savers.contract import Saver

_PARTS = 100  # a page of the log has at most so many parts …
_BYTES = 8_000_000  # … and not much more than so many bytes


class Part(NamedTuple):
    """What is done to one thread.

    Attributes:
        summary: what it does, in one line.
        expand: gives its row changes; called before the page is logged.
        check: raises `Refused` if the thread is no longer as it was; called in the thread's transaction.
        size: about so many bytes are changed.
        undoes: the `number` of the part that this one undoes.
        result: the checkpoint to continue from afterwards.
        details: see `Plan.details`.
        contents: gives the changes of `expand`, which has digests of long values, once more with these values; called
            in the thread's transaction. None if `expand` has them.
        around: runs the transaction, for example inside a moment of the database that `contents` reads.
    """

    thread_id: str
    summary: str
    expand: Callable[[], Iterable[Change]]
    check: Callable[[], None]
    size: int = 0
    undoes: int | None = None
    result: Ref | None = None
    details: Sequence[str] = ()
    contents: Callable[[], Iterable[RowChange]] | None = None
    around: Callable[[Callable[[], None]], None] = lambda change: change()


class RefusedPart(NamedTuple):
    """A thread that can't be changed, and why; it is listed and logged, and nothing else happens to it."""

    thread_id: str
    problem: str


@dataclass(slots=True)
class Outcome:
    """How far an operation on many threads has come.

    Attributes:
        operation: the number that people know it by; None if nothing was logged.
        applied: the number of threads that were changed.
        refused: thread to the reason, for those that moved since the plan was made.
    """

    operation: int | None = None
    applied: int = 0
    refused: dict[str, str] = field(default_factory=dict)


def part_of_plan(
    saver: Saver,
    thread_id: str,
    plan: Plan,
    size: int,
    expand: Callable[[], Iterable[Change]] | None = None,
) -> Part:
    """The part that writes a plan; `expand` gives the changes of one without records."""
    return Part(
        thread_id,
        plan.summary,
        expand or (lambda: saver.expand(plan)),
        lambda: verify(saver, plan.basis),
        size,
        result=plan.result,
        details=plan.details,
    )


def parts_to_undo(saver: Saver, log: OperationLog, operation: Operation, threads: Sequence[str] = ()) -> Iterator[Part]:
    """The parts that take back what still stands of an operation on many threads, on all of them or on some."""

    def part(one: Operation) -> Part:
        def check() -> None:
            deque(inverse(saver, log, one), maxlen=0)

        return Part(one.thread_id or "", describe(one), lambda: inverse(saver, log, one), check, one.size, one.number)

    standing = read_parts(log, operation.number, [Phase.DONE], threads)
    return (part(one) for one in standing if not one.is_forgotten)


def apply_parts(
    saver: Saver,
    log: OperationLog,
    heading: Heading,
    parts: Iterable[Part | RefusedPart],
    *,
    count: int,
    accepted: Collection[SideEffect] = (),
    report: Callable[[Outcome], None] = lambda _: None,
) -> Outcome:
    """Change many threads, each in a transaction of its own, as one operation of the log.

    A thread that is no longer as its plan found it is refused by itself; the others go on. No other ckpt of this
    machine settles operations meanwhile: it couldn't know which parts are still to come.

    Args:
        saver: the database.
        log: its operation log.
        heading: the operation's description.
        parts: what is done to each thread; read page by page.
        count: the number of threads that were selected, refused ones too.
        accepted: triggers and other side effects that may happen.
        report: is called after each page.

    Raises:
        Refused: another ckpt is changing many threads of this database; nothing was written.
        Failed: the database or the disk failed; the message says how many threads were changed before.
    """
    writer = _Writer(saver, log, heading, count, accepted)
    saver.permit(accepted)
    try:
        with log.exclusive(needed=True):
            rest = iter(parts)
            while page := _page(rest):
                writer.write(page)
                report(writer.outcome)
            writer.close()
    except Exception as error:
        with suppress(CkptError):  # in that case the next change settles the parts
            settle(saver, log)
        if isinstance(error, CkptError) and writer.outcome.operation is not None:
            raise writer.failure(error) from error
        raise
    return writer.outcome


def _page(parts: Iterator[Part | RefusedPart]) -> list[Part | RefusedPart]:
    page, size = [], 0
    for part in islice(parts, _PARTS):
        page.append(part)
        size += part.size if isinstance(part, Part) else 0
        if size > _BYTES:
            break
    return page


class _Writer:
    """Writes the pages of one operation."""

    def __init__(
        self, saver: Saver, log: OperationLog, heading: Heading, count: int, accepted: Collection[SideEffect]
    ) -> None:
        self._saver, self._log, self._accepted, self._count = saver, log, accepted, count
        self._candidates, self._place = sample_checkpoints(saver), saver.place()
        self._parts = PartLog(log, heading, count, place=self._place, record_of=saver.record_of)
        self.outcome = Outcome()

    def write(self, page: Sequence[Part | RefusedPart]) -> None:
        """Log a page of parts, change their threads, and mark the page."""
        # a moment may be repeated, so nothing is logged in it
        records, witnesses = self._saver.moment(lambda: self._expand(page))
        numbers = self._parts.add(records, witnesses)
        if self.outcome.operation is None:
            self.outcome.operation = self._log.operation(self._parts.number or 0).shown
            self._log.add_to_index(self._place)
        self._note_outcome()
        results: dict[int, str] = {}
        try:
            for number, part, record in zip(numbers, page, records, strict=True):
                if isinstance(part, Part) and record.problem:
                    self._count_result(part, record.problem)
                if isinstance(part, Part) and not record.problem:
                    results[number] = self._change(number, part)
                    self._count_result(part, results[number])
                    self._note_outcome()
        finally:
            self._parts.finish(results)
        self._note_outcome()

    def close(self) -> None:
        """End the operation: no more parts will come."""
        if self._parts.number is not None:
            self._log.mark_by_parts(self._parts.number)
            ctrl_c.note_outcome(f"operation {self.outcome.operation} is complete: {self._done()}")

    def failure(self, error: CkptError) -> Failed:
        """The error for an operation that stopped on the way."""
        return Failed(f"{error.reason}; operation {self.outcome.operation} stopped: {self._done()}", hint=self._hint())

    def _expand(self, page: Sequence[Part | RefusedPart]) -> tuple[list[PartRecord], "_Chosen"]:
        """The records of a page, and the witnesses for it."""
        confirm(self._saver, self._log)
        records = [_record(part) for part in page]

        def row_keys() -> Iterator[tuple[str, Row]]:
            return ((change.relation, change.key) for record in records for change in record.changes)

        known = {ref for some in self._log.witnesses(WITNESSES) for ref in some}
        return records, _Chosen(*Choice(self._saver, self._candidates).choose(row_keys, known))

    def _change(self, number: int, part: Part) -> str:
        """Change one thread; why it was refused, or ""."""

        def work() -> None:
            part.check()
            if part.contents is None:
                self._must_be_as_logged(number)
            changes = self._log.changes(number) if part.contents is None else part.contents()
            self._saver.change(check_side_effects(self._saver, changes, self._accepted))

        try:
            part.around(lambda: self._saver.transaction(work))
        except Refused as error:
            is_written = Ability.ATOMIC not in self._saver.abilities and self._saver.transaction(
                lambda: complete_or_undo(self._saver, self._log, number)
            )
            return "" if is_written else error.reason
        return ""

    def _must_be_as_logged(self, number: int) -> None:
        """Refuse if a row isn't as its before-image says, which was logged before this transaction began."""
        changes = self._log.changes(number)
        while some := list(islice(changes, self._saver.page)):
            current = self._saver.currents([(change.relation, change.key) for change in some])
            for change, now in zip(some, current, strict=True):
                if not is_image(self._saver, change.relation, now, change.before):
                    raise Refused("its rows changed while the plan was applied")

    def _count_result(self, part: Part, problem: str) -> None:
        if problem:
            self.outcome.refused[part.thread_id] = problem
        else:
            self.outcome.applied += 1

    def _done(self) -> str:
        return f"{self.outcome.applied:,} of {self._count:,} threads were changed"

    def _hint(self) -> str:
        number = self.outcome.operation
        return f"`ckpt undo {number}` takes them back; the same command again, with --skip-refused, changes the others"

    def _note_outcome(self) -> None:
        what = f"operation {self.outcome.operation}: {self._done()}"
        ctrl_c.note_outcome(f"{what}; the next change, or `ckpt operations --settle`, finds how the last ones ended")


class _Chosen(NamedTuple):
    """Witnesses that were chosen before the log's transaction."""

    changed: Collection[Ref]
    new: Mapping[Ref, bytes]

    def choose(self, _row_keys: RowKeys, _known: Collection[Ref]) -> tuple[Collection[Ref], Mapping[Ref, bytes]]:
        """See `Witnessing`."""
        return self.changed, self.new


def _record(part: Part | RefusedPart) -> PartRecord:
    if isinstance(part, RefusedPart):
        return PartRecord(part.thread_id, "", (), part.problem)
    try:
        changes = part.expand() if part.contents is not None else list(part.expand())
        return PartRecord(part.thread_id, part.summary, changes, "", part.undoes, part.details)
    except Refused as error:
        reason = error.reason
        try:
            part.check()  # if the thread continued, that is why a row exists already
        except Refused as moved:
            reason = moved.reason
        return PartRecord(part.thread_id, part.summary, (), reason)
