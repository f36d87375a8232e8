"""A person's answer in the form that its question expects, or why it can't be recorded."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ckpt_cli.errors import Refused
from ckpt_cli.history.tasks.answer_schema import mismatches
from ckpt_cli.history.tasks.answers import takes_answer
from ckpt_cli.plans.open_questions import Question, describe_question, find_question
from ckpt_cli.values.decisions import Decision, check, decide, summaries
from ckpt_cli.values.questions import tool_question
from ckpt_cli.values.same import same

_SHOWN = 6


class SeenQuestion(Protocol):
    """A question as it was shown."""

    @property
    def value(self) -> Any:
        """The value of the interrupt."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A person's answer.

    Attributes:
        to: the question's id, the start of this id, or its node; None for the only question.
        value: the answer, or a `Decision` that still needs the form that the question expects.
        every: whether it answers every question, and every tool call of a question about several; `to` is None then.
        checked: whether the answer must be one that the question allows.
        is_bare_text: whether a word was taken as text.
        seen: the question as the person saw it; None if the person named it without seeing it here.
    """

    to: str | None
    value: Any
    every: bool = False
    checked: bool = True
    is_bare_text: bool = False
    seen: SeenQuestion | None = None


def answered_questions(waiting: Sequence[Question], answer: Answer) -> list[Question]:
    """The questions that an answer is for."""
    if not answer.every:
        return [find_question(waiting, answer.to)]
    return [question for question in waiting if takes_answer(question.id)] or [*waiting]


def answer_value(question: Question, answer: Answer, notes: list[str]) -> Any:
    """The value to record for an answer. Facts that the person should see before confirming are added to `notes`.

    Raises:
        UsageError: the answer has not the form that the question expects.
        Refused: the question doesn't allow the answer.
    """
    if answer.seen is not None and not same(answer.seen.value, question.value):
        hint = "run the command again: it shows the question that waits now"
        raise Refused(f"{describe_question(question)} asks something else now; nothing was recorded", hint=hint)
    value = _in_its_form(question, answer, notes)
    schema = question.response_schema
    if answer.checked and isinstance(schema, dict) and not _is_known_to_fit(question, value):
        _must_fit(schema, value, notes)
    return value


def _is_known_to_fit(question: Question, value: Any) -> bool:
    """Whether a decision was checked already: one of a question about tool calls that has no arguments of its own."""
    is_about_tools = tool_question(question.value, question.response_schema) is not None
    return is_about_tools and isinstance(value, dict) and value.get("type") != "edit"


def _must_fit(schema: dict[str, Any], value: Any, notes: list[str]) -> None:
    found = mismatches(schema, value)
    wrong = [f"{one.where}: {one.what}".removeprefix(": ") for one in found if not one.convertible]
    if wrong:
        raise Refused(
            "the answer doesn't fit the schema that the question gives for it; nothing was recorded",
            hint="--no-schema records it all the same",
            candidates=wrong[:_SHOWN],
        )
    notes += [f"{one.where}: {one.what}; LangGraph may convert it".removeprefix(": ") for one in found[:_SHOWN]]


def _in_its_form(question: Question, answer: Answer, notes: list[str]) -> Any:
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
        if answer.is_bare_text and (note := f"“{value}” is recorded as text") not in notes:
            notes.append(note)
        return value
    is_decision = isinstance(value, Decision)
    final = decide(asked, value, every=answer.every) if is_decision else check(asked, value)
    notes += summaries(asked, final)
    return final
