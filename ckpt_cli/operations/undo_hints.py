"""Hints for a refused undo: what to type before it, or in its place."""

from collections.abc import Collection, Sequence

from ckpt_cli.errors import Refused
from ckpt_cli.model import CheckpointRow, Ref, WriteKey
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.operation import Operation, Phase
from ckpt_cli.operations.rehearsal import LogAfterUndo, RowsAfterUndo
from ckpt_cli.operations.restoring import Clash, Restored
from ckpt_cli.savers.contract import Saver
from ckpt_cli.shell_words import command

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
    options = [] if clash.at is None else ["--after", clash.at.checkpoint_id, *_ns_option(clash.at.ns)]
    keeps = command("ckpt fork", clash.thread_id, "@", options=["--to", "NEW_THREAD", "--with-pending"])
    besides = f" (before that, `{keeps}` keeps a copy of what is there now)"
    return then_undo(command("ckpt delete", clash.thread_id, options=options), operation, besides)


def hint_continued(
    saver: Saver, log: OperationLog, operation: Operation, restored: Restored, children: Sequence[CheckpointRow]
) -> str:
    """The hint to delete the descendants of checkpoints that an operation added, or to do without the undo.

    `ckpt delete --after` makes a tip of a checkpoint by deleting its writes. If the operation added some of them, no
    undo would find them afterwards.
    """
    child = children[0]
    rows = list(saver.rows(child.thread_id, child.ns))
    parent = child.ref._replace(checkpoint_id=child.parent_id or "")
    own = restored.added | restored.changed
    if any(row.ref in own and row.parent_id == child.parent_id for row in rows):
        options = ["--branch", _tip(rows, child.checkpoint_id)]
    elif parent in _added_writes(saver, log, operation):
        return hint_without_undo(saver, operation, restored, parent)
    else:
        options = ["--after", parent.checkpoint_id]
    return then_undo(command("ckpt delete", child.thread_id, options=[*options, *_ns_option(child.ns)]), operation)


def _added_writes(saver: Saver, log: OperationLog, operation: Operation) -> set[Ref]:
    """The checkpoints to which an operation added writes."""
    return {name.ref for name in _records(saver, log, operation) if isinstance(name, WriteKey)}


def hint_without_undo(saver: Saver, operation: Operation, restored: Restored, ref: Ref) -> str:
    """The hint what to type instead of an undo that nothing makes possible again.

    A thread that the operation made can be deleted. Another thread can go on from the head that it had before, or from
    another checkpoint that stays.
    """
    instead = "no undo is possible any more; instead, "
    before = _find_rest(saver, restored, ref) or _find_rest(saver, restored, ref._replace(ns=""))
    if before is None:
        made = "made" if operation.undoes is None else "brought back"
        return f"{instead}`{command('ckpt delete', ref.thread_id)}` deletes the whole thread, which it {made}"
    back = command("ckpt rollback", before.thread_id, before.checkpoint_id, options=_ns_option(before.ns))
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
    return f"`{back}` goes back to before the answer; what came after it stays as a branch"


def hint_look(ref: Ref) -> str:
    """The hint to look at a checkpoint that somebody else has changed."""
    show = command("ckpt show", ref.thread_id, ref.checkpoint_id, options=_ns_option(ref.ns))
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
    own = _records(saver, log, operation)
    for later in log.later_on_threads(operation):
        if later.phase is not Phase.DONE or (later.undoes is not None and own & _records(saver, log, later)):
            continue
        for change in log.changes(later.number):
            name = saver.record_of(change.relation, change.key)
            if change.after is None or name is None or (isinstance(name, WriteKey) and not with_writes):
                continue
            ref = name.ref if isinstance(name, WriteKey) else name
            if ref.thread_id == thread_id and ref.checkpoint_id in ids:
                if (later.undoes or 0) > operation.number and not _is_possible_after(saver, log, later, operation):
                    break
                return hint_undo_first(saver, log, later, operation)
    return ""


def _records(saver: Saver, log: OperationLog, operation: Operation) -> set[Ref | WriteKey]:
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


def _tip(rows: Sequence[CheckpointRow], checkpoint_id: str) -> str:
    """The tip that is reached from a checkpoint by following the newest child each time.

    In a damaged database, checkpoints may be each other's parents; then it is the last one before they repeat.
    """
    newest: dict[str | None, str] = {}
    for row in rows:
        newest[row.parent_id] = max(newest.get(row.parent_id, ""), row.checkpoint_id)
    passed = {checkpoint_id}
    while (child := newest.get(checkpoint_id)) is not None and child not in passed:
        passed.add(checkpoint_id := child)
    return checkpoint_id


def _ns_option(ns: str) -> list[str]:
    return ["--ns", ns] if ns else []
