"""Whether the next run of a changed subgraph comes again to the question that it asked before.

An update can move a subgraph past the node that asked. The graphs around it still have the question: ``get_state``
lists it, but no task waits for its answer. What is recorded shows only which nodes led to the question. The graph's
code may know other ways, but a way that no run took is no reason to promise anything.
"""

from collections.abc import Sequence
from itertools import islice

from ckpt_cli.errors import CheckpointNotFound, PayloadCorrupt
from ckpt_cli.history.tasks.snapshot import Task
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import Ref
from ckpt_cli.reading import Reader

_MOST_STEPS = 100  # steps before the question that are looked at


def describe_next(reader: Reader, thread_id: str, ns: str) -> str:
    """What the next run does first in a subgraph, as far as what is stored shows it."""
    due = Inspection(reader, reader.head(thread_id, ns).ref).snapshot().next
    return f"the next run goes on with {', '.join(due)} there" if due else "the next run goes on there"


def why_not_asked(reader: Reader, thread_id: str, ns: str, asked_id: str, asking: Sequence[str]) -> str:
    """Why the next run of a changed subgraph doesn't come to the question as it did before; "" if it may.

    Args:
        reader: the database.
        thread_id: the thread.
        ns: the subgraph's namespace.
        asked_id: the question's id.
        asking: the subgraph's checkpoints on which the question is recorded, oldest first.
    """
    try:
        due = Inspection(reader, reader.head(thread_id, ns).ref).snapshot().next
        leading = _leading_nodes(reader, Ref(thread_id, ns, asking[-1]), asked_id) if asking else None
    except (CheckpointNotFound, PayloadCorrupt):  # what is lost shows no way
        return ""
    if due is None or leading is None or not leading.isdisjoint(due):
        return ""
    if not due:
        return "its subgraph was moved past the question: nothing is left to run there"
    goes_on = f"the next run goes on with {', '.join(due)} there"
    return f"its subgraph was moved past the question: {goes_on}, and nothing recorded leads from there to the question"


def _leading_nodes(reader: Reader, asker: Ref, asked_id: str) -> set[str] | None:
    """The nodes that asked, and those that ran before them since they ran last; None if some are unknown."""
    asked = [task for task in Inspection(reader, asker).snapshot().all_tasks if _has_asked(task, asked_id)]
    asking = {task.node for task in asked if task.node is not None}
    if not asking or len(asking) < len({task.node for task in asked}):
        return None
    leading, lineage = set(asking), reader.lineage(asker.thread_id, asker.ns)
    before = list(islice(lineage.line(asker.checkpoint_id), 1, 2 + _MOST_STEPS))
    for checkpoint_id in before:
        ran = Inspection(reader, asker._replace(checkpoint_id=checkpoint_id)).snapshot().next
        if ran is None:
            return None
        if asking.intersection(ran):
            return leading
        leading.update(ran)
    return leading if len(before) <= _MOST_STEPS else None


def _has_asked(task: Task, asked_id: str) -> bool:
    return any(one.id == asked_id for one in task.interrupts)
