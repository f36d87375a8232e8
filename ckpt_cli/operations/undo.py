"""Takes operations back: the rows as they were before, as an operation of its own that can be taken back too."""

from collections.abc import Collection, Iterator
from itertools import islice

from ckpt_cli.errors import NotFound, Refused
from ckpt_cli.model import Ref, RowChange, WriteKey
from ckpt_cli.operations import rows
from ckpt_cli.operations.apply import write
from ckpt_cli.operations.log import Heading, Operation, OperationLog, Phase
from ckpt_cli.operations.restoring import Restored, find_clash, find_restored, head_beside
from ckpt_cli.operations.undo_hints import (
    hint_delete_children,
    hint_later_operation,
    hint_make_room,
    hint_roll_back,
    then_undo,
)
from ckpt_cli.savers.about import SideEffect
from ckpt_cli.savers.contract import Saver
from ckpt_cli.shell_words import command


def find_operation(log: OperationLog, number: int | None) -> Operation:
    """The operation of that number, or the newest that is done and is no undo itself.

    Raises:
        NotFound: there is none.
        Refused: it doesn't stand, or its rows were forgotten.
    """
    for operation in log.operations():
        if operation.number == number:
            _must_stand(log, operation)
            _must_be_kept(log, operation)
            return operation
        if number is None and operation.phase is Phase.DONE and operation.undoes is None:
            _must_be_kept(log, operation)
            return operation
    what = "nothing to undo" if number is None else f"no operation {number}"
    raise NotFound(what, hint="`ckpt operations` lists what was done to this database")


def undo(
    saver: Saver,
    log: OperationLog,
    operation: Operation,
    *,
    at: float,
    reason: str,
    accepted: Collection[SideEffect] = (),
) -> int:
    """Bring back every row as it was before an operation, and give the number of the undo.

    Raises:
        Refused: its rows were changed since, by a later operation or by somebody else; nothing was written.
    """
    _must_be_proved(log, operation)
    heading = Heading(at, "undo", reason, describe(operation), operation.number)
    return write(saver, log, heading, lambda: inverse(saver, log, operation), accepted)


def _must_be_proved(log: OperationLog, operation: Operation) -> None:
    """An operation without a witness that left no rows could be of whatever database was at this address then."""
    if operation.number > log.last_unwitnessed or log.is_trusted or log.adds_rows(operation.number):
        return
    why = "the ckpt that logged it kept nothing to know it by"
    what = f"nothing proves that operation {operation.number} was done to this database"
    raise Refused(f"{what}: {why}; nothing was written", hint="if you know that it was: --same-database")


def describe(operation: Operation) -> str:
    """What is undone, in words; what the operation said of its outcome is left out, for that is what goes."""
    what = operation.summary.partition(": ")[0].partition("; ")[0]
    return f"of operation {operation.number} ({operation.verb} {what})"


def inverse(saver: Saver, log: OperationLog, operation: Operation) -> Iterator[RowChange]:
    """The row changes that take an operation back.

    Raises:
        Refused: a row is not as the operation left it, something was added since to what would go, an answer that
            would go was used, or a thread that something would come back to was made anew.
    """
    gone: set[Ref | WriteKey] = set()
    answered: set[Ref] = set()
    back = Restored()
    left = log.changes(operation.number, backwards=True)
    while page := list(islice(left, saver.page)):
        found = saver.currents([(change.relation, change.key) for change in page])
        for change, now in zip(page, found, strict=True):
            if not rows.is_image(saver, change.relation, now, change.after):
                name = saver.record_of(change.relation, change.key)
                planned = find_restored(saver, log, operation.number)
                _must_fit(saver, log, operation, planned, beside_none=name is None)
                if name is None:  # a pointer or a list, which changes with what comes after
                    _must_have_no_child(saver, log, planned.added, operation)
                raise _changed_since(log, operation, name)
            if operation.verb == "resume":
                answered.update(_bearing(saver, change))
            gone.update(saver.added(change))
            name = saver.record_of(change.relation, change.key)
            back.add_row(name, was_there=change.before is not None, is_left=change.after is not None)
            yield rows.inverse(saver, change, now)
    _must_bear_nothing(saver, log, gone, operation)
    _must_wait_still(saver, log, answered, operation)
    _must_fit(saver, log, operation, back)


def _must_fit(
    saver: Saver, log: OperationLog, operation: Operation, back: Restored, *, beside_none: bool = False
) -> None:
    """Check that what comes back meets the thread that it was taken from, and not a later one of the same id."""
    found = find_clash(saver, log, operation, back, beside_none=beside_none)
    if found is None:
        return
    by = hint_later_operation(saver, log, operation, found.thread_id, found.added)
    if found.at is None:
        what = "was made anew since, and two histories would be mixed"
    else:
        what = f"went on since from {found.at.checkpoint_id}, and what comes back doesn't fit beside that"
    raise Refused(
        f"operation {operation.number} can't be taken back: thread {found.thread_id!r} {what}; nothing was written",
        hint=by or hint_make_room(found, operation),
    )


def undo_notes(saver: Saver, log: OperationLog, operation: Operation) -> list[str]:
    """What else a person should know before an undo: where the head is of a thread that went on since."""
    head = head_beside(saver, find_restored(saver, log, operation.number))
    return [] if head is None else [f"the head stays {head.checkpoint_id}; what comes back is another branch"]


