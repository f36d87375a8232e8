"""``ckpt resume``: answers the questions that a thread waits for; the application's next run uses the answers."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ckpt_cli.errors import UsageError
from ckpt_cli.inspection import Inspection
from ckpt_cli.parameters.answers import (
    AnswerAll,
    Approve,
    Edit,
    Ignore,
    Interrupts,
    NoSchema,
    Reject,
    Respond,
    Value,
    answers,
    given_decision,
)
from ckpt_cli.parameters.interview import can_be_asked, interview
from ckpt_cli.parameters.options import Ns
from ckpt_cli.parameters.selector import NOTHING_TYPED, SelectorOptions
from ckpt_cli.parameters.target import ONE_THREAD, ManyOptions, OneThread, Target, parse_target
from ckpt_cli.plans import resume as plans
from ckpt_cli.plans.answer_values import Answer
from ckpt_cli.plans.open_questions import Question, failed_tasks, nothing_waits, questions
from ckpt_cli.plans.stale_questions import ChangedSubgraphs
from ckpt_cli.plans.step_formats import may_allow_steps
from ckpt_cli.queries.thread_plans import change_target
from ckpt_cli.reading import Reader
from ckpt_cli.session import Session
from ckpt_cli.values.decisions import spell_value
from ckpt_cli.views.bulk import BulkView
from ckpt_cli.views.interrupts import interrupt_view
from ckpt_cli.views.plan import PlanView
from ckpt_cli.views.resume import QuestionLine, QuestionsView
from ckpt_cli.views.sends import send_view


def resume(
    session: Session,
    thread: OneThread = None,
    value: Value = None,
    interrupt: Interrupts = None,
    approve: Approve = False,
    reject: Reject = None,
    respond: Respond = None,
    edit: Edit = None,
    ignore: Ignore = False,
    answer_all: AnswerAll = False,
    no_schema: NoSchema = False,
    selector: SelectorOptions = NOTHING_TYPED,
    many: ManyOptions = ONE_THREAD,
    ns: Ns = "",
) -> PlanView | BulkView | QuestionsView:
    """Record answers to a thread's waiting questions; without an answer, ask for each of them, or list them.

    Nothing is run. The answers are stored where LangGraph looks for them, so that graph.invoke(None, config) in the
    application continues as after Command(resume=...). That config must not name a checkpoint: with one, LangGraph for
    Python drops the answers and asks again. A NodeInterrupt takes no answer; langgraph before 0.2.47 asks only by it.

    A question of LangChain's human in the loop takes --approve, --edit, --reject and --respond, as far as it allows
    them; its own word is an answer too (-i ID=approve). A word that can't be JSON is taken as text. Without THREAD, the
    options choose many threads, and each gets the same answer, in a transaction of its own.

    Examples:
      ckpt resume support-42 --value '{"approved": true}'
      ckpt resume mail-7 --reject "wrong address"
      ckpt resume --status waiting --match 'support-*' --value true --skip-refused
      ckpt resume support-42 -i approve_refund=true -i 92269d82=why --reason "Ada said so"
    """
    decision = given_decision(approve=approve, ignore=ignore, reject=reject, respond=respond, edit=edit, value=value)
    given = answers(decision, value, interrupt or [], every=answer_all, checked=not no_schema)
    target = _target(session, thread, selector, many, ns)
    if target.chosen is not None:
        _must_answer(given)
        return change_target(session, "resume", target, lambda r, row: plans.plan(r, row.thread_id, given, ns))
    thread = target.thread
    if not given:
        view = session.read(lambda reader: run(reader, thread, ns))
        given = _ask(session, view)
        if not given:
            return view
    return session.change(session.make_plan(lambda reader: plans.plan(reader, thread, given, ns)))


def _ask(session: Session, view: QuestionsView) -> list[Answer]:
    """The answers that a person types; none if nobody can be asked, or if the database would refuse them."""
    if view.nothing and session.ask_line is None:
        session.say(view.nothing)
    if session.ask_line is None or not can_be_asked(view):
        return []
    if why := session.why_unwritable():
        session.say(f"no answer can be recorded here: {why}")
        return []
    if view.old_answers:
        session.say(f"stored already: {spell_value(view.old_answers[0])}, which an earlier Command(resume=…) left")
    view.asked = True
    return interview(view, session.ask_line, session.say)


def _must_answer(given: Sequence[Answer]) -> None:
    if not given:
        what = "many threads need one answer for all of them"
        raise UsageError(what, hint="`ckpt threads --status waiting` shows their questions")


def _target(session: Session, thread: str | None, selector: SelectorOptions, many: ManyOptions, ns: str) -> Target:
    """The threads to answer; their heads are asked, so there is no revision."""
    if many.at is not None:
        raise UsageError("--at is for other commands: a question is answered at the head")
    return parse_target(
        session, (thread, None), selector, many, ns="" if thread is None else ns, default="@", asks=False
    )


def run(reader: Reader, thread: str, ns: str = "") -> QuestionsView:
    """The questions that wait at the head of a thread."""
    open_questions = questions(reader, thread, ns)
    changed_subgraphs = ChangedSubgraphs(reader, thread)
    lines = [_line(changed_subgraphs, question) for question in open_questions]
    head = reader.head(thread).ref
    old_answers = Inspection(reader, head).snapshot().old_answers
    failed = [] if lines else failed_tasks(reader, thread)
    view = QuestionsView(thread, lines, ns, [task.node for task in failed], [*old_answers])
    view.by_goto = any(task.by_goto for task in failed)
    view.can_commit = may_allow_steps(reader.state(head))
    view.nothing = "" if lines else nothing_waits(reader, head).message.replace(" there", "", 1)
    return view


def _line(changed_subgraphs: ChangedSubgraphs, question: Question) -> QuestionLine:
    source = question.source
    if source is None:
        return QuestionLine(question.id, question.node, question.ns, question.value, 0, None, *_form(question))
    changed = changed_subgraphs.find(question.id or "", source)
    count, past = len(source.answers), changed_subgraphs.why_past(question.id or "", changed) if changed else ""
    line = QuestionLine(question.id, question.node, question.ns, question.value, count, changed, *_form(question))
    return replace(line, past=past)


def _form(question: Question) -> tuple[Any, ...]:
    """The fields of `InterruptView` after the value, and the Send."""
    return (*interrupt_view(question.id, question.value, question.response_schema)[2:], send_view(question.packet))
