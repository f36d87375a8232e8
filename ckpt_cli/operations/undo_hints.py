"""Hints for a refused undo: what to type before it, or in its place."""

from collections.abc import Collection, Sequence

from ckpt_cli.errors import Refused
from ckpt_cli.model import CheckpointRow, Ref, WriteKey
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.makers import Makers
from ckpt_cli.operations.operation import Operation, Phase
from ckpt_cli.operations.own_branch import find_own_branch, tip_from
from ckpt_cli.operations.rehearsal import LogAfterUndo, RowsAfterUndo
from ckpt_cli.operations.restoring import Clash, Restored
from ckpt_cli.savers.contract import Saver
from ckpt_cli.shell_words import command, ns_option

_NAMED = 5  # at most so many undos of one operation are named


def then_undo(command_line: str, operation: Operation, aside: str = "") -> str:
    """The hint to type this command first, then the refused undo; `aside` is a text between the two."""
    return f"`{command_line}` first{aside}, then `{operation.undo_command}`"


def hint_redo(log: OperationLog, operation: Operation) -> str:
    """The hint how to bring back an undone operation; each of several undos had undone a part of it."""
    undos = log.undone_by(operation.number)
    left = [one for one in undos if not one.is_forgotten]
    what = "it back" if len(left) == len(undos) else "back what isn't forgotten of it"
    if len(left) < 2:
        return "".join(f"`{one.undo_command}` brings {what}" for one in left)
    commands = ", ".join(f"`{one.undo_command}`" for one in left[:_NAMED])
    more = len(left) - _NAMED
    rest = f", and {more:,} more undos in `ckpt operations`," if more > 0 else ""
    return f"{len(left):,} undos took it back, each on other threads: {commands}{rest} bring {what}"


def hint_make_room(clash: Clash, operation: Operation) -> str:
    """The hint to delete the checkpoints that were added to a thread since the operation."""
    options = [] if clash.at is None else ["--after", clash.at.checkpoint_id, *ns_option(clash.at.ns)]
    keeps = command("ckpt fork", clash.thread_id, "@", options=["--to", "NEW_THREAD", "--with-pending"])
    besides = f" (before that, `{keeps}` keeps a copy of what is there now)"
    return then_undo(command("ckpt delete", clash.thread_id, options=options), operation, besides)


def hint_continued(
    saver: Saver, log: OperationLog, operation: Operation, restored: Restored, children: Sequence[CheckpointRow]
) -> str:
    """The hint to delete the descendants of checkpoints that an operation added, or to do without the undo."""
    child = children[0]
    rows = list(saver.rows(child.thread_id, child.ns))
    parent = child.ref._replace(checkpoint_id=child.parent_id or "")
    own = restored.added | restored.changed
    if any(row.ref in own and row.parent_id == child.parent_id for row in rows):
        options = ["--branch", tip_from(rows, child.checkpoint_id), *ns_option(child.ns)]
        return then_undo(command("ckpt delete", child.thread_id, options=options), operation)
    return hint_written(saver, log, operation, restored, parent)


def hint_written(saver: Saver, log: OperationLog, operation: Operation, restored: Restored, ref: Ref) -> str:
    """The hint to delete what came after a checkpoint that an operation added, or to do without the undo.

    `ckpt delete --after` leaves on it what the operation that made it stored there. An undo that brought it back didn't
    make it: if it brought back writes of tasks too, these would be deleted, and it couldn't be undone.
    """
    if not _stays(saver, log, operation, ref):
        return hint_without_undo(saver, operation, restored, ref)
    options = ["--after", ref.checkpoint_id, *ns_option(ref.ns)]
    return then_undo(command("ckpt delete", ref.thread_id, options=options), operation)


def _stays(saver: Saver, log: OperationLog, operation: Operation, ref: Ref) -> bool:
    """Whether ``ckpt delete --after`` a checkpoint leaves every record that an operation added."""
    if isinstance(log, LogAfterUndo):
        return False  # of a rehearsal only the message is used
    inside = f"{ref.ns}|" if ref.ns else ""
    own = set[Ref | WriteKey]()
    for one in find_added(saver, log, operation):
        place = one.ref if isinstance(one, WriteKey) else one
        is_inside = place.thread_id == ref.thread_id and place.ns != ref.ns and place.ns.startswith(inside)
        if is_inside or (isinstance(one, WriteKey) and place == ref):
            own.add(one)
    stored = Makers(saver, log).stored_with(ref) if own else None
    return not own or (stored is not None and own <= stored.intact)


def hint_without_undo(saver: Saver, operation: Operation, restored: Restored, ref: Ref) -> str:
    """The hint what to type instead of an undo that no deletion makes possible.

    A thread that the operation made can be deleted, and so can a branch. Another thread can go on from the head that it
    had before, or from another checkpoint that stays.
    """
    instead = "instead of this undo, "
    before = _find_rest(saver, restored, ref) or _find_rest(saver, restored, ref._replace(ns=""))
    if before is None:
        made = "made" if operation.undoes is None else "brought back"
        return f"{instead}`{command('ckpt delete', ref.thread_id)}` deletes the whole thread, which it {made}"
    if tip := find_own_branch(saver, restored, ref):
        options = ["--branch", tip, *ns_option(ref.ns)]
        delete = command("ckpt delete", ref.thread_id, options=options)
        instead += f"`{delete}` deletes what it {operation.added} with all that came after; "
    back = command("ckpt rollback", before.thread_id, before.checkpoint_id, options=ns_option(before.ns))
    where = "the head before it"
    if before.checkpoint_id > _newest(restored, ref):
        where = f"the newest checkpoint that doesn't descend from what it {operation.added}"
    goes = f"{instead}`{back}` goes on from {where}, and its plan says which tasks run again"
    if before.ns:
        return goes
    options = ["--to", "NEW_THREAD", "--with-pending"]
    copy = command("ckpt fork", before.thread_id, before.checkpoint_id, options=options)
    return f"{goes}; `{copy}` makes a thread in which those that had finished don't"


