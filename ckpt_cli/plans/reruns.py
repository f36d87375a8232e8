"""What would run a second time under a new child of a checkpoint whose step is under way.

A new checkpoint has new task ids, so what its parent's tasks did isn't found by them; a sibling of an interrupt that
had finished runs again.
"""

from collections.abc import Iterator

from ckpt_cli.errors import Refused
from ckpt_cli.history.channels import INTERRUPT, RESUME
from ckpt_cli.history.snapshot import Snapshot, Status
from ckpt_cli.model import NULL_TASK, CheckpointRow
from ckpt_cli.reading import Reader


def must_run_once(reader: Reader, snapshot: Snapshot, row: CheckpointRow, *, rerun: bool) -> None:
    """Hold that nothing of a step that is under way runs twice, unless the user says it may.

    Raises:
        Refused: naming what would run again.
    """
    if rerun or snapshot.consumed:
        return
    done = [task.node or "a task" for task in snapshot.tasks if task.status is Status.FINISHED]
    begun = list(_begun(reader, snapshot, row))
    if done or begun:
        told = [f"{', '.join(done)} finished"] * bool(done) + [f"{', '.join(begun)} ran in part"] * bool(begun)
        raise Refused(
            f"at that checkpoint {' and '.join(told)}: with an edited state it would run again",
            hint="--rerun lets it; `ckpt replay --commit` keeps what finished, then edit what follows",
        )


def _begun(reader: Reader, snapshot: Snapshot, row: CheckpointRow) -> Iterator[str]:
    """Tasks whose subgraphs have got somewhere: their namespace bears the task's id."""
    prefix = f"{row.ns}|" if row.ns else ""
    spaces = reader.saver.namespaces(row.thread_id)
    for task in snapshot.tasks:
        own = f"{prefix}{task.node}:{task.id}"
        if task.status is not Status.FINISHED and any(ns == own or ns.startswith(f"{own}|") for ns in spaces):
            yield f"{task.node} (a subgraph)"


def left_behind(reader: Reader, snapshot: Snapshot, row: CheckpointRow) -> Iterator[str]:
    """One line about each thing recorded at a checkpoint under way that a child of it doesn't inherit."""
    if snapshot.consumed:
        return
    if begun := list(_begun(reader, snapshot, row)):
        yield f"{', '.join(begun)} ran in part; here it begins again"
    writes = reader.writes(row.ref, values=0)
    if any(write.channel == RESUME for write in writes):
        yield "an answer that was given there isn't taken along: the question is asked again"
    if any(write.task_id == NULL_TASK and write.channel not in (RESUME, INTERRUPT) for write in writes):
        yield "values that came with a Command there, and were not used yet, aren't taken along"
