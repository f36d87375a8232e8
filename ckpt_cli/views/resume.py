"""What ``ckpt resume`` tells where no answer is given: the questions that wait."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ckpt_cli.views.base import View


@dataclass(frozen=True, slots=True)
class QuestionLine:
    """One question.

    Attributes:
        id: what to answer it by; null before langgraph 0.2.60.
        node: who asks.
        ns: the namespace of the graph that asks, "" for the root.
        value: what it asks.
        answers: how many answers its task has had before.
    """

    id: str | None
    node: str | None
    ns: str
    value: Any
    answers: int


@dataclass
class QuestionsView(View):
    """The questions that wait at the head of a thread, `ns` among those of one namespace."""

    verb: ClassVar[str] = "resume"
    rows_field: ClassVar[str] = "questions"

    thread: str
    questions: list[QuestionLine]
    ns: str = ""
