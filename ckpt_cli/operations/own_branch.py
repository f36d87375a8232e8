"""The branch to delete in place of an undo: what an operation added, and what came after."""

from collections.abc import Sequence

from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.model import CheckpointRow, Ref
from ckpt_cli.operations.restoring import Restored
from ckpt_cli.savers.contract import Saver


def find_own_branch(saver: Saver, restored: Restored, ref: Ref) -> str | None:
    """The tip of a branch that consists of what an operation added to a graph and of what came after; else None.

    None also if the thread has a subgraph with its own memory: checkpoints of it may depend on several branches.
    """
    rows = list(saver.rows(ref.thread_id, ref.ns))
    lineage = Lineage(rows)
    tip, own = tip_from(rows, ref.checkpoint_id), list[str]()
    for checkpoint_id in lineage.line(tip):
        if len(lineage.children.get(checkpoint_id, ())) > 1:
            break
        own.append(checkpoint_id)
    added = {one.checkpoint_id for one in restored.added if one[:2] == ref[:2]}
    elsewhere = any(one.thread_id != ref.thread_id for one in restored.added)
    first = ref._replace(checkpoint_id=own[-1]) if own else ref
    is_whole = added <= set(own) and first in restored.added and len(own) < len(lineage)
    spaces = saver.namespaces(ref.thread_id)
    has_memory = any(":" not in part and not part.isdigit() for ns in spaces if ns for part in ns.split("|"))
    return tip if is_whole and not elsewhere and not has_memory else None


def tip_from(rows: Sequence[CheckpointRow], checkpoint_id: str) -> str:
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