def _bearing(saver: Saver, change: RowChange) -> set[Ref]:
    """The checkpoints whose writes a row holds, whether they were in it before or not."""
    return {name.ref for name in saver.added(change._replace(before=None)) if isinstance(name, WriteKey)}


def _must_stand(log: OperationLog, operation: Operation) -> None:
    if operation.phase is Phase.DONE:
        return
    by = log.undone_by(operation.number)
    hint = f"`ckpt undo {by}` brings it back" if by is not None else "nothing of it is in the database"
    raise Refused(f"operation {operation.number} is {operation.phase} already", hint=hint)


def _must_be_kept(log: OperationLog, operation: Operation) -> None:
    if not operation.is_forgotten:
        return
    kept = (one for one in log.operations() if one.phase is Phase.DONE and one.undoes is None and not one.is_forgotten)
    earlier = next((one.number for one in kept if one.number < operation.number), None)
    hint = "" if earlier is None else f"`ckpt undo {earlier}` takes back an earlier one"
    raise Refused(f"operation {operation.number} can't be taken back: its rows were forgotten", hint=hint)


def _changed_since(log: OperationLog, operation: Operation, name: Ref | WriteKey | None) -> Refused:
    what = f"operation {operation.number} can't be taken back"
    if later := log.later_operations(operation.number):
        named = f"operation {later[0]}" if len(later) == 1 else f"operations {', '.join(map(str, later))}"
        return Refused(
            f"{what}: {named} changed the same rows later", hint=then_undo(f"ckpt undo {later[0]}", operation)
        )
    return Refused(f"{what}: {_words(name)} was changed since by somebody else; nothing was written")


def _words(name: Ref | WriteKey | None) -> str:
    if name is None:
        return "a row"
    ref = name if isinstance(name, Ref) else name.ref
    return f"{'' if isinstance(name, Ref) else 'a write on '}checkpoint {ref.checkpoint_id} of thread {ref.thread_id!r}"


def _must_bear_nothing(saver: Saver, log: OperationLog, gone: set[Ref | WriteKey], operation: Operation) -> None:
    """A checkpoint that would go must have no child and no write that stays: somebody went on from it."""
    refs = {name for name in gone if isinstance(name, Ref)}
    _must_have_no_child(saver, log, refs, operation)
    for (thread_id, ns), ids in _grouped(refs):
        writes = saver.writes(thread_id, ns, ids, values=0)
        written = [w.ref for w in writes if WriteKey(w.ref, w.task_id, w.idx) not in gone]
        if written:
            written_ids = {ref.checkpoint_id for ref in written}
            by = hint_later_operation(saver, log, operation, thread_id, written_ids, with_writes=True)
            hint = by or hint_roll_back(saver, written[0])
            raise _went_on(operation, thread_id, written[0].checkpoint_id, hint)


def _must_have_no_child(saver: Saver, log: OperationLog, refs: set[Ref], operation: Operation) -> None:
    for (thread_id, ns), ids in _grouped(refs):
        children = [row for row in saver.rows(thread_id, ns) if row.parent_id in ids and row.ref not in refs]
        if children:
            by = hint_later_operation(saver, log, operation, thread_id, {child.checkpoint_id for child in children})
            hint = by or hint_delete_children(saver, operation, refs, children)
            raise _went_on(operation, thread_id, children[0].checkpoint_id, hint)


def _grouped(refs: set[Ref]) -> Iterator[tuple[tuple[str, str], set[str]]]:
    """The ids of checkpoints by thread and namespace."""
    for thread_id, ns in sorted({(ref.thread_id, ref.ns) for ref in refs}):
        yield (thread_id, ns), {ref.checkpoint_id for ref in refs if (ref.thread_id, ref.ns) == (thread_id, ns)}


def _must_wait_still(saver: Saver, log: OperationLog, answered: set[Ref], operation: Operation) -> None:
    """What has a child has taken its answer: without it the history would tell of a question that nobody answered."""
    for ref in sorted(answered):
        for place in _enclosing(saver, ref):
            later = (row for row in saver.rows(ref.thread_id, place.ns) if row.parent_id == place.checkpoint_id)
            ids = {row.checkpoint_id for row in later if row.checkpoint_id > ref.checkpoint_id}
            if ids:
                by = hint_later_operation(saver, log, operation, ref.thread_id, ids)
                back = command("ckpt rollback", ref.thread_id, "REV")
                hint = by or f"`{back}`, or `fork`, goes back to before the answer"
                raise _went_on(operation, ref.thread_id, min(ids), hint)


def _enclosing(saver: Saver, ref: Ref) -> Iterator[Ref]:
    """A checkpoint, and those of the graphs around it that were their heads when it was written, the root's last."""
    yield ref
    parts = ref.ns.split("|") if ref.ns else []
    for ns in ("|".join(parts[:depth]) for depth in range(len(parts) - 1, -1, -1)):
        earlier = (row.checkpoint_id for row in saver.rows(ref.thread_id, ns))
        if head := max((one for one in earlier if one < ref.checkpoint_id), default=None):
            yield Ref(ref.thread_id, ns, head)


def _went_on(operation: Operation, thread_id: str, to: str, hint: str) -> Refused:
    what = f"operation {operation.number} can't be taken back: thread {thread_id!r} went on from what it added"
    return Refused(f"{what} ({to}); nothing was written", hint=hint)