def _newest(restored: Restored, ref: Ref) -> str:
    """The newest checkpoint of a thread that an undo would remove."""
    return max((one.checkpoint_id for one in restored.added if one.thread_id == ref.thread_id), default="")


def _find_rest(saver: Saver, restored: Restored, ref: Ref) -> Ref | None:
    """The newest checkpoint of a graph that the undo leaves and that doesn't descend from what it removes; or None.

    One that the operation only changed was there before it, whatever its parent is now.
    """
    lost, rest = set(restored.added), list[Ref]()
    for row in saver.rows(ref.thread_id, ref.ns):
        is_descendant = row.ref._replace(checkpoint_id=row.parent_id or "") in lost
        if row.ref in lost or (is_descendant and row.ref not in restored.changed):
            lost.add(row.ref)
        else:
            rest.append(row.ref)
    return max(rest, key=lambda one: one.checkpoint_id, default=None)


def hint_before_answer(asked: Ref) -> str:
    """The hint to go back to the checkpoint of the root graph whose answer was used."""
    back = command("ckpt rollback", asked.thread_id, asked.checkpoint_id)
    return f"`{back}` makes the state before the answer current again, and its plan says what runs again"


def hint_look(ref: Ref) -> str:
    """The hint to look at a checkpoint that somebody else has changed."""
    show = command("ckpt show", ref.thread_id, ref.checkpoint_id, options=ns_option(ref.ns))
    return f"`{show}` shows what is there now"


def hint_later_operation(
    saver: Saver,
    log: OperationLog,
    operation: Operation,
    thread_id: str,
    ids: Collection[str],
    *,
    with_writes: bool = False,
) -> str:
    """The hint to first undo the newest later operation that made or restored one of these checkpoints; else "".

    With `with_writes`, an operation that made or restored a write on such a checkpoint counts too. An undo that brought
    back what this operation had added doesn't count: without it, those records would be gone again. Nor does the undo
    of a later operation, which changed nothing on the whole, unless the rows as they were before it allow this undo.
    """
    own = find_added(saver, log, operation)
    for later in log.later_on_threads(operation):
        if later.phase is not Phase.DONE or (later.undoes is not None and own & find_added(saver, log, later)):
            continue
        for change in log.changes(later.number):
            names = set(saver.added(change))
            name = saver.record_of(change.relation, change.key)
            if isinstance(name, Ref) and change.after is not None and not with_writes:
                names.add(name)  # its parent may be another one
            refs = {
                one.ref if isinstance(one, WriteKey) else one for one in names if with_writes or isinstance(one, Ref)
            }
            if any(ref.thread_id == thread_id and ref.checkpoint_id in ids for ref in refs):
                if (later.undoes or 0) > operation.number and not _is_possible_after(saver, log, later, operation):
                    break
                return hint_undo_first(saver, log, later, operation)
    return ""


def find_added(saver: Saver, log: OperationLog, operation: Operation) -> set[Ref | WriteKey]:
    """The records that an operation added, as rows that weren't there before."""
    return {name for change in log.changes(operation.number) for name in saver.added(change)}


def hint_undo_first(saver: Saver, log: OperationLog, later: Operation, operation: Operation) -> str:
    """The hint to first undo a later operation; it promises the second undo only if that is possible then."""
    if isinstance(log, LogAfterUndo):
        return ""  # of a rehearsal only the message is used
    if refused := _refusal(saver, log, later):
        hint = f": {refused.hint}" if refused.hint else ""
        return f"{later.name} is to be taken back first, and can't be now ({_why(refused, later)}){hint}"
    aside = "" if later.undoes is None else f" (it took back {log.name_of(later.undoes)})"
    if refused := _refusal_after(saver, log, later, operation):
        then = f"`{operation.undo_command}` is refused then too ({_why(refused, operation)}), with its own hint"
        return f"`{later.undo_command}` first{aside}; {then}"
    return then_undo(later.undo_command, operation, aside)


def _is_possible_after(saver: Saver, log: OperationLog, later: Operation, operation: Operation) -> bool:
    """Whether an operation can be undone once a later one is; False within a rehearsal, where it isn't tried."""
    if isinstance(log, LogAfterUndo) or _refusal(saver, log, later):
        return False
    return _refusal_after(saver, log, later, operation) is None


def _refusal_after(saver: Saver, log: OperationLog, later: Operation, operation: Operation) -> Refused | None:
    """Why an operation can't be undone once a later one is, which can be; None if it can."""
    return _refusal(RowsAfterUndo(saver, log, later), LogAfterUndo(log, later), operation)


def _refusal(saver: Saver, log: OperationLog, operation: Operation) -> Refused | None:
    """Why an operation can't be undone; None if it can."""
    from ckpt_cli.operations.undo import inverse  # which imports this module

    try:
        for _ in inverse(saver, log, operation):
            pass
    except Refused as error:
        return error
    return None


def _why(refused: Refused, operation: Operation) -> str:
    return refused.reason.removeprefix(f"{operation.name} can't be taken back: ")
