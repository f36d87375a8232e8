"""What would run a second time under a new child of a checkpoint whose step is under way.

A new checkpoint has new task ids, so what its parent's tasks did isn't found by them; a sibling of an interrupt that
had finished runs again, and so do the ``@task`` calls that an entrypoint or a node had made.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from ckpt_cli.errors import Refused
from ckpt_cli.history.state.channels import INTERRUPT, RESUME, RETURN
from ckpt_cli.history.tasks.snapshot import Snapshot, Status
from ckpt_cli.history.tasks.task_ids import caller
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
    begun, calls = list(_begun(reader, snapshot, row)), finished_calls(reader, snapshot, row)
    if done or begun or calls:
        told = [f"{', '.join([*count_names(done), *calls])} finished"] * bool(done or calls)
        told += [f"{', '.join(begun)} ran in part"] * bool(begun)
        commit = "" if calls else "; `ckpt replay --commit` keeps what finished, then edit what follows"
        is_one = len(done + begun + calls) == 1 and all(call.startswith("1 ") for call in calls)
        they, them = ("it", "it") if is_one else ("they", "them")
        raise Refused(
            f"at that checkpoint {' and '.join(told)}: with an edited state {they} would run again",
            hint=f"--rerun lets {them}{commit}",
        )


def count_names(names: Iterable[str]) -> list[str]:
    """``work (2 tasks)``: each node once, with how many of these tasks it has."""
    return [f"{name} ({count} tasks)" if count > 1 else name for name, count in Counter(names).items()]


def finished_calls(reader: Reader, snapshot: Snapshot, row: CheckpointRow) -> list[str]:
    """``2 calls of flow``: how many ``@task`` calls have finished that tasks made which have not.

    The result of a call is a write to ``__return__`` (langgraph 1.2 ``pregel/_algo.py: prepare_push_task_functional``);
    its path names the task that called it, where the database has paths.
    """
    unfinished = {task.node for task in snapshot.tasks if task.status is not Status.FINISHED}
    if snapshot.consumed or not unfinished:
        return []
    results = [write.row for write in reader.writes(row.ref, values=0) if write.channel == RETURN]
    only = next(iter(unfinished)) if len(unfinished) == 1 else None
    callers = Counter(caller(write.task_path) or only or "a task" for write in results)
    told = {name: count for name, count in callers.items() if name in unfinished or name == "a task"}
    return [f"{count} call{'' if count == 1 else 's'} of {name}" for name, count in told.items()]


def _begun(reader: Reader, snapshot: Snapshot, row: CheckpointRow) -> Iterator[str]:
    """Tasks whose subgraphs have got somewhere: their namespace bears the task's id."""
    prefix = f"{row.ns}|" if row.ns else ""
    spaces = reader.saver.namespaces(row.thread_id)
    for task in snapshot.tasks:
        own = f"{prefix}{task.node}:{task.id}"
        if task.status is not Status.FINISHED and any(ns == own or ns.startswith(f"{own}|") for ns in spaces):
            yield f"{task.node} (a subgraph)"


def describe_not_inherited(reader: Reader, snapshot: Snapshot, row: CheckpointRow) -> Iterator[str]:
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
