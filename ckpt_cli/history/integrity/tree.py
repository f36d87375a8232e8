"""Faults of the tree of checkpoints: parents and callers that are gone, circles, writes on no checkpoint."""

from collections.abc import Iterator, Mapping
from itertools import takewhile

from ckpt_cli.history.integrity.faults import Fault, Kind
from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.reducers.delta import begins, lost_bases
from ckpt_cli.history.reducers.verdict import Verdict
from ckpt_cli.history.tasks.metadata_notes import note
from ckpt_cli.history.tasks.nesting import levels
from ckpt_cli.values.state import State

GONE = "what was deleted, and what a run never stored, look the same"
ALONE = Fault(Kind.WRITES_ALONE, Verdict.UNKNOWN, "", f"writes are stored on it, and it isn't stored: {GONE}")


def check_place(state: State, lineage: Lineage) -> Iterator[Fault]:
    """The faults of a checkpoint's place in the tree of its namespace."""
    own_id = state.ref.checkpoint_id
    if lineage.circular(own_id):
        yield Fault(Kind.PARENT_CIRCLE, Verdict.DIFFERS, "", "it is one of its own ancestors")
    elif lineage.missing(own_id) is not None:
        yield Fault(Kind.PARENT_GONE, Verdict.UNKNOWN, "", f"its parent isn't stored: {GONE}")
    elif lineage.parent(own_id) is None and not begins(state):
        yield Fault(Kind.NO_PARENT, Verdict.UNKNOWN, "", f"it has no parent, and earlier steps aren't stored: {GONE}")
    else:
        return
    for channel in lost_bases(state):
        why = "its value needs writes of checkpoints that aren't stored: it is lost"
        yield Fault(Kind.DELTA_GAP, Verdict.DIFFERS, channel, why)


def check_caller(state: State, lineages: Mapping[str, Lineage]) -> Iterator[Fault]:
    """The fault of a subgraph's checkpoint whose caller is gone; `lineages` are those of the thread's namespaces.

    A ``@task`` is a level without checkpoints: it has the caller of the level around it (langgraph 1.2
    ``pregel/_algo.py: prepare_push_task_functional``), and of that level the caller is stored.
    """
    if not state.ref.ns:
        return
    callers = note(state.metadata, state.ref.checkpoint_id).parents
    outer = levels(state.ref.ns)[-2::-1]
    caller = callers.get(outer[0])
    same = takewhile(lambda ns: callers.get(ns) == caller, outer)
    if caller is None or any(ns in lineages and caller in lineages[ns].rows for ns in same):
        return
    why = f"the checkpoint that called its subgraph isn't stored: {GONE}"
    yield Fault(Kind.CALLER_GONE, Verdict.UNKNOWN, "", why)
