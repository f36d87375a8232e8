"""Undoes an operation; refuses if somebody continued from it, used its answer or changed a row since.

It restores the operation's rows. The undo is a new operation, which can be undone too.
"""

from collections.abc import Collection, Iterator
from itertools import islice
from typing import NamedTuple

from ckpt_cli.errors import NotFound, Refused
from ckpt_cli.model import Ref, RowChange, WriteKey
from ckpt_cli.operations import rows
from ckpt_cli.operations.apply import write
from ckpt_cli.operations.continuations import must_have_no_later_records
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.operation import Heading, Operation, Phase
from ckpt_cli.operations.restoring import ParentSearch, Restored, find_clash, find_restored, head_beside, removed_later
from ckpt_cli.operations.undo_hints import (
    find_added,
    hint_before_answer,
    hint_later_operation,
    hint_look,
    hint_make_room,
    hint_redo,
    hint_undo_first,
)
from ckpt_cli.operations.used_answers import head_before, must_be_unused
from ckpt_cli.savers.about import SideEffect
from ckpt_cli.savers.contract import Saver


def find_operation(saver: Saver, log: OperationLog, number: int | None) -> Operation:
    """The operation with this number; without a number, the newest done operation that isn't itself an undo.

    Left out is one that hangs on what a later undo took back, such as a deletion that made room for this undo.

    Raises:
        NotFound: there is no such operation.
        Refused: the operation isn't done, or its rows were forgotten.
    """
    for operation in log.operations():
        if operation.shown == number:
            _must_be_done(log, operation)
            _must_have_rows(log, operation)
            return operation
        if number is None and operation.phase is Phase.DONE and operation.undoes is None:
            _must_have_rows(log, operation)
            orphan = _find_orphan(saver, log, operation)
            if orphan is None or orphan.remover.undoes is None:
                return operation
    if number is None and (undo_of_all := _newest_undo(log)):
        what = f"nothing but undos is left to undo in this user's log ({log.path})"
        raise NotFound(what, hint=f"`{undo_of_all.undo_command}` takes back the newest undo")
    what = "nothing to undo" if number is None else f"no operation {number}"
    hint = "`ckpt operations` lists this user's log; each user and machine has an own one, named by XDG_STATE_HOME"
    raise NotFound(f"{what} in this user's log ({log.path})", hint=hint)


def _newest_undo(log: OperationLog, before: int | None = None) -> Operation | None:
    """The newest undo that can be undone, or the newest `before` an operation."""
    undos = (one for one in log.operations() if one.undoes is not None and one.phase is Phase.DONE)
    return next((one for one in undos if not one.is_forgotten and (before is None or one.number < before)), None)


def undo(
    saver: Saver,
    log: OperationLog,
    operation: Operation,
    *,
    at: float,
    reason: str,
    accepted: Collection[SideEffect] = (),
) -> int:
    """Restore every row as it was before an operation, and give the number of the new operation.

    Raises:
        Refused: a later operation or somebody else has changed the operation's rows since; nothing was written.
    """
    _must_be_proved(log, operation)
    heading = Heading(at, "undo", reason, describe(operation), operation.number)
    return write(saver, log, heading, lambda: inverse(saver, log, operation), accepted)


def _must_be_proved(log: OperationLog, operation: Operation) -> None:
    """Refuse an operation that has neither a witness nor a row to compare.

    Another database may have been at this address when the operation was made.
    """
    if operation.number > log.last_unwitnessed or log.is_trusted or log.leaves_rows(operation.number):
        return
    why = "the version of ckpt that logged it stored nothing that could prove it"
    what = f"nothing proves that {operation.name} was done to this database"
    raise Refused(f"{what}: {why}; nothing was written", hint="if you know that it was, add --same-database")


def describe(operation: Operation) -> str:
    """The summary of an undo: the number of the undone operation, its verb, and the first part of its summary.

    The rest of that summary, after ": " or "; ", describes a result that no longer exists. That of an operation on many
    threads has no such rest, but may have a person's pattern in it.
    """
    summary = operation.summary
    if operation.parts is None:
        summary = summary.partition(": ")[0].partition("; ")[0]
    return f"of operation {operation.shown} ({operation.verb} {summary})"


def inverse(saver: Saver, log: OperationLog, operation: Operation) -> Iterator[RowChange]:
    """The row changes that undo an operation.

    Raises:
        Refused: a row is not as the operation left it; a record that would be removed has a new child or write; an
            answer that would be removed was used; a thread whose records would be restored was created again; or a
            restored checkpoint would be the child of one that a later operation removed.
    """
    _must_not_be_orphans(saver, log, operation)
    removed: set[Ref | WriteKey] = set()
    answered: set[WriteKey] = set()
    restored = Restored()
    changes = log.changes(operation.number, backwards=True)
    while page := list(islice(changes, saver.page)):
        current = saver.currents([(change.relation, change.key) for change in page])
        for change, now in zip(page, current, strict=True):
            if not rows.is_image(saver, change.relation, now, change.after):
                name = saver.record_of(change.relation, change.key)
                expected = find_restored(saver, log, operation.number)
                _must_fit(saver, log, operation, expected, has_side_rows=name is None)
                # a side row changes with later checkpoints, and Redis marks a checkpoint that gets writes
                if name is None or name in expected.added:
                    must_have_no_later_records(saver, log, find_added(saver, log, operation), expected, operation)
                raise _changed_since(saver, log, operation, name)
            if operation.verb == "resume":
                answered.update(name for name in saver.written(change) if isinstance(name, WriteKey))
            removed.update(saver.added(change))
            name = saver.record_of(change.relation, change.key)
            restored.add_row(name, was_there=change.before is not None, is_left=change.after is not None)
            yield rows.inverse(saver, change, now)
    must_have_no_later_records(saver, log, removed, restored, operation)
    must_be_unused(saver, log, answered, operation)
    _must_fit(saver, log, operation, restored)


