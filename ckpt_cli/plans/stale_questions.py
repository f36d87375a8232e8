"""Questions whose subgraph was changed after it asked them: where an answer to one is taken all the same.

The graphs around a subgraph still hold the question, but its own head doesn't, and new checkpoints have new task ids:
an answer stored under the old task is never found. The next run asks again. A bare value on the root head's null task
answers the first question that is asked then, in whichever subgraph (langgraph 0.6 to 1.2 ``pregel/_algo.py:
_scratchpad``: each task asks its parent's ``get_null_resume``), so it must be certain that this is the one meant.
"""

from collections.abc import Iterator
from itertools import groupby
from shlex import quote

from ckpt_cli.errors import Refused
from ckpt_cli.history.state.channels import INTERRUPT, RESUME
from ckpt_cli.history.tasks.answers import Asked
from ckpt_cli.history.tasks.nesting import inside
from ckpt_cli.history.tasks.snapshot import Status
from ckpt_cli.history.tasks.task_ids import identified, interrupt_id
from ckpt_cli.model import Ref
from ckpt_cli.reading import Reader
from ckpt_cli.values.known import interrupts
from ckpt_cli.values.state import TaskWrite


def changed_since(reader: Reader, thread_id: str, asked_id: str, source: Asked) -> str | None:
    """The namespace of the subgraph that asked a question and was changed since; None where none was."""
    row = source.write.row
    for ns in _levels(row.ns):
        newest = reader.saver.newest(thread_id, ns, 1)
        if newest and not any(_asks(write, asked_id) for write in reader.writes(newest[0].ref)):
            return ns
    node = _node(reader, row.ref, row.task_id)
    called = list(_called(reader, thread_id, row.ns, node, row.task_id))
    if not called or (node is not None and asked_id in _own_ids(row.ns, node, row.task_id, len(source.answers))):
        return None
    if node is None and not any(_askers(reader, thread_id, ns, asked_id) for ns in called):
        return None
    return called[-1]


def must_be_first(reader: Reader, thread_id: str, ns: str, asked_id: str, waiting: int) -> None:
    """Hold that the next run asks the question of a changed subgraph again, and no other before it.

    `waiting` is how many questions the thread has.

    Raises:
        Refused: something else is under way that may ask, or the subgraph had answers to earlier questions.
    """
    again = f"`ckpt resume {quote(thread_id)}`"
    hint = f"let the application run graph.invoke(None, config), which asks anew; then {again} shows what waits"
    what = "its subgraph was changed since it asked: the next run gives an answer to the first question that it asks"
    unfinished = (_unfinished(reader, thread_id, level) for level in _levels(ns)[:-1])
    if waiting > 1 or any(count > 1 for count in unfinished):
        raise Refused(f"{what}, and several tasks may ask one; nothing was written", hint=hint)
    if any(write.channel == RESUME for write in _run_again(reader, thread_id, ns, asked_id)):
        raise Refused(f"{what}, and others had been answered before this one; nothing was written", hint=hint)


def _unfinished(reader: Reader, thread_id: str, ns: str) -> int:
    tasks = reader.snapshot(reader.head(thread_id, ns).ref).tasks
    return sum(task.status is not Status.FINISHED for task in tasks)


def _levels(ns: str) -> list[str]:
    """The namespaces from the root down to this one; a number counts the subgraphs that one task called."""
    levels, path = [""], list[str]()
    for part in ns.split("|") if ns else ():
        path.append(part)
        if part.isdigit():
            levels.pop()
        levels.append("|".join(path))
    return levels


def _asks(write: TaskWrite, asked_id: str) -> bool:
    read = write.channel == INTERRUPT and write.read
    return read and any(identified(one).id == asked_id for one in interrupts(write.value))


def _node(reader: Reader, ref: Ref, task_id: str) -> str | None:
    return next((task.node for task in reader.snapshot(ref).tasks if task.id == task_id), None)


def _own_ids(ns: str, node: str, task_id: str, answers: int) -> set[str]:
    """The ids of the questions that a task asks itself; since langgraph 1.2.20 they count its answers."""
    own = f"{ns}|{node}:{task_id}".removeprefix("|")
    return {interrupt_id(own), *(interrupt_id(f"{own}|{count}") for count in range(1, answers + 1))}


def _called(reader: Reader, thread_id: str, ns: str, node: str | None, task_id: str) -> Iterator[str]:
    """The subgraphs that a task called, of each call or with a memory of their own."""
    for space in inside(reader.saver.namespaces(thread_id), ns):
        first, *more = space[len(ns) :].removeprefix("|").split("|")
        name, _, owner = first.partition(":")
        if all(part.isdigit() for part in more) and (owner == task_id or (not owner and name == node)):
            yield space


def _askers(reader: Reader, thread_id: str, ns: str, asked_id: str) -> list[str]:
    """The checkpoints of a namespace on which a question is recorded, oldest first."""
    listed = reader.saver.writes(thread_id, ns, values=0)
    asking = [ref for ref, some in groupby(listed, lambda w: w.ref) if any(w.channel == INTERRUPT for w in some)]
    return [ref.checkpoint_id for ref in asking if any(_asks(write, asked_id) for write in reader.writes(ref))]


def _run_again(reader: Reader, thread_id: str, ns: str, asked_id: str) -> Iterator[TaskWrite]:
    """What was written, without the values, by tasks of a changed subgraph that the next run does again.

    Where the checkpoint that asked is lost, its branch is unknown: then what was written on any branch.
    """
    lineage, head = reader.lineage(thread_id, ns), reader.head(thread_id, ns).checkpoint_id
    kept = set(lineage.line(head))
    again = {head, lineage.parent(head) or ""}
    for asker in _askers(reader, thread_id, ns, asked_id)[-1:]:
        again |= {*lineage.line(asker)} - kept | {asker} if asker in lineage else {*lineage.rows}
    written = reader.writes_by_checkpoint(thread_id, ns, sorted(again & lineage.rows.keys()), values=0)
    for some in written.values():
        yield from some
    owners = {write.task_id for some in written.values() for write in some}
    for space in inside(reader.saver.namespaces(thread_id), ns):
        owner = space[len(ns) + 1 :].partition("|")[0].partition(":")[2]
        if not owner or owner in owners:
            for some in reader.writes_by_checkpoint(thread_id, space, values=0).values():
                yield from some
