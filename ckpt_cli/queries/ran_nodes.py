"""Which nodes ran in a namespace, on any branch, also in steps that didn't end: `find_ran`."""

from collections.abc import Collection, Iterator
from itertools import islice

from ckpt_cli.history.tasks import nesting
from ckpt_cli.history.tasks.snapshot import Status
from ckpt_cli.history.tasks.write_attribution import LOOPS
from ckpt_cli.inspection import Inspection
from ckpt_cli.queries.step_reads import StepReads

_MOST_SEARCHED = 200  # tips and steps that led to no loop; what isn't found then stays in doubt


def find_ran(reads: StepReads, nodes: Collection[str]) -> set[str]:
    """Those of these nodes of which a task is seen to be recorded in the namespace; the newest tips are read first."""
    left = set(nodes)
    for some in _ran(reads):
        left -= some
        if not left:
            break
    return {*nodes} - left


def _ran(reads: StepReads) -> Iterator[set[str]]:
    """The nodes that called subgraphs, then those that are recorded at a tip or in a step that led to no loop.

    A step that led on is in the ``versions_seen`` of the tips after it.
    """
    namespaces = {row.ns for row in reads.reader.rows(reads.thread_id)}
    yield {nesting.callers(ns)[len(nesting.callers(reads.ns))] for ns in nesting.called_from(reads.ns, namespaces)}
    lineage = reads.lineage
    reads.read_notes(lineage.rows)
    newest = (i for i in sorted(lineage.rows, reverse=True) if not _led_on(reads, i))
    ended = [*islice(newest, _MOST_SEARCHED)]
    written = reads.reader.writes_by_checkpoint(reads.thread_id, reads.ns, ended, values=0).keys()
    for checkpoint_id in ended:
        is_tip = checkpoint_id not in lineage.children
        if is_tip and (state := reads.small_state(checkpoint_id)) is not None:
            yield {*state.seen}
        if checkpoint_id in written and reads.small_state(checkpoint_id) is not None:
            tasks = Inspection(reads.reader, reads.ref(checkpoint_id)).snapshot().all_tasks
            yield {task.node for task in tasks if task.node is not None and task.status is not Status.DUE}


def _led_on(reads: StepReads, checkpoint_id: str) -> bool:
    children = reads.lineage.children.get(checkpoint_id, ())
    return any(reads.attribution.note(child).source in LOOPS for child in children)
