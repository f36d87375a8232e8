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
        changed: the namespace of the subgraph that was changed since it asked: the next run asks again, and this
            question may be another one then; null where none was.
    """

    id: str | None
    node: str | None
    ns: str
    value: Any
    answers: int
    changed: str | None = None


@dataclass
class QuestionsView(View):
    """The questions that wait at the head of a thread, `ns` among those of one namespace."""

    verb: ClassVar[str] = "resume"
    rows_field: ClassVar[str] = "questions"

    thread: str
    questions: list[QuestionLine]
    ns: str = ""
