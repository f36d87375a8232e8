"""A person's answer in the form that its question expects, or why it can't be recorded."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ckpt_cli.errors import Refused
from ckpt_cli.history.tasks.answers import PLACEHOLDER
from ckpt_cli.plans.open_questions import Question, describe_question, find_question
from ckpt_cli.values.decisions import Decision, check, decide, summaries
from ckpt_cli.values.questions import tool_question


@dataclass(frozen=True, slots=True)
class Answer:
    """A person's answer.

    Attributes:
        to: the question's id, the start of this id, or its node; None for the only question.
        value: the answer, or a `Decision` that still needs the form that the question expects.
        every: whether it answers every question, and every tool call of a question about several; `to` is None then.
        checked: whether the answer must be one that the question allows.
        is_bare_text: whether a word was taken as text.
    """

    to: str | None
    value: Any
    every: bool = False
    checked: bool = True
    is_bare_text: bool = False


def answered_questions(waiting: Sequence[Question], answer: Answer) -> list[Question]:
    """The questions that an answer is for."""
    if not answer.every:
        return [find_question(waiting, answer.to)]
    return [question for question in waiting if question.id != PLACEHOLDER] or [*waiting]


def answer_value(question: Question, answer: Answer, notes: list[str]) -> Any:
    """The value to record for an answer. Facts that the person should see before confirming are added to `notes`.

    Raises:
        UsageError: the answer has not the form that the question expects.
        Refused: the question doesn't allow the answer.
    """
    asked = tool_question(question.value, question.response_schema)
    value = answer.value
    if asked is None and isinstance(value, Decision):
        if value.word == "respond":
            return value.content
        raise Refused(
            f"{describe_question(question)} doesn't ask about a tool call; nothing was recorded",
            hint="--value JSON answers it",
        )
    if asked is None or not (answer.checked or isinstance(value, Decision)):
        if answer.is_bare_text:
            notes.append(f"“{value}” is recorded as text")
        return value
    is_decision = isinstance(value, Decision)
    final = decide(asked, value, every=answer.every) if is_decision else check(asked, value)
    notes += summaries(asked, final)
    return final
