"""The questions that wait at the head of a thread; what to do if nothing waits."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ckpt_cli.errors import CheckpointNotFound, NotFound, UsageError
from ckpt_cli.history.state.channels import RETURN
from ckpt_cli.history.state.javascript import is_javascript
from ckpt_cli.history.tasks.answers import AskedQuestion, WaitingQuestions, takes_answer
from ckpt_cli.history.tasks.nesting import callers
from ckpt_cli.history.tasks.next_tasks import Packet
from ckpt_cli.history.tasks.snapshot import Snapshot, Status, Task
from ckpt_cli.history.tasks.task_ids import handled, pulled
from ckpt_cli.history.tasks.task_names import nested, numbered, task_names
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import Ref
from ckpt_cli.reading import Reader
from ckpt_cli.shell_words import argument, command
from ckpt_cli.values.decisions import spell_value
from ckpt_cli.values.state import TaskWrite

_LEAST_START = 4  # characters of an id, as for a revision


@dataclass(frozen=True, slots=True)
class Question:
    """A question that waits at the head of a thread.

    Attributes:
        id: the question's id; None for a ``NodeInterrupt`` before langgraph 0.6.
        node: the node that asks. If its task's path isn't stored, this is the root graph's node that called the
            subgraph. None if unknown.
        source: the recorded question of the task that asked; None if the question has no id.
        response_schema: the JSON schema of the answer; None if the graph gave none.
        packet: the Send that started the task of the root graph in which the question was asked; None if none did.
    """

    id: str | None
    node: str | None
    value: Any
    source: AskedQuestion | None
    response_schema: Any = None
    packet: Packet | None = None

    @property
    def ns(self) -> str:
        """The namespace of the graph that asks."""
        return self.source.write.row.ns if self.source else ""


def questions(reader: Reader, thread_id: str, ns: str = "") -> list[Question]:
    """The questions that wait at the head of a thread; with `ns` only those of this subgraph and its own subgraphs."""
    reader.thread(thread_id)
    if not reader.saver.newest(thread_id, "", 1):
        lost = "its root graph has no checkpoint, so the next run begins it anew, and no answer reaches its subgraphs"
        raise CheckpointNotFound(f"thread {thread_id!r} can't be answered: {lost}")
    head, ns = reader.head(thread_id).ref, reader.namespace(thread_id, ns)
    snapshot = Inspection(reader, head).snapshot()
    waiting = [task for task in snapshot.all_tasks if task.status is Status.WAITING]
    asked = _waiting_questions(reader, head)
    by_id: dict[tuple[str | int, str], Question] = {}
    for task in waiting if not snapshot.consumed else ():
        for one in _questions_of(reader, task, asked):
            by_id[one.id or len(by_id), one.source.write.task_id if one.source else ""] = one
    return [one for one in by_id.values() if not ns or ns in _graphs_of(reader, one)]


def _graphs_of(reader: Reader, question: Question) -> list[str]:
    """The graph that asks, and those around it."""
    if question.source is None:
        return [""]
    return [question.ns, *(ns for ns, _ in Inspection(reader, question.source.write.row.ref).around())]


def _waiting_questions(reader: Reader, head: Ref) -> WaitingQuestions:
    below = Inspection(reader, head).below
    return WaitingQuestions(reader.writes(head), lambda: reader.namespaces(head.thread_id), below)


def _questions_of(reader: Reader, task: Task, asked: WaitingQuestions) -> Iterator[Question]:
    for one in task.open:
        if one.id is None:
            yield Question(None, task.node, one.value, None, one.response_schema, task.packet)
        else:
            source = asked.find(one.id)
            node = _asking_node(reader, source.write) if source is not None else None
            yield Question(one.id, node or task.node, one.value, source, one.response_schema, task.packet)


def _asking_node(reader: Reader, question: TaskWrite) -> str | None:
    """The node whose task asked this: by the task's path, else by the task's id.

    The path of an error handler or of a task that a Send started doesn't end with the node. In the root graph the
    task that waits has the node.
    """
    path, inspection = question.row.task_path, Inspection(reader, question.row.ref)
    if not question.row.ns:
        return pulled(path)
    if handled(path):
        return inspection.names().node(question.task_id)
    asking = (task.node for task in inspection.snapshot().all_tasks if task.id == question.task_id)
    return pulled(path) or next(asking, None)


def describe_question(question: Question) -> str:
    """``child › review (793baa26…)``: the node that asks, after the nodes that called its graph."""
    return f"{name_of(question)} ({question.id})" if question.id else name_of(question)


def name_of(question: Question) -> str:
    """``assess [1/5]``, ``child › review``: the node that asks, after the nodes that called its graph."""
    names = _path(question)
    return nested(numbered(names[0], question.packet), names[1:])


def _path(question: Question) -> list[str]:
    """The nodes that called the graph of a question, the outermost first, then the node that asks."""
    return [*callers(question.ns), question.node or "a task"]


def _names(question: Question) -> set[str]:
    """The names of a question beside its id: each node of its path, and every ``caller › node`` at the path's end.

    `ckpt threads` names the outermost node, because it reads no subgraph. If a Send started the outermost node's task,
    this node with the number of the Send is a name too: ``assess [1/5]``, ``assess[1]``.
    """
    path = _path(question) if question.node else _path(question)[:-1]
    names = {*path, *(nested(path[start], path[start + 1 :]) for start in range(len(path)))}
    if question.packet is not None and path:
        first = f"{path[0]}[{question.packet.number}]"
        names |= {first, nested(first, path[1:])}
    return names


def _without_total(name: str) -> str:
    """``assess[1]`` for ``assess [1/5]``: the number of a Send without the blank and the number of all."""
    return re.sub(r"\s*\[(\d+)(?:/\d+)?\]", r"[\1]", name, count=1)


def _is_start(waiting: Sequence[Question], name: str) -> bool:
    """Whether a name may be the start of an id: not if it is short, or the number that a question is shown with."""
    shown = max(len(waiting), *(q.packet.of for q in waiting if q.packet is not None), 0)
    return len(name) >= _LEAST_START and not (name.isdecimal() and int(name) <= shown)


def find_question(waiting: Sequence[Question], name: str | None) -> Question:
    """The waiting question with this id, start of an id (4 characters), node, or caller; with None, the only question.

    Raises:
        NotFound: no question fits.
        UsageError: several questions fit.
    """
    if name is None:
        fitting = list(waiting)
    else:
        exact = [q for q in waiting if name == q.id] or [q for q in waiting if {name, _without_total(name)} & _names(q)]
        fitting = exact or [q for q in waiting if q.id and q.id.startswith(name) and _is_start(waiting, name)]
    if not fitting:
        thread = next((q.source.write.row.thread_id for q in waiting if q.source), None)
        hint = f"`{command('ckpt resume', thread)}` lists the questions" if thread else ""
        if name and not _is_start(waiting, name):
            hint = f"a question is named by its node or by its id, of which the first {_LEAST_START} characters may do"
        candidates = [*map(describe_question, waiting)]
        raise NotFound(f"no question {name!r} waits for an answer", hint=hint, candidates=candidates)
    if len(fitting) > 1 and any(takes_answer(question.id) for question in fitting):
        what = f"{len(fitting)} questions wait" if name is None else f"{name!r} fits {len(fitting)} questions"
        raise UsageError(
            what,
            hint="--interrupt ID=JSON answers one of them, --answer-all answers all",
            candidates=[describe_question(q) for q in fitting],
        )
    return fitting[0]


def failed_tasks(reader: Reader, thread_id: str) -> list[Task]:
    """The tasks that failed at the head of a thread."""
    return Inspection(reader, reader.head(thread_id).ref).snapshot().failed


def nothing_waits(reader: Reader, head: Ref) -> NotFound:
    """The error that nothing waits at the head of a thread, with what a person can do instead."""
    snapshot = Inspection(reader, head).snapshot()
    failed, answered = snapshot.failed, [task for task in snapshot.all_tasks if task.status is Status.ANSWERED]
    if answered and not failed:
        given = "; ".join(
            f"{numbered(task.node or 'a task', task.packet)} has the answer "
            f"{', '.join(map(spell_value, task.answers)) or '(unreadable)'}"
            f"{', and failed too, before or after it asked' * task.has_failed}"
            for task in answered
        )
        goes_on = "runs it again" if any(task.has_failed for task in answered) else "continues"
        hint = f"graph.invoke(None, config) {goes_on} with it; to answer otherwise, `ckpt operations --thread "
        hint += f"{argument(head.thread_id)}` has the number of the answer, and `ckpt undo N` takes it back"
        return NotFound(f"nothing waits for an answer there: {given}", hint=hint)
    if asking := [one for task in snapshot.unplaced for one in task.open if takes_answer(one.id)]:
        hint = f"graph.invoke(Command(resume={{{spell_value(asking[0].id)}: …}}), config) answers it"
        return NotFound(
            "a question waits, but nothing shows which task asked it, so ckpt can store no answer", hint=hint
        )
    if not failed:
        show = f"`{command('ckpt show', head.thread_id)}`"
        return NotFound("nothing waits for an answer there", hint=f"{show} shows what runs next")
    names = ", ".join(task_names(failed))
    fork = f"`{command('ckpt fork', head.thread_id, '@')}`"
    if any(task.answered for task in failed):
        hint = f"it failed with its answer, and keeps it: {_ask_again(reader, head, snapshot, fork)}"
    else:
        replay = f"`{command('ckpt replay', head.thread_id)}`"
        hint = f"graph.invoke(None, config) runs it again; {replay} shows what finished beside it"
        hint += "" if any(task.by_goto for task in failed) else f"; {fork} redoes the step"
    return NotFound(f"nothing waits for an answer there: {names} failed", hint=hint)


def _ask_again(reader: Reader, head: Ref, snapshot: Snapshot, fork: str) -> str:
    """The command after which a task that failed with its answer asks again, and what runs again beside it."""
    task = next(task for task in snapshot.failed if task.answered)
    others = task_names(one for one in snapshot.tasks if one.status is Status.FINISHED)
    state, calls = reader.state(head), any(write.channel == RETURN for write in reader.writes(head, values=0))
    anew = "; the calls of @task functions are made anew" if calls else ""
    if task.by_goto and task.packet is not None:  # neither a fork nor `ckpt edit` keeps what the Command sent
        return "graph.invoke(None, config) runs it again with that answer"
    if task.node is None or state.sends or is_javascript(state):
        also = f", and {', '.join(others)} run again too" if others else ""
        return f"after {fork} it asks again{also}{anew}"
    number = f"[{task.packet.number}]" if task.packet is not None and task.packet.of > 1 else ""
    options = ["--task", f"{task.node}{number}", "--again", *["--rerun"] * calls]
    again = command("ckpt edit", head.thread_id, options=options)
    keeps = f", and what {', '.join(others)} finished is kept" if others else ""
    if memory := _asked_in_memory(reader, head, task):
        return f"after `{again}` it runs again{keeps}{anew}; {memory} has its own memory, and asks only if that does"
    return f"after `{again}` it asks again{keeps}{anew}"


def _asked_in_memory(reader: Reader, head: Ref, task: Task) -> str:
    """The subgraph with its own memory in which a failed task had asked; "" if there is none.

    It keeps what it did since, also if the task that called it is run again.
    """
    asked = _waiting_questions(reader, head)
    sources = (asked.taken(i) or asked.find(i) for i in task.answered)
    spaces = {one.write.row.ns for one in sources if one is not None} | {
        ns for ns in reader.namespaces(head.thread_id) if ns.partition("|")[0] == task.node
    }
    own = (ns for ns in sorted(spaces) if ns and ":" not in ns.rpartition("|")[2])
    return next((callers(ns)[-1] for ns in own), "")
