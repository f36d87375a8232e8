"""The view of ``ckpt resume`` without an answer: the open questions."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from ckpt_cli.views.base import View
from ckpt_cli.views.interrupts import RequestView
from ckpt_cli.views.sends import SendView


@dataclass(frozen=True, slots=True)
class QuestionLine:
    """One question.

    Attributes:
        id: the id of the question, which an answer names; null for a ``NodeInterrupt`` before langgraph 0.6 or in
            LangGraph.js, which takes no answer.
        node: the node that asks.
        ns: the namespace of the graph that asks; "" for the root graph.
        value: the value of the interrupt.
        answers: the number of answers that the task has had before.
        changed: the namespace of a subgraph that was changed after it asked; null if there is none. The next run then
            may ask again, or something else.
        past: why the next run doesn't come to the question again: the subgraph was moved past it. Then no answer can be
            recorded. "" if it may.
        requests, answer_form, response_schema: as in `InterruptView`.
        send: the Send that started the task, or the root graph's task that called the subgraph; null if none did.
    """

    id: str | None
    node: str | None
    ns: str
    value: Any
    answers: int
    changed: str | None = None
    requests: tuple[RequestView, ...] = ()
    answer_form: str | None = None
    response_schema: Any = None
    send: SendView | None = None
    past: str = ""


@dataclass
class QuestionsView(View):
    """The questions that wait at the head of a thread; `ns` is set if only one namespace was asked for.

    Attributes:
        old_answers: the answer that an earlier ``Command(resume=…)`` left; the next run gives it to the first
            ``interrupt()`` that has none.
        failed: the nodes of the tasks that failed, if no question waits; null for a node that isn't known.
        by_goto: whether only a Command's pending ``goto`` started one of them; a fork doesn't start it.
    """

    asked = False
    """Whether the person has seen the questions already and left them open."""

    can_commit = True
    """Whether ``replay --commit`` can apply what finished beside a failed task."""
    nothing = ""
    """If no question waits: that none does, with the answers that are recorded or the tasks that failed."""

    verb: ClassVar[str] = "resume"
    rows_field: ClassVar[str] = "questions"

    thread: str
    questions: list[QuestionLine]
    ns: str = ""
    failed: list[str | None] = field(default_factory=list)
    old_answers: list[Any] = field(default_factory=list)
    by_goto: bool = False
