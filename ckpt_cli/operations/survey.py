"""Finds the rows of some threads in the operation log, which ``delete --forget`` counts and then wipes."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from ckpt_cli.model import Ref, WriteKey
from ckpt_cli.operations.forget import Trace, read_traces, traces_of_threads
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.operation import Phase
from ckpt_cli.operations.tags import read_tags
from ckpt_cli.savers.contract import Saver
from ckpt_cli.views.plan import RowLine

LOG, TAGS = "the operation log", "the tags"
"""What a plan shows instead of a table's name for a row of the log, and for a tag."""


@dataclass(slots=True)
class Survey:
    """Everything that `--forget` wipes outside the database.

    Attributes:
        threads: the threads that are forgotten.
        rows: the rows of the log and the tags that are wiped.
        operations: the operations that lose rows, in order.
        undoable: the operations among these that could be undone until now.
        shared: the operations among those that can still be undone for other threads.
        planned: the operations among these that were interrupted or are running now; their rows show how they ended.
        others: whether the log has operations with rows of other threads, or with a reason.
    """

    threads: tuple[str, ...]
    rows: list[RowLine] = field(default_factory=list)
    operations: list[int] = field(default_factory=list)
    undoable: list[int] = field(default_factory=list)
    shared: list[int] = field(default_factory=list)
    planned: list[int] = field(default_factory=list)
    others: bool = False


def survey(saver: Saver, log: OperationLog, thread_ids: Collection[str]) -> Survey:
    """Find all rows and tags of some threads in the log, without reading the images."""
    traces = [*traces_of_threads(saver, log, thread_ids)]
    rows = [_line(trace) for trace in traces if trace.size]
    rows += [
        RowLine("remove", TAGS, tag.ref.thread_id, tag.ref.ns, tag.ref.checkpoint_id, None, None, len(tag.name), 0)
        for tag in read_tags(log)
        if tag.ref.thread_id in thread_ids
    ]
    numbers = {trace.operation for trace in traces}
    operations = log.operations_and_parts()
    with_others = _operations_with_others(saver, log, thread_ids)
    is_tagged = any(tag.ref.thread_id not in thread_ids for tag in read_tags(log))
    others = bool(with_others) or is_tagged or any(one.reason for one in operations)
    touched = [one for one in operations if one.number in numbers]
    undoable, planned = (
        sorted({one.shown for one in touched if one.phase is phase}) for phase in (Phase.DONE, Phase.PLANNED)
    )
    left = {one.shown for one in operations if one.number in with_others and one.phase is Phase.DONE}
    shared = [number for number in undoable if number in left]
    return Survey(tuple(thread_ids), rows, sorted({one.shown for one in touched}), undoable, shared, planned, others)


def _operations_with_others(saver: Saver, log: OperationLog, thread_ids: Collection[str]) -> set[int]:
    """The operations, or their parts, that have records of other threads."""
    rows = (row for rows in read_traces(saver, log) for row in rows if row.name is not None)
    return {row.operation for row in rows if row.thread_id is not None and row.thread_id not in thread_ids}


def known_threads(saver: Saver, log: OperationLog) -> Iterator[str]:
    """The threads that have rows or tags in the log, each once."""
    logged_ids = {row.thread_id for rows in read_traces(saver, log) for row in rows if row.name is not None}
    logged_ids.update(tag.ref.thread_id for tag in read_tags(log))
    yield from sorted(thread_id for thread_id in logged_ids if thread_id is not None)


def _line(trace: Trace) -> RowLine:
    name = trace.name
    if name is None:
        return RowLine("remove", LOG, trace.thread_id, None, None, None, None, trace.size, 0)
    ref = name if isinstance(name, Ref) else name.ref
    task, idx = (name.task_id, name.idx) if isinstance(name, WriteKey) else (None, None)
    return RowLine("remove", LOG, ref.thread_id, ref.ns, ref.checkpoint_id, task, idx, trace.size, 0)
