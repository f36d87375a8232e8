"""Asks a person the open questions of a thread, one after the other; the typed answers go to the plan."""

import json
from collections.abc import Callable
from typing import Any

from ckpt_cli.errors import CkptError, Refused
from ckpt_cli.history.tasks.answers import takes_answer
from ckpt_cli.parameters.answers import typed_value
from ckpt_cli.parameters.json_input import parse_json_input, parse_text_input
from ckpt_cli.parameters.written_answer import EDITOR, write_answer
from ckpt_cli.plans.answer_values import Answer, answer_value
from ckpt_cli.plans.open_questions import Question
from ckpt_cli.values.decisions import Decision, decide_each, no_text
from ckpt_cli.values.jsonform import to_json
from ckpt_cli.values.loadable import read_typed
from ckpt_cli.values.questions import AnswerForm, ToolQuestion, ToolRequest, tool_question
from ckpt_cli.views.resume import QuestionLine, QuestionsView

Ask = Callable[[QuestionLine | None, str], str | None]
"""Shows a question whole, if one is given, then a prompt; returns the typed line, or None at the end of the input."""

Say = Callable[[str], None]

_TYPED = {"edit": "edit JSON", "reject": "reject TEXT", "respond": "respond TEXT", "response": "response TEXT"}
_UNIFIED = {"accept": "approve", "response": "respond"}


def can_be_asked(view: QuestionsView) -> bool:
    """Whether some of the questions take an answer."""
    return any(map(_takes_answer, view.questions))


def interview(view: QuestionsView, ask: Ask, say: Say) -> list[Answer]:
    """The answers that a person types; a question with an empty answer stays open. `say` shows what is wrong.

    Raises:
        Refused: the input ended.
    """
    answers = [_asked(question, ask, say) for question in view.questions if _takes_answer(question)]
    return [answer for answer in answers if answer is not None]


def _takes_answer(question: QuestionLine) -> bool:
    return takes_answer(question.id) and not question.past


def _asked(question: QuestionLine, ask: Ask, say: Say) -> Answer | None:
    """The answer to one question, asked again until it is one that can be recorded; None if it stays open."""
    asked = tool_question(question.value, question.response_schema)
    shown: QuestionLine | None = question
    while True:
        try:
            if asked is None or asked.form is AnswerForm.RESPONSE:
                answer = _plain(question, shown, ask, say)
            else:
                answer = _decisions(question, asked, shown, ask, say)
            if answer is not None:
                as_planned = Question(question.id, question.node, question.value, None, question.response_schema)
                answer_value(as_planned, answer, [])
            return answer
        except CkptError as error:
            if isinstance(error, _InputEndedError):
                raise
            _explain(error, say)
            shown = None


def _explain(error: CkptError, say: Say) -> None:
    hint = f"hint: {error.hint}" if error.hint else ""
    for line in "\n".join(filter(None, [error.message, *error.candidates, hint])).split("\n"):
        say(line)


def _plain(question: QuestionLine, shown: QuestionLine | None, ask: Ask, say: Say) -> Answer | None:
    typed = _line(ask, shown, "answer (JSON, a text, @FILE, or @ for your editor; Enter leaves it open): ")
    if not typed:
        return None
    if typed == EDITOR:
        value, is_bare = write_answer("", lambda text: typed_value(text.strip(), "the answer"), say)
    else:
        value, is_bare = typed_value(typed, "the answer")
    return Answer(question.id, value, is_bare_text=is_bare, seen=question)


def _decisions(
    question: QuestionLine, asked: ToolQuestion, shown: QuestionLine | None, ask: Ask, say: Say
) -> Answer | None:
    decisions: list[Decision] = []
    for number, request in enumerate(asked.requests, 1):
        call = f"{number}. {request.tool}" if len(asked.requests) > 1 else request.tool
        decision = _asked_decision(request, call, shown, ask, say)
        if decision is None:
            if decisions:
                each = f"each of its {len(asked.requests)} tool calls"
                say(f"nothing is recorded for this question: it needs a decision for {each}")
            return None
        decisions.append(decision)
        shown = None
    return Answer(question.id, decide_each(asked, decisions), seen=question)


def _asked_decision(request: ToolRequest, call: str, shown: QuestionLine | None, ask: Ask, say: Say) -> Decision | None:
    """The decision about one tool call, asked again until it is one that the call allows; None if it stays open."""
    words = [_TYPED.get(word, word) for word in request.allowed]
    listed = f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]
    while typed := _line(ask, shown, f"{call}: {listed} (Enter leaves it open): "):
        try:
            return _decision(request, typed, say)
        except _InputEndedError:
            raise
        except CkptError as error:
            _explain(error, say)
            shown = None
    return None


def _decision(request: ToolRequest, typed: str, say: Say) -> Decision:
    word, _, content = typed.partition(" ")
    word = word.removesuffix(":")
    if word not in request.allowed:
        example = next((one for one in request.allowed if one in _TYPED), "reject")
        hint = f"in place of TEXT or JSON, @FILE reads it from a file, and `{example} {EDITOR}` opens your editor"
        allowed = ", ".join(request.allowed)
        raise Refused(f"{word!r} is not an answer for {request.tool}: it allows {allowed}", hint=hint)
    if word == "edit" and content in ("", EDITOR):
        now = json.dumps(to_json(request.args), indent=2, ensure_ascii=False) + "\n"
        return write_answer(now, lambda text: Decision(word, _arguments(text)), say, ending="json")
    if word == "edit":
        return Decision(word, _arguments(content))
    if content.strip() and word not in _TYPED:
        raise no_text(request, word)
    if content == EDITOR:
        return write_answer("", lambda text: _with_text(word, text), say)
    hint = f"{EDITOR} stands for a file; `{word} {EDITOR}` opens your editor for a text that begins with {EDITOR}"
    return _with_text(word, parse_text_input(content, hint=hint))


def _arguments(text: str) -> Any:
    return read_typed(parse_json_input(text, "the object of arguments"))


def _with_text(word: str, text: str) -> Decision:
    if word in ("respond", "response") and not text.strip():
        hint = f"{word} @FILE reads a text of several lines from a file, {word} {EDITOR} opens your editor"
        raise Refused(f"{word} needs a text: {word} TEXT", hint=hint)
    return Decision(_UNIFIED.get(word, word), text.strip() or None)


def _line(ask: Ask, shown: QuestionLine | None, prompt: str) -> str:
    typed: Any = ask(shown, prompt)
    if typed is None:
        raise _InputEndedError("not answered; nothing was written")
    return str(typed).strip()


class _InputEndedError(Refused):
    pass