def _must_fit(
    saver: Saver, log: OperationLog, operation: Operation, restored: Restored, *, has_side_rows: bool = False
) -> None:
    """Check that the restored records fit into their thread.

    They don't fit if the thread continued, or was deleted and created again under the same id.
    """
    clash = find_clash(saver, log, operation, restored, has_side_rows=has_side_rows)
    if clash is None:
        return
    later_hint = hint_later_operation(saver, log, operation, clash.thread_id, clash.added)
    if clash.at is None:
        what = "was created again since, and two histories would be mixed"
    else:
        what = (
            f"has continued from {clash.at.checkpoint_id} since, and the restored records don't fit together with that"
        )
    raise Refused(
        f"{operation.name} can't be taken back: thread {clash.thread_id!r} {what}; nothing was written",
        hint=later_hint or hint_make_room(clash, operation),
    )


def _must_not_be_orphans(saver: Saver, log: OperationLog, operation: Operation) -> None:
    """Refuse to restore a checkpoint whose parent a later operation removed."""
    orphan = _find_orphan(saver, log, operation)
    if orphan is None:
        return
    what = f"{operation.name} can't be taken back: it would bring back {orphan.ref.checkpoint_id}"
    raise Refused(
        f"{what}, whose parent {orphan.parent.checkpoint_id} {orphan.remover.name} removed; nothing was written",
        hint=hint_undo_first(saver, log, orphan.remover, operation),
    )


class _Orphan(NamedTuple):
    """A checkpoint that an undo would restore, its parent, and the later operation that removed the parent."""

    ref: Ref
    parent: Ref
    remover: Operation


def _find_orphan(saver: Saver, log: OperationLog, operation: Operation) -> _Orphan | None:
    removed = removed_later(saver, log, operation)
    parents = ParentSearch(removed)
    for change in log.changes(operation.number) if removed else ():
        ref = saver.record_of(change.relation, change.key)
        if not isinstance(ref, Ref) or change.before is None or change.after is not None:
            continue
        if (parent := parents.find(ref, change.before)) is not None:
            return _Orphan(ref, parent, removed[parent])
    return None


def undo_notes(saver: Saver, log: OperationLog, operation: Operation) -> list[str]:
    """Lines to show before an undo: the head of a thread that has continued stays the head."""
    head = head_beside(saver, log, operation)
    return [] if head is None else [f"the head stays {head.checkpoint_id}; the restored checkpoints are another branch"]


def _must_be_done(log: OperationLog, operation: Operation) -> None:
    if operation.phase is Phase.DONE:
        return
    if operation.phase is Phase.PLANNED:
        what = f"{operation.name} was interrupted, or is running now: what it wrote isn't known"
        raise Refused(what, hint="`ckpt operations --settle` finds out how it ended, if the rows show it")
    hint = hint_redo(log, operation)
    if operation.phase is Phase.ABANDONED:
        hint = "it was interrupted, and changed nothing or was taken back"
    if operation.phase is Phase.REFUSED:
        raise Refused(f"{operation.name} changed nothing: all its threads were refused")
    raise Refused(f"{operation.name} is {operation.phase} already", hint=hint)


def _must_have_rows(log: OperationLog, operation: Operation) -> None:
    if not operation.is_forgotten:
        return
    undoable = (
        one for one in log.operations() if one.phase is Phase.DONE and one.undoes is None and not one.is_forgotten
    )
    earlier = next((one.shown for one in undoable if one.number < operation.number), None)
    hint = "" if earlier is None else f"`ckpt undo {earlier}` takes back an earlier one"
    if earlier is None and (earlier_undo := _newest_undo(log, operation.number)):
        hint = f"`{earlier_undo.undo_command}` takes back an earlier undo"
    raise Refused(f"{operation.name} can't be taken back: its rows were forgotten", hint=hint)


def _changed_since(saver: Saver, log: OperationLog, operation: Operation, name: Ref | WriteKey | None) -> Refused:
    what = f"{operation.name} can't be taken back"
    if later := log.later_operations(operation.number):
        numbers = ", ".join(str(one.shown) for one in later)
        named = later[0].name if len(later) == 1 else f"operations {numbers}"
        hint = hint_undo_first(saver, log, later[0], operation)
        return Refused(f"{what}: {named} changed the same rows later", hint=hint)
    place = name.ref if isinstance(name, WriteKey) else name
    if place is not None and saver.thread(place.thread_id) is None:
        why = f"thread {place.thread_id!r} is gone: an agent or somebody else deleted it"
        return Refused(f"{what}: {why}; nothing was written", hint="`ckpt threads` lists what there is")
    why = f"{_describe_record(name)} was changed since by an agent or somebody else"
    return Refused(f"{what}: {why}; nothing was written", hint=_hint_changed(saver, operation, name))


def _hint_changed(saver: Saver, operation: Operation, name: Ref | WriteKey | None) -> str:
    """The hint what to look at; an agent that asks again keeps the answers before it in the row of the answer."""
    if name is None:
        return ""
    if isinstance(name, Ref) or operation.verb != "resume":
        return hint_look(name if isinstance(name, Ref) else name.ref)
    return hint_before_answer(head_before(saver, operation, name.ref))


def _describe_record(name: Ref | WriteKey | None) -> str:
    if name is None:
        return "a row"
    ref = name if isinstance(name, Ref) else name.ref
    return f"{'' if isinstance(name, Ref) else 'a write on '}checkpoint {ref.checkpoint_id} of thread {ref.thread_id!r}"
