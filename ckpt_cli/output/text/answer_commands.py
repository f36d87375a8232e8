"""The commands that answer open questions, with the options that fit their form, to be pasted.

A command with a placeholder in it (JSON, TEXT) is refused as it is.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from ckpt_cli.history.tasks.answers import takes_answer
from ckpt_cli.output.cells import cell_len, flow
from ckpt_cli.output.line import Line
from ckpt_cli.shell_words import argument, command, ns_option
from ckpt_cli.values.decisions import example
from ckpt_cli.values.jsonform import to_json
from ckpt_cli.values.questions import AnswerForm, ToolQuestion, tool_question
from ckpt_cli.views.resume import QuestionLine

_MIN_ID = 8  # an id is shortened to at least this many characters
_HOW = "to answer, with true, yes, '{\"approved\": true}' or the like for JSON:"
_OPTIONS = {
    "approve": "--approve",
    "accept": "--accept",
    "edit": "--edit JSON",
    "reject": "--reject TEXT",
    "respond": "--respond TEXT",
    "response": "--response TEXT",
    "ignore": "--ignore",
}
_NO_CONTENT = ("approve", "accept", "ignore")


class Question(Protocol):
    """What the views of questions have in common."""

    @property
    def id(self) -> str | None:
        """The id of the question."""

    @property
    def node(self) -> str | None:
        """The node that asks."""

    @property
    def value(self) -> Any:
        """The value of the interrupt."""

    @property
    def response_schema(self) -> Any:
        """The JSON schema of the answer."""


def answer_lines(thread: str, questions: Sequence[QuestionLine], ns: str, width: int) -> Iterator[Line]:
    """The commands that answer the questions, each after a line that says what to put into it.

    If none takes an answer, the command that changes what their nodes read.
    """
    open_ = [question for question in questions if takes_answer(question.id)]
    if not open_:
        if questions:
            yield from _muted(
                "NodeInterrupt takes no answer: the node asks again until what it reads has changed", width
            )
            options = ["--set", "PATH=JSON", *ns_option(questions[0].ns)]
            yield [("", f"    {command('ckpt edit', thread, '@', options=options)}")]
        return
    asked = [tool_question(question.value, question.response_schema) for question in open_]
    shared = _shared(asked)
    if len(questions) == 1 and asked[0] is not None and _takes_options(asked[0]):
        yield from _muted(f"to answer: {_listed(asked[0])}", width)
        yield from _command(thread, [_option(asked[0])], ns, width)
        return
    if shared:
        yield from _muted("to answer all alike:", width)
        yield from _command(thread, [_OPTIONS[shared], "--answer-all"], ns, width)
    yield from _muted(_how(asked), width)
    yield from _command(thread, _words(questions, open_, asked), ns, width)


def command_lines(thread: str, questions: Sequence[Question], width: int) -> Iterator[Line]:
    """The command that answers the questions, without remarks; the one that lists them, if none takes an answer."""
    open_ = [question for question in questions if takes_answer(question.id)]
    asked = [tool_question(question.value, question.response_schema) for question in open_]
    if len(questions) == 1 and asked and asked[0] is not None and _takes_options(asked[0]):
        yield from _command(thread, [_option(asked[0])], "", width)
    elif open_:
        yield from _command(thread, _words(questions, open_, asked), "", width)
    else:
        yield from _command(thread, [], "", width)


def ask_again_lines(thread: str, ns: str, width: int) -> Iterator[Line]:
    """That a person was asked and nothing was recorded, with a command that decides nothing in the person's place."""
    yield from _muted("no answer was recorded; to be asked again:", width)
    yield from _command(thread, [], ns, width)


def _takes_options(question: ToolQuestion) -> bool:
    is_known = all(word in _OPTIONS for word in question.requests[0].allowed[:1])
    return len(question.requests) == 1 and question.form is not AnswerForm.RESPONSE and is_known


def _option(question: ToolQuestion) -> str:
    allowed = [word for word in question.requests[0].allowed if word in _OPTIONS]
    return _OPTIONS[next((word for word in allowed if word in _NO_CONTENT), allowed[0])]


def _listed(question: ToolQuestion) -> str:
    options = [_OPTIONS[word] for word in question.requests[0].allowed if word in _OPTIONS]
    return f"{', '.join(options[:-1])} or {options[-1]}" if len(options) > 1 else options[0]


def _shared(asked: Sequence[ToolQuestion | None]) -> str | None:
    """A decision without content that every tool call of several allows; None if there is none."""
    requests = [request for question in asked if question is not None for request in question.requests]
    if len(requests) < 2 or any(one is None or one.form is AnswerForm.RESPONSE for one in asked):
        return None
    return next((word for word in _NO_CONTENT if all(word in request.allowed for request in requests)), None)


def _how(asked: Sequence[ToolQuestion | None]) -> str:
    if any(question is None for question in asked):
        return _HOW
    if any(question is not None and question.form is AnswerForm.RESPONSE for question in asked):
        return "to answer (what is stored doesn't show whether the graph expects one response or a list with one):"
    return "to answer one by one, with another answer where you decide otherwise:"


def _words(questions: Sequence[Question], open_: Sequence[Question], asked: Sequence[ToolQuestion | None]) -> list[str]:
    answers = [_answer(question) for question in asked]
    if len(questions) == 1:
        return [f"--value {argument(answers[0])}"]
    pairs = zip(open_, answers, strict=True)
    return [f"-i {argument(f'{_name(question, questions)}={answer}')}" for question, answer in pairs]


def _answer(question: ToolQuestion | None) -> str:
    if question is None:
        return "JSON"
    request = question.requests[0]
    word = next((word for word in _NO_CONTENT if word in request.allowed), None)
    if word and len(question.requests) == 1 and question.form is not AnswerForm.RESPONSE:
        return word
    return json.dumps(to_json(example(question)), ensure_ascii=False)


def _command(thread: str, words: Sequence[str], ns: str, width: int) -> Iterator[Line]:
    dashed = thread.startswith("-")
    head = "    ckpt resume" if dashed else f"    ckpt resume {argument(thread)}"
    words = [*words, *([f"--ns {argument(ns)}"] if ns else []), *([f"-- {argument(thread)}"] if dashed else [])]
    line = " ".join([head, *words])
    parts = [line] if cell_len(line) <= width else [head, *(f"        {word}" for word in words)]
    yield from ([("", f"{part} \\")] for part in parts[:-1])
    yield [("", parts[-1])]


def _name(question: Question, others: Sequence[Question]) -> str:
    """What ``--interrupt`` calls a question: its node if it asks only one question, else a unique start of its id."""
    is_alone = sum(question.node in (other.node, other.id) for other in others) == 1
    if question.node and "=" not in question.node and is_alone:
        return question.node
    name = question.id or ""
    ids = [other.id for other in others if other.id]
    for length in range(_MIN_ID, len(name)):
        if sum(other.startswith(name[:length]) for other in ids) == 1:
            return name[:length]
    return name


def _muted(text: str, width: int) -> Iterator[Line]:
    return ([("muted", part)] for part in flow(text, width))
