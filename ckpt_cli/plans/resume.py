"""The plan of ``ckpt resume``: where answers are stored; see `open_questions`, `stale_questions` too.

An answer is a write to ``__resume__`` by the task that asked. The value of this write is a list: the earlier answers to
the task, and the new answer (langgraph 1.2 ``pregel/_algo.py: _scratchpad``). If graphs at several levels have a
question with this id, the answer belongs to the task of the deepest subgraph.

Where the next run asks anew, the answer is a bare value on the null task, and the first task that asks takes it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ckpt_cli.errors import Refused, UsageError
from ckpt_cli.history.state.channels import INTERRUPT, RESUME
from ckpt_cli.history.state.javascript import writes_javascript
from ckpt_cli.history.tasks.answers import AskedQuestion, takes_answer
from ckpt_cli.history.tasks.left_answers import left_answers
from ckpt_cli.history.tasks.snapshot import Snapshot, Status
from ckpt_cli.history.tasks.task_names import task_names
from ckpt_cli.history.tasks.untaken_answers import UNTAKEN_NONCE, mark_untaken
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import NULL_TASK, Plan, Ref, Seen, Write, WriteKey
from ckpt_cli.operations.apply import basis_of, basis_of_heads
from ckpt_cli.plans.answer_values import Answer, answer_value, answered_questions
from ckpt_cli.plans.command_lines import command_at
from ckpt_cli.plans.next_questions import describe_next
from ckpt_cli.plans.open_questions import Question, describe_question, name_of, nothing_waits, questions
from ckpt_cli.plans.stale_questions import UNRECORDED, ChangedSubgraphs, must_be_alone, must_be_first
from ckpt_cli.plans.wording import describe_handlers, recently_written
from ckpt_cli.reading import Reader
from ckpt_cli.values.decisions import Decision, spell_value, summaries
from ckpt_cli.values.questions import tool_question
from ckpt_cli.values.state import TaskWrite

_RESUME_IDX = -4  # the ``idx`` of ``__resume__`` (langgraph-checkpoint 4.3 ``base/__init__.py: WRITES_IDX_MAP``)
_HIGHEST_IDX = 1 << 31  # no task has this many writes
_MOST_NAMED = 10  # a plan names at most this many of the questions that stay open


@dataclass(slots=True)
class _Change:
    add: list[Write] = field(default_factory=list)
    replace: list[Write] = field(default_factory=list)
    remove: list[WriteKey] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def plan(reader: Reader, thread_id: str, answers: Sequence[Answer], ns: str = "") -> Plan:
    """The plan that gives these answers to the application's next ``graph.invoke(None, config)``.

    Raises:
        NotFound: no such question waits.
        UsageError: an answer fits several questions, or two answers fit one question.
        Refused: the question can't be answered.
    """
    waiting = questions(reader, thread_id, ns)
    head = reader.head(thread_id).ref
    if not waiting:
        raise nothing_waits(reader, head)
    answered_by = [(question, answer) for answer in answers for question in answered_questions(waiting, answer)]
    _must_be_answerable([question for question, _ in answered_by], head)
    change, changed_subgraphs = _Change(), ChangedSubgraphs(reader, thread_id)
    chosen = [(question, answer_value(question, answer, change.notes)) for question, answer in answered_by]
    for question, value in chosen:
        change.notes += _asked_and_answered(question, value)
        if question.source is not None and (why := changed_subgraphs.why_nowhere(question.id or "", question.source)):
            must_be_alone(reader, question.source.write.row.ref, describe_question(question), len(waiting), why)
            _record_for_anew(reader, head, value, change, why)
            continue
        changed = changed_subgraphs.find(question.id or "", question.source) if question.source else None
        _record(reader, head, question, value, changed, change)
    _remove_old_answers(reader, {head, *(q.source.write.row.ref for q, _ in chosen if q.source)}, change)
    answered = {id(question) for question, _ in chosen}
    open_questions = [question for question in waiting if id(question) not in answered]
    change.notes += [f"still waits: {describe_question(q)}" for q in open_questions[:_MOST_NAMED]]
    if (unnamed := len(open_questions) - _MOST_NAMED) > 0:
        change.notes.append(f"{unnamed:,} more still wait" if unnamed > 1 else "1 more still waits")
    change.notes += _runs_too(Inspection(reader, head).snapshot())
    names = ", ".join(describe_question(question) for question, _ in chosen)
    count, them = ("1 answer", "it") if len(chosen) == 1 else (f"{len(chosen)} answers", "them")
    return Plan(
        reason="",
        add=tuple(change.add),
        replace=tuple(change.replace),
        remove=tuple(change.remove),
        basis=_basis(reader, head, chosen),
        recent=recently_written(reader, [reader.head(thread_id)]),
        verb="resume",
        summary=f"{count} recorded for {names}; the next graph.invoke(None, config) continues with {them}",
        details=_details(answered_by, [value for _, value in chosen], (*change.add, *change.replace)),
        notes=tuple(change.notes),
        result=Ref(thread_id, "", ""),
    )


def _details(
    answered: Iterable[tuple[Question, Answer]], values: Iterable[Any], writes: Iterable[Write]
) -> tuple[str, ...]:
    """What was answered, for the operation log; of a database that encrypts its values, the log has no plain text."""
    if any("+" in write.payload.tag for write in writes if write.payload is not None):
        return ("the answer is encrypted",)
    return tuple(
        line
        for (question, answer), value in zip(answered, values, strict=True)
        for line in _answer(question, answer, value)
    )


def _answer(question: Question, answer: Answer, value: Any) -> list[str]:
    asked = tool_question(question.value, question.response_schema)
    if asked is not None and (answer.checked or isinstance(answer.value, Decision)):
        return summaries(asked, value)
    return [f"{question.node or 'a task'}: {spell_value(value)}"]


def _runs_too(snapshot: Snapshot) -> list[str]:
    """Lines about the other tasks that the next run runs: they failed, left nothing, or are handlers that finished."""
    others = [task for task in snapshot.all_tasks if task.status in (Status.FAILED, Status.DUE)]
    others = [task for task in others if task.id not in snapshot.handlers]
    names = task_names(others, lambda task: str(task.status))
    return [*([f"that run runs {', '.join(names)} too"] if names else []), *describe_handlers(snapshot)]


def _basis(reader: Reader, head: Ref, chosen: Iterable[tuple[Question, Any]]) -> tuple[Seen, ...]:
    """The plan's basis: the heads, and the checkpoints with the questions.

    The heads are part of the basis because an answer always goes to the current head.
    """
    asking = {head, *(q.source.write.row.ref for q, _ in chosen if q.source)}
    heads = {one.ref: one for ref in asking for one in basis_of_heads(reader.saver, ref.thread_id, ref.ns)}
    return (*heads.values(), *(basis_of(reader.saver, ref) for ref in sorted(asking)))


def _must_be_answerable(chosen: Sequence[Question], head: Ref) -> None:
    seen = set[int]()
    for question in chosen:
        if id(question) in seen:
            raise UsageError(f"two answers for {describe_question(question)}")
        seen.add(id(question))
        if not takes_answer(question.id):
            what = f"{question.node or 'a task'} raised NodeInterrupt, which takes no answer"
            change = command_at("ckpt edit", head._replace(ns=question.ns), "--set", "PATH=JSON", rev="@")
            raise Refused(what, hint=f"{change} changes the state that it reads, so that it need not ask again")


def _record(reader: Reader, head: Ref, question: Question, value: Any, changed: str | None, change: _Change) -> None:
    if question.source is None:
        _record_without_id(reader, head, value, change)
        return
    if changed is not None:
        _record_first(reader, head, question, value, changed, change)
        return
    write, existing = question.source.write.row, question.source.resume
    answers = question.source.answers
    # A mark shows later whether a task took the answer: an unusual spelling, or a special nonce if it is encrypted.
    javascript = writes_javascript(reader.state(write.ref))
    like = _like(question.source)
    marked = mark_untaken(reader.codec.encode([*answers, value], like=like, javascript=javascript))
    payload = reader.codec.under_nonce(marked, UNTAKEN_NONCE)
    answer = (existing.row if existing else write._replace(idx=_answer_idx(write)))._replace(
        channel=RESUME, payload=payload
    )
    (change.replace if existing else change.add).append(answer._replace(size=len(payload.data)))
    if answers:
        had = "1 answer" if len(answers) == 1 else f"{len(answers)} answers"
        change.notes.append(f"{question.node or 'its task'} has {had} already; this one is for its next question")


def _record_first(reader: Reader, head: Ref, question: Question, value: Any, ns: str, change: _Change) -> None:
    """Record the answer to a question of a changed subgraph: for the first question that the next run asks."""
    thread_id, asked_id = head.thread_id, question.id or ""
    if why := ChangedSubgraphs(reader, thread_id).why_past(asked_id, ns):
        what = f"{describe_question(question)} takes no answer: {why}; nothing was written"
        raise Refused(what, hint="graph.invoke(None, config) goes on from there without an answer")
    must_be_first(reader, thread_id, ns, asked_id, len(questions(reader, thread_id)))
    _record_without_id(reader, head, value, change)
    goes_on = describe_next(reader, thread_id, ns)
    change.notes.append(
        f"its subgraph was changed after it asked: {goes_on}, and the first question that it asks gets this answer"
    )


def _record_for_anew(reader: Reader, head: Ref, value: Any, change: _Change, why: str) -> None:
    """Record the answer to a question whose task no run continues, for the first question that the next run asks."""
    _record_without_id(reader, head, value, change)
    anew = ": that graph begins anew, and the first question that it asks gets this answer"
    gets = anew if why == UNRECORDED else ": the first question of that run gets this answer"
    change.notes.append(f"it {why}{gets}")


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
    javascript = writes_javascript(reader.state(head))
    payload = reader.codec.encode(value, like=like.payload, javascript=javascript) if like.payload else None
    existing = _answers_without_id(writes)
    if existing:
        change.notes.append(f"it replaces {_spell_answers(existing)}, which was recorded before")
    idx = existing[0].row.idx if existing else _answer_idx(like)
    row = like._replace(task_id=NULL_TASK, task_path="", idx=idx, channel=RESUME, payload=payload)
    (change.replace if existing else change.add).append(row._replace(size=len(payload.data) if payload else 0))


def _answers_without_id(writes: Iterable[TaskWrite]) -> list[TaskWrite]:
    return [w for w in writes if w.task_id == NULL_TASK and w.channel == RESUME]


def _spell_answers(writes: Sequence[TaskWrite]) -> str:
    """``the answer {"approved": true}``; only "an answer that can't be read" if it can't."""
    values = left_answers(writes)
    return f"the answer {spell_value(values[0])}" if values else "an answer that can't be read"


def _asked_and_answered(question: Question, value: Any) -> list[str]:
    """Lines with a question and its answer; none for a question about tool calls, whose decisions have lines."""
    if tool_question(question.value, question.response_schema) is not None:
        return []
    return [f"{name_of(question)} asks {spell_value(question.value)}", f"answer: {spell_value(value)}"]


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
                    f"{_spell_answers([write])}, which an earlier Command(resume=…) left, is removed:"
                    " the next question would take it"
                )
