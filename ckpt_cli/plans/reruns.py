"""Finished work that would run again if an unfinished step gets a new child: refused without ``--rerun``.

The tasks of the new child have new ids, so they don't find the writes of the parent's tasks. If a task had finished
while another task was interrupted, the finished task runs again. The results of the ``@task`` calls of an entrypoint
or a node are lost; which calls the new run makes depends on its input, so a plan doesn't say that they run again.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import accumulate

from ckpt_cli.errors import Refused
from ckpt_cli.history.state.channels import RESUME, RETURN
from ckpt_cli.history.tasks.snapshot import Snapshot, Status, Task
from ckpt_cli.history.tasks.task_ids import caller
from ckpt_cli.history.tasks.task_names import numbered, task_names
from ckpt_cli.model import CheckpointRow
from ckpt_cli.plans.command_lines import command_at
from ckpt_cli.plans.pending_command import left_at_root, spell_answer
from ckpt_cli.plans.step_formats import may_allow_steps
from ckpt_cli.reading import Reader


def must_run_once(reader: Reader, snapshot: Snapshot, row: CheckpointRow, *, rerun: bool) -> None:
    """Check that no work of an unfinished step would run twice, unless `rerun` allows it.

    Raises:
        Refused: the message names the work that would run again.
    """
    if rerun or snapshot.consumed:
        return
    _must_keep_goto(snapshot)
    finished = [task for task in snapshot.tasks if task.status is Status.FINISHED]
    started, calls = list(started_subgraphs(reader, snapshot, row)), finished_calls(reader, snapshot, row)
    if finished or started or calls:
        parts = [f"{', '.join([*task_names(finished), *calls])} finished"] * bool(finished or calls)
        parts += [f"{', '.join(started)} ran in part"] * bool(started)
        instead = "; --ns edits the state of a subgraph itself" if started else ""
        # of a subgraph, a commit would abandon what it has done
        if not started and may_allow_steps(reader.state(row.ref)):
            rev = reader.short(row.thread_id)(row.checkpoint_id)
            keep = command_at("ckpt replay", row.ref, "--commit", rev=rev)
            instead = f"; {keep} keeps the results, then edit its new checkpoint"
        what = f"at that checkpoint {' and '.join(parts)}: with an edited state"
        if calls:  # only the run shows which calls it makes
            lost = "the results" if finished or len(calls) > 1 or not calls[0].startswith("1 ") else "the result"
            raise Refused(f"{what} {lost} would be lost", hint="--rerun allows that: the run makes its calls anew")
        they, them = ("it", "it") if len(finished) + len(started) == 1 else ("they", "them")
        raise Refused(f"{what} {they} would run again", hint=f"--rerun lets {them} run again{instead}")


def _must_keep_goto(snapshot: Snapshot) -> None:
    if lost := [task for task in snapshot.tasks if task.by_goto and task.status is Status.FINISHED]:
        raise Refused(
            f"at that checkpoint {', '.join(task_names(lost))} finished, which a Command's goto started: with an "
            "edited state its results would be lost",
            hint="--rerun allows that; first resume the thread to keep them",
        )


def count_names(names: Iterable[str]) -> list[str]:
    """Each node once, with its number of tasks: ``work (2 tasks)``."""
    return [f"{name} ({count} tasks)" if count > 1 else name for name, count in Counter(names).items()]


def finished_calls(reader: Reader, snapshot: Snapshot, row: CheckpointRow) -> list[str]:
    """The numbers of finished ``@task`` calls that unfinished tasks made, as texts: ``2 calls of flow``.

    The result of a call is a write to ``__return__`` (langgraph 1.2 ``pregel/_algo.py: prepare_push_task_functional``).
    The path of that write names the calling task, if the database stores paths.
    """
    unfinished = {task.node for task in snapshot.tasks if task.status is not Status.FINISHED}
    if snapshot.consumed or not unfinished:
        return []
    result_writes = [write.row for write in reader.writes(row.ref, values=0) if write.channel == RETURN]
    only = next(iter(unfinished)) if len(unfinished) == 1 else None
    callers = Counter(caller(write.task_path) or only or "a task" for write in result_writes)
    is_any = None in unfinished  # a task whose node isn't known may have made every call
    counts = {name: count for name, count in callers.items() if is_any or name in unfinished or name == "a task"}
    return [f"{count} call{'' if count == 1 else 's'} of {name}" for name, count in counts.items()]


def started_subgraphs(reader: Reader, snapshot: Snapshot, row: CheckpointRow) -> Iterator[str]:
    """The unfinished tasks that called a subgraph, if the subgraph has checkpoints that a new task doesn't find.

    The namespace of a subgraph contains the id of the task that called it. Only a subgraph with ``checkpointer=True``
    has a namespace without this id (langgraph 1.2 ``pregel/_algo.py``): whether it continues or starts again depends on
    the config of the next run (seen), so nothing is said about it.
    """
    namespaces = set(reader.namespaces(row.thread_id))
    for task in tasks_in_subgraphs(reader, snapshot.tasks, row):
        own = f"{row.ns}|{task.node}:{task.id}".removeprefix("|")
        what = "a subgraph" if own in namespaces else "a subgraph that it called"
        yield f"{numbered(task.node or 'a task', task.packet)} ({what})"


def tasks_in_subgraphs(reader: Reader, tasks: Iterable[Task], row: CheckpointRow) -> Iterator[Task]:
    """Those of these tasks of a checkpoint that have not finished, and called a subgraph that has checkpoints."""
    prefix = f"{row.ns}|" if row.ns else ""
    spaces = {outer for ns in reader.namespaces(row.thread_id) for outer in accumulate(ns.split("|"), "{}|{}".format)}
    for task in tasks:
        if task.status is not Status.FINISHED and f"{prefix}{task.node}:{task.id}" in spaces:
            yield task


def due_again(before: Snapshot, after: Snapshot, *, sends_before: int, sends_after: int | None) -> list[Task]:
    """The tasks of a checkpoint that are due again after an update of it.

    An update as a node ends the step: Sends are lost, and a node is due again only if the update leads to it. An input
    leaves all that was due (langgraph 1.2 ``pregel/_algo.py: apply_writes``: without a trigger there is no new step).

    Args:
        before: the tasks at the updated checkpoint.
        after: the tasks at the new checkpoint.
        sends_before: the number of tasks in `before` that Sends called; they come first.
        sends_after: the same for `after`; None if the Sends of `before` are still there.
    """
    if before.consumed:
        return []
    start = 0 if sends_after is None else sends_before
    due = {task.node for task in after.tasks[sends_after or 0 :]}
    return [task for task in before.tasks[start:] if task.node is not None and task.node in due]


def describe_not_inherited(reader: Reader, snapshot: Snapshot, row: CheckpointRow) -> Iterator[str]:
    """A line about an answer at an unfinished step that a new child of its checkpoint doesn't inherit.

    Nothing where the next run has another one for the question (`describe_left_answer`).
    """
    if snapshot.consumed:
        return
    has_answer = any(write.channel == RESUME for write in reader.writes(row.ref, values=0))
    is_said = any(task.status is Status.ANSWERED for task in snapshot.tasks) or any(describe_left_answer(reader, row))
    if has_answer and not is_said:
        yield "an answer that was recorded there is not copied: the question is asked again"


def describe_left_answer(reader: Reader, row: CheckpointRow) -> Iterator[str]:
    """A line about the answer that a ``Command(resume=value)`` left at the root, for a subgraph's checkpoint."""
    if left := left_at_root(reader, row):
        which = "the first interrupt() without an answer in the next step takes it"
        yield f"Command(resume=…) left the answer {spell_answer(left[0])}: {which}"
