"""Finds the rows that the log has of some threads, which are counted and shown before they are wiped."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from ckpt_cli.model import Ref, WriteKey
from ckpt_cli.operations.forget import Trace, read_traces, traces_of_threads
from ckpt_cli.operations.log import OperationLog, Phase
from ckpt_cli.operations.tags import read_tags
from ckpt_cli.savers.contract import Saver
from ckpt_cli.views.plan import RowLine

LOG, TAGS = "the operation log", "the tags"
"""The names of the log and of the tags where a plan names the table of a row."""


@dataclass(slots=True)
class Survey:
    """Everything that `--forget` wipes outside the database.

    Attributes:
        threads: the threads that are forgotten.
        rows: each row of the log, and each tag.
        operations: the operations that lose rows, in order.
        undoable: those of them that could still be undone.
        planned: operations that were interrupted or are running now; their rows are needed to find out how they ended.
        others: whether the log has operations with rows of other threads, or with a reason.
    """

    threads: tuple[str, ...]
    rows: list[RowLine] = field(default_factory=list)
    operations: list[int] = field(default_factory=list)
    undoable: list[int] = field(default_factory=list)
    planned: list[int] = field(default_factory=list)
    others: bool = False


def survey(saver: Saver, log: OperationLog, thread_ids: Collection[str]) -> Survey:
    """Find all rows and tags that the log has of some threads, without the images."""
    traces = [*traces_of_threads(saver, log, thread_ids)]
    rows = [_line(trace) for trace in traces if trace.size]
    rows += [
        RowLine("remove", TAGS, tag.ref.thread_id, tag.ref.ns, tag.ref.checkpoint_id, None, None, len(tag.name), 0)
        for tag in read_tags(log)
        if tag.ref.thread_id in thread_ids
    ]
    numbers = {trace.operation for trace in traces}
    operations = log.operations()
    others = any(one.reason for one in operations) or bool({*known_threads(saver, log)}.difference(thread_ids))
    phases = {one.number: one.phase for one in operations if one.number in numbers}
    standing, planned = (
        sorted(number for number, phase in phases.items() if phase is wanted) for wanted in (Phase.DONE, Phase.PLANNED)
    )
    return Survey(tuple(thread_ids), rows, sorted(numbers), standing, planned, others)


def known_threads(saver: Saver, log: OperationLog) -> Iterator[str]:
    """The threads that the log has rows or tags of, each once."""
    named = {row.thread_id for rows in read_traces(saver, log) for row in rows if row.name is not None}
    named.update(tag.ref.thread_id for tag in read_tags(log))
    yield from sorted(thread_id for thread_id in named if thread_id is not None)


def _line(trace: Trace) -> RowLine:
    name = trace.name
    if name is None:
        return RowLine("remove", LOG, trace.thread_id, None, None, None, None, trace.size, 0)
    ref = name if isinstance(name, Ref) else name.ref
    task, idx = (name.task_id, name.idx) if isinstance(name, WriteKey) else (None, None)
    return RowLine("remove", LOG, ref.thread_id, ref.ns, ref.checkpoint_id, task, idx, trace.size, 0)
