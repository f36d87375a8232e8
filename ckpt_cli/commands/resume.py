"""``ckpt resume``: answers the questions that a thread waits for; the application's next run uses the answers."""

from typing import Annotated, Any

import typer

from ckpt_cli.completion.names import complete_interrupt
from ckpt_cli.errors import UsageError
from ckpt_cli.parameters.json_input import parse_json_input
from ckpt_cli.parameters.options import Ns, Thread
from ckpt_cli.plans import resume as plans
from ckpt_cli.plans.resume import Answer, Question
from ckpt_cli.plans.stale_questions import ChangedSubgraphs
from ckpt_cli.reading import Reader
from ckpt_cli.session import Session
from ckpt_cli.shell_words import argument
from ckpt_cli.values.jsonback import from_json
from ckpt_cli.views.plan import PlanView
from ckpt_cli.views.resume import QuestionLine, QuestionsView

_HINT = "text needs quotes of its own: '\"yes\"'"


def resume(
    session: Session,
    thread: Thread,
    value: Annotated[
        str | None,
        typer.Option(
            "--value",
            metavar="JSON",
            help="The answer (JSON, @FILE, or @- for stdin) to the only question, or to those that -i names.",
        ),
    ] = None,
    interrupt: Annotated[
        list[str] | None,
        typer.Option(
            "--interrupt",
            "-i",
            metavar="ID[=JSON]",
            help="A question: its id, the beginning of its id, or its node. May be repeated, each with its answer.",
            autocompletion=complete_interrupt,
        ),
    ] = None,
    ns: Ns = "",
) -> PlanView | QuestionsView:
    """Record answers to a thread's waiting questions; without an answer, list the questions.

    Nothing is run. The answers are stored where LangGraph looks for them, so that graph.invoke(None, config) in the
    application continues as after Command(resume=...). That config must not name a checkpoint: with one, the library
    would drop the answers and ask again.

    Examples:
      ckpt resume support-42
      ckpt resume support-42 --value '{"approved": true}'
      ckpt resume support-42 -i approve_refund=true -i 92269d82='"why?"' --reason "Ada said so"
    """
    if value is None and not interrupt:
        return session.read(lambda reader: run(reader, thread, ns))
    answers = _answers(value, interrupt or [])
    return session.change(session.make_plan(lambda reader: plans.plan(reader, thread, answers, ns)))


def run(reader: Reader, thread: str, ns: str = "") -> QuestionsView:
    """The questions that wait at the head of a thread."""
    open_questions = plans.questions(reader, thread, ns)
    changed_subgraphs = ChangedSubgraphs(reader, thread)
    return QuestionsView(thread, [_line(changed_subgraphs, question) for question in open_questions], ns)


def _line(changed_subgraphs: ChangedSubgraphs, question: Question) -> QuestionLine:
    source = question.source
    if source is None:
        return QuestionLine(question.id, question.node, question.ns, question.value, 0)
    changed = changed_subgraphs.find(question.id or "", source)
    return QuestionLine(question.id, question.node, question.ns, question.value, len(source.answers), changed)


def _answers(value: str | None, interrupts: list[str]) -> list[Answer]:
    if not interrupts:
        return [Answer(None, _value(value or "", "--value"))]
    without_answer = [one for one in interrupts if "=" not in one]
    if without_answer and value is None:
        raise UsageError(
            f"what is the answer to {without_answer[0]!r}?",
            hint=f"--interrupt {argument(without_answer[0] + '=JSON')}, or --value JSON",
        )
    if value is not None and not without_answer:
        raise UsageError("--value isn't used: every --interrupt has an answer of its own")
    return [_answer(one, value) for one in interrupts]


def _answer(interrupt: str, value: str | None) -> Answer:
    name, sign, text = interrupt.partition("=")
    return Answer(name, _value(text, f"the answer to {name!r}") if sign else _value(value or "", "--value"))


def _value(text: str, what: str) -> Any:
    return from_json(parse_json_input(text, what, hint=_HINT))
