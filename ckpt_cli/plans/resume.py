"""The plan of ``ckpt resume``: which questions wait, where answers are stored; see `stale_questions` too.

An answer is a write to ``__resume__`` by the task that asked. The value of this write is a list: the earlier answers to
the task, and the new answer (langgraph 1.2 ``pregel/_algo.py: _scratchpad``). If graphs at several levels have a
question with this id, the answer belongs to the task of the deepest subgraph.

A question from before langgraph 0.2.60 has no id. Its answer is a bare value on the null task, and the first waiting
task takes this value.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ckpt_cli.errors import NotFound, Refused, UsageError
from ckpt_cli.history.state.channels import INTERRUPT, RESUME
from ckpt_cli.history.tasks.answers import PLACEHOLDER, UNTAKEN_NONCE, AskedQuestion, WaitingQuestions, mark_untaken
from ckpt_cli.history.tasks.snapshot import Status, Task, graph_of
from ckpt_cli.history.tasks.task_ids import pulled
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import NULL_TASK, Plan, Ref, Seen, Write, WriteKey
from ckpt_cli.operations.apply import basis_of, basis_of_heads
from ckpt_cli.plans.stale_questions import ChangedSubgraphs, must_be_first
from ckpt_cli.plans.wording import recently_written
from ckpt_cli.reading import Reader
from ckpt_cli.shell_words import command
from ckpt_cli.values.state import TaskWrite

_RESUME_IDX = -4  # the ``idx`` of ``__resume__`` (langgraph-checkpoint 4.3 ``base/__init__.py: WRITES_IDX_MAP``)
_HIGHEST_IDX = 1 << 31  # no task has this many writes
_MOST_NAMED = 10  # a plan names at most this many of the questions that stay open


@dataclass(frozen=True, slots=True)
class Question:
    """A question that waits at the head of a thread.

    Attributes:
        id: the question's id; None before langgraph 0.2.60.
        node: the node that asks. If its task's path isn't stored, this is the root graph's node that called the
            subgraph. None if unknown.
        source: the recorded question of the task that asked; None if the question has no id.
    """

    id: str | None
    node: str | None
    value: Any
    source: AskedQuestion | None

    @property
    def ns(self) -> str:
        """The namespace of the graph that asks."""
        return self.source.write.row.ns if self.source else ""


@dataclass(frozen=True, slots=True)
class Answer:
    """A person's answer. `to` is the question's id, the start of this id, or its node; None means the only question."""

    to: str | None
    value: Any


@dataclass(slots=True)
class _Change:
    add: list[Write] = field(default_factory=list)
    replace: list[Write] = field(default_factory=list)
    remove: list[WriteKey] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def questions(reader: Reader, thread_id: str, ns: str = "") -> list[Question]:
    """The questions that wait at the head of a thread; with `ns` only those of this subgraph and its own subgraphs."""
    reader.thread(thread_id)
    head, ns = reader.head(thread_id).ref, reader.namespace(thread_id, ns)
    snapshot = Inspection(reader, head).snapshot()
    waiting = [task for task in snapshot.tasks if task.status is Status.WAITING]
    asked = _waiting_questions(reader, head)
    by_id: dict[tuple[str | int, str], Question] = {}
    for task in waiting if not snapshot.consumed else ():
        for one in _questions_of(task, asked):
            by_id[one.id or len(by_id), one.source.write.task_id if one.source else ""] = one
    return [one for one in by_id.values() if not ns or one.ns == ns or one.ns.startswith(f"{ns}|")]


def _waiting_questions(reader: Reader, head: Ref) -> WaitingQuestions:
    def newest(ns: str) -> list[TaskWrite]:
        return reader.writes(reader.head(head.thread_id, ns).ref)

    return WaitingQuestions(reader.writes(head), lambda: reader.namespaces(head.thread_id), newest)


def _questions_of(task: Task, asked: WaitingQuestions) -> Iterator[Question]:
    for one in task.open:
        if one.id is None:
            yield Question(None, task.node, one.value, None)
        else:
            source = asked.find(one.id)
            node = (pulled(source.write.row.task_path) if source else None) or task.node
            yield Question(one.id, node, one.value, source)


def plan(reader: Reader, thread_id: str, answers: Sequence[Answer], ns: str = "") -> Plan:
    """The plan that gives these answers to the application's next ``graph.invoke(None, config)``.

    Raises:
        NotFound: no such question waits.
        UsageError: an answer fits several questions, or two answers fit one question.
        Refused: the question can't be answered.
    """
    head = reader.head(thread_id).ref
    waiting = questions(reader, thread_id, ns)
    if not waiting:
        raise NotFound("nothing waits for an answer there", hint=_hint_nothing_waits(reader, head))
    chosen = [(_find_waiting(waiting, answer.to), answer.value) for answer in answers]
    _must_be_answerable(chosen)
    change, changed_subgraphs = _Change(), ChangedSubgraphs(reader, thread_id)
    for question, value in chosen:
        changed = changed_subgraphs.find(question.id or "", question.source) if question.source else None
        _record(reader, head, question, value, changed, change)
    _remove_old_answers(reader, {head, *(q.source.write.row.ref for q, _ in chosen if q.source)}, change)
    answered = {id(question) for question, _ in chosen}
    open_questions = [question for question in waiting if id(question) not in answered]
    change.notes += [f"still waits: {describe_question(q)}" for q in open_questions[:_MOST_NAMED]]
    if (unnamed := len(open_questions) - _MOST_NAMED) > 0:
        change.notes.append(f"{unnamed:,} more still wait" if unnamed > 1 else "1 more still waits")
    names = ", ".join(describe_question(question) for question, _ in chosen)
    count = "1 answer" if len(chosen) == 1 else f"{len(chosen)} answers"
    return Plan(
        reason="",
        add=tuple(change.add),
        replace=tuple(change.replace),
        remove=tuple(change.remove),
        basis=_basis(reader, head, chosen),
        recent=recently_written(reader, [reader.head(thread_id)]),
        verb="resume",
        summary=f"{count} recorded for {names}; the next graph.invoke(None, config) continues with it",
        notes=tuple(change.notes),
        result=Ref(thread_id, "", ""),
    )


def _hint_nothing_waits(reader: Reader, head: Ref) -> str:
    tasks = Inspection(reader, head).snapshot().tasks
    failed = next((task for task in tasks if task.status is Status.FAILED and task.answered), None)
    if failed is None:
        return "`ckpt show` shows what runs next"
    fork = f"`{command('ckpt fork', head.thread_id, '@')}`"
    return f"{failed.node or 'a task'} failed with its answer, and keeps it: after {fork} it asks again"


def describe_question(question: Question) -> str:
    """``child › review (793baa26…)``: the node that asks, after the nodes that called its graph."""
    callers = graph_of(question.ns).split("|") if question.ns else []
    name = " › ".join([*callers, question.node or "a task"])
    return f"{name} ({question.id})" if question.id else name


def _basis(reader: Reader, head: Ref, chosen: Iterable[tuple[Question, Any]]) -> tuple[Seen, ...]:
    """The plan's basis: the heads, and the checkpoints with the questions.

    The heads are part of the basis because an answer always goes to the current head.
    """
    asking = {head, *(q.source.write.row.ref for q, _ in chosen if q.source)}
    heads = {one.ref: one for ref in asking for one in basis_of_heads(reader.saver, ref.thread_id, ref.ns)}
    return (*heads.values(), *(basis_of(reader.saver, ref) for ref in sorted(asking)))


def _find_waiting(waiting: Sequence[Question], name: str | None) -> Question:
    if name is None:
        fitting = list(waiting)
    else:
        exact = [q for q in waiting if name in (q.id, q.node)]
        fitting = exact or [q for q in waiting if name and q.id and q.id.startswith(name)]
    if not fitting:
        raise NotFound(f"no question {name!r} waits for an answer", candidates=[*map(describe_question, waiting)])
    if len(fitting) > 1:
        what = f"{len(fitting)} questions wait" if name is None else f"{name!r} fits {len(fitting)} questions"
        raise UsageError(
            what, hint="--interrupt ID=JSON answers one of them", candidates=[describe_question(q) for q in fitting]
        )
    return fitting[0]


def _must_be_answerable(chosen: Sequence[tuple[Question, Any]]) -> None:
    seen = set[int]()
    for question, _ in chosen:
        if id(question) in seen:
            raise UsageError(f"two answers for {describe_question(question)}")
        seen.add(id(question))
        if question.id == PLACEHOLDER:
            what = f"{question.node or 'a task'} raised NodeInterrupt, which takes no answer"
            raise Refused(what, hint="`ckpt update` changes the state that it reads")
        if question.id is None and len(chosen) > 1:
            raise UsageError("questions without ids can only be answered one at a time")


def _record(reader: Reader, head: Ref, question: Question, value: Any, changed: str | None, change: _Change) -> None:
    if question.source is None:
        _record_without_id(reader, head, value, change)
        return
    if changed is not None:
        must_be_first(reader, head.thread_id, changed, question.id or "", len(questions(reader, head.thread_id)))
        _record_without_id(reader, head, value, change)
        change.notes.append(
            "its subgraph was changed after it asked: the next run asks again, and the first question gets this answer"
        )
        return
    write, existing = question.source.write.row, question.source.resume
    answers = question.source.answers
    # A mark shows later whether a task took the answer: an unusual spelling, or a special nonce if it is encrypted.
    marked = mark_untaken(reader.codec.encode([*answers, value], like=_like(question.source)))
    payload = reader.codec.under_nonce(marked, UNTAKEN_NONCE)
    answer = (existing.row if existing else write._replace(idx=_answer_idx(write)))._replace(
        channel=RESUME, payload=payload
    )
    (change.replace if existing else change.add).append(answer._replace(size=len(payload.data)))
    if answers:
        had = "1 answer" if len(answers) == 1 else f"{len(answers)} answers"
        change.notes.append(f"{question.node or 'its task'} has {had} already; this one is for its next question")


def _answer_idx(asked_in: Write) -> int:
    """The ``idx`` of an answer: a fixed number; before langgraph-checkpoint 2.0.9, the number after the interrupt's.

    Raises:
        Refused: the interrupt's own ``idx`` is not a number that LangGraph gives.
    """
    if not isinstance(asked_in.idx, int) or asked_in.idx > _HIGHEST_IDX:
        raise Refused(f"the question is damaged: its place among its task's writes is {asked_in.idx}")
    return _RESUME_IDX if asked_in.idx < 0 else asked_in.idx + 1


def _like(source: AskedQuestion) -> Any:
    return (source.resume or source.write).row.payload


def _record_without_id(reader: Reader, head: Ref, value: Any, change: _Change) -> None:
    if value is None:
        raise UsageError(
            "null can't be recorded for this question: LangGraph would treat it as unanswered",
            hint="give another value",
        )
    writes = reader.writes(head)
    like = next(w.row for w in writes if w.channel == INTERRUPT)
    payload = reader.codec.encode(value, like=like.payload) if like.payload else None
    existing = _answers_without_id(writes)
    if existing:
        change.notes.append("it replaces the answer that was recorded before")
    idx = existing[0].row.idx if existing else _answer_idx(like)
    row = like._replace(task_id=NULL_TASK, task_path="", idx=idx, channel=RESUME, payload=payload)
    (change.replace if existing else change.add).append(row._replace(size=len(payload.data) if payload else 0))


def _answers_without_id(writes: Iterable[TaskWrite]) -> list[TaskWrite]:
    return [w for w in writes if w.task_id == NULL_TASK and w.channel == RESUME]


def _remove_old_answers(reader: Reader, refs: Iterable[Ref], change: _Change) -> None:
    """Remove the answers that an earlier ``Command(resume=…)`` left on the null task.

    Otherwise the next question would take one of these answers. The library replaces them with every such command.
    """
    new = {(w.ref, w.idx) for w in (*change.add, *change.replace) if w.task_id == NULL_TASK}
    for ref in sorted(refs):
        for write in _answers_without_id(reader.writes(ref)):
            if (ref, write.row.idx) not in new:
                change.remove.append(WriteKey(ref, NULL_TASK, write.row.idx))
                change.notes.append(
                    "the answer that an earlier Command(resume=…) left is removed: the next question would take it"
                )
