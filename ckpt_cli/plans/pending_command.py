"""Lines about what of a pending Command a new checkpoint doesn't take along: values, goto, tasks."""

from collections.abc import Iterator, Sequence

from ckpt_cli.history.state.channels import TASKS
from ckpt_cli.history.tasks.left_answers import left_answers
from ckpt_cli.history.tasks.pending_goto import goto_nodes
from ckpt_cli.history.tasks.snapshot import Snapshot, Task
from ckpt_cli.history.tasks.step_changes import is_output
from ckpt_cli.history.tasks.task_names import task_names
from ckpt_cli.history.tasks.write_makers import is_command
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import CheckpointRow
from ckpt_cli.reading import Reader
from ckpt_cli.values.decisions import spell_value
from ckpt_cli.values.state import TaskWrite

_SHOWN = 60  # characters of an answer
_UNUSED = "a Command that no step has used yet"


def describe_command_left(reader: Reader, row: CheckpointRow) -> Iterator[str]:
    """Lines about the values and the goto of a Command that stay behind on a checkpoint, where nothing uses them."""
    snapshot = Inspection(reader, row.ref).snapshot()
    writes = reader.writes(row.ref)
    command = "a Command, with which the run from there began," if snapshot.consumed else _UNUSED
    if values := _values(writes):
        yield f"values of {command} are not copied: {', '.join(values)}"
    if nodes := goto_nodes(writes):
        yield f"the goto of {command} is not copied: {', '.join(nodes)}"
        yield from describe_started_by_goto(snapshot)


def describe_command_taken(writes: Sequence[TaskWrite]) -> Iterator[str]:
    """What a copy takes along of a Command: ``the values of a Command (log)``, ``the goto of a Command (b)``."""
    if left := left_answers(writes):
        yield f"the answer {spell_answer(left[0])} of a Command(resume=…)"
    if values := _values(writes):
        yield f"the values of a Command ({', '.join(values)})"
    if nodes := goto_nodes(writes):
        yield f"the goto of a Command ({', '.join(nodes)})"


def _values(writes: Sequence[TaskWrite]) -> list[str]:
    """The channels to which a Command gave values."""
    return list(dict.fromkeys(w.channel for w in writes if is_command(w) and is_output(w) and w.channel != TASKS))


def describe_started_by_goto(snapshot: Snapshot) -> Iterator[str]:
    """A line about the tasks that a goto started and that left something: a new checkpoint has none of it."""
    started = [task for task in snapshot.tasks if task.by_goto and task.writes and not snapshot.consumed]
    if started:
        yield f"left behind: {', '.join(task_names(started, _status))}, which a Command's goto started"


def _status(task: Task) -> str:
    return str(task.status)


def spell_answer(value: object) -> str:
    """An answer in a plan's line, cut if it is long."""
    text = spell_value(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def left_at_root(reader: Reader, row: CheckpointRow) -> list[object]:
    """The answers that a ``Command(resume=value)`` left at the root, for a subgraph's checkpoint; none of a lost root.

    What it leaves without a task is for the root's subgraphs too (langgraph 1.2 ``pregel/_algo.py: _scratchpad``).
    """
    heads = reader.saver.newest(row.thread_id, "", 1) if row.ns else []
    return [answer for head in heads for answer in left_answers(reader.writes(head.ref))]
