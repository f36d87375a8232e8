"""What a plan says of checkpoints in words: their short ids and steps, what runs next, what runs again."""

from collections.abc import Iterable

from ckpt_cli.history.lineage import ids
from ckpt_cli.history.lineage.short_ids import ShortIds
from ckpt_cli.history.tasks.snapshot import Snapshot, Status
from ckpt_cli.model import CheckpointRow, Ref
from ckpt_cli.plans.reruns import count_names, finished_calls
from ckpt_cli.reading import Reader

_MOMENTS = 60
"""Seconds since a thread's last checkpoint in which its application counts as perhaps still running."""


def short_ids(reader: Reader, ref: Ref, *new_ids: str) -> ShortIds:
    """The short ids of a thread with some new ones in it."""
    return ShortIds([*(row.checkpoint_id for row in reader.rows(ref.thread_id)), *new_ids])


def recently_written(reader: Reader, rows: Iterable[CheckpointRow]) -> tuple[Ref, ...]:
    """The newest of one thread's checkpoints, where its id was made moments ago: a run may be under way."""
    newest = max(rows, key=lambda row: row.checkpoint_id, default=None)
    when = None if newest is None else ids.unix_time(newest.checkpoint_id)
    fresh = when is not None and abs(reader.clock() - when) < _MOMENTS
    return (newest.ref,) if newest is not None and fresh else ()


def describe_next(snapshot: Snapshot) -> str:
    """``next: a, b``, all tasks counted as if none had run."""
    names = [task.node for task in snapshot.tasks]
    if not snapshot.complete or None in names:
        return "what runs next can't be known without the graph"
    return f"next: {', '.join(str(name) for name in names)}" if names else "nothing runs next"


def describe_new_head(reader: Reader, row: CheckpointRow, short: ShortIds, *, beside: bool = False) -> Iterable[str]:
    """One line where a new checkpoint made of this one takes the head's place, which it doesn't follow.

    `beside` is one that follows not even the checkpoint it is made of.
    """
    head = reader.head(row.thread_id, row.ns)
    if beside or head.checkpoint_id != row.checkpoint_id:
        what = "the subgraph" if row.ns else "the thread"
        yield f"{what} goes on from here, and no more from {short(head.checkpoint_id)}"


def describe_reruns(reader: Reader, row: CheckpointRow, snapshot: Snapshot) -> Iterable[str]:
    """One line about tasks whose stored work isn't taken along."""
    done = [task.node or "a task" for task in snapshot.tasks if task.status is Status.FINISHED]
    if done and not snapshot.consumed:
        had, again = ("has", "it runs") if len(done) == 1 else ("have", "they run")
        yield f"{', '.join(count_names(done))} {had} finished at that checkpoint; here {again} again"
    if calls := finished_calls(reader, snapshot, row):
        yield f"{', '.join(calls)} finished at that checkpoint; the results are not taken along, and they run again"
    asked = [task.node or "a task" for task in snapshot.tasks if task.status is Status.WAITING]
    if asked and not snapshot.consumed:
        waits, again = ("waits", "it runs again and asks") if len(asked) == 1 else ("wait", "they run again and ask")
        yield f"{', '.join(count_names(asked))} {waits} for an answer at that checkpoint; here {again} anew"
    told = [task.node or "a task" for task in snapshot.tasks if task.status is Status.ANSWERED]
    if told and not snapshot.consumed:
        had, asks = ("has", "it asks") if len(told) == 1 else ("have", "they ask")
        names = ", ".join(count_names(told))
        yield f"{names} {had} an answer at that checkpoint that isn't taken along; here {asks} anew"


def describe_end(tasks: Snapshot) -> list[str]:
    """What becomes of the tasks of a checkpoint that is ended, in words."""
    if tasks.consumed:
        return []
    kept = count_names(str(task.node) for task in tasks.tasks if task.status is Status.FINISHED)
    gone = count_names(f"{task.node} ({task.status})" for task in tasks.tasks if task.status is not Status.FINISHED)
    lines = [f"kept: what {', '.join(kept)} wrote"] if kept else []
    lost = count_names(str(task.node) for task in tasks.tasks if task.answered)
    lines += [f"abandoned: {', '.join(gone)}"] if gone else []
    return [*lines, *([f"lost: the answer that was recorded for {', '.join(lost)}"] if lost else [])]


def describe_cleared(before: Snapshot, after: Snapshot, *, kept: bool) -> list[str]:
    """Which tasks of an updated checkpoint are no more, in words; `kept` is what had finished."""
    still = [task.node for task in after.tasks]
    gone = [task for task in before.tasks if task.node not in still and not before.consumed]
    open_ = [f"{t.node} ({t.status})" for t in gone if t.status is not Status.FINISHED]
    done = [str(t.node) for t in gone if t.status is Status.FINISHED and not kept]
    lines = [f"cleared: {', '.join(open_)}"] if open_ else []
    return [*lines, *([f"what {', '.join(done)} had finished is not taken over"] if done else [])]
