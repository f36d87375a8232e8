"""Makes and checks answers to questions about tool calls: approve, edit, reject, respond, ignore.

The forms are those of langchain 1.4 ``human_in_the_loop.py`` (``Decision``, ``HITLResponse``) and of langgraph-prebuilt
1.1 ``interrupt.py: HumanResponse``. An answer that the graph refuses must not be recorded: every later run would fail.
"""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from ckpt_cli.errors import Refused, UsageError
from ckpt_cli.values.jsonform import to_json
from ckpt_cli.values.questions import AnswerForm, ToolQuestion, ToolRequest

PLACEHOLDERS = frozenset({"TEXT", "JSON"})
"""The words that stand for an answer in suggested commands; they are refused as answers."""

_RESPONSES = {"approve": "accept", "respond": "response"}
_BARE = ("approve", "accept", "ignore", "reject")
_SHOWN = 4000


class Decision(NamedTuple):
    """What a person decides, before it has the form that the question expects.

    Attributes:
        word: ``approve``, ``edit``, ``reject``, ``respond`` or ``ignore``.
        content: the text of ``reject`` and ``respond``, the arguments of ``edit``; None for the others.
    """

    word: str
    content: Any = None


def decide(question: ToolQuestion, decision: Decision, *, every: bool = False) -> Any:
    """The answer to a question, in the form that the graph expects.

    If `every`, a question about several calls gets the same decision for each of them.

    Raises:
        UsageError: it isn't clear about which of several calls the decision is, or `edit` has no arguments.
        Refused: a call doesn't allow the decision, or it isn't known which form the graph expects.
    """
    count = len(question.requests)
    if question.form is AnswerForm.RESPONSE:
        raise Refused(
            "whether the graph expects one response or a list with one isn't stored",
            hint=f"its code shows it: --value '{spell_value(example(question))}', or the same in [ ]",
        )
    if count > 1 and not every:
        several = "--answer-all decides the same for all of them; --value has a decision for each, in this order"
        raise UsageError(
            f"the question is about {count} tool calls",
            hint=_edit_hint(question) if decision.word == "edit" else several,
            candidates=[
                f"{number}. {request.tool} {spell_value(request.args)}  {'/'.join(request.allowed)}"
                for number, request in enumerate(question.requests, 1)
            ],
        )
    if count > 1 and decision.word == "edit":
        what = "--edit has the arguments of one tool call, and this question is about several"
        raise UsageError(what, hint=_edit_hint(question))
    return decide_each(question, [decision] * count)


def decide_each(question: ToolQuestion, decisions: Sequence[Decision]) -> Any:
    """The answer with one decision for each tool call of a question, in the form that the graph expects.

    Raises:
        UsageError: an `edit` has no arguments.
        Refused: a call doesn't allow its decision.
    """
    return _in_envelope(question, [_made(question, *pair) for pair in zip(question.requests, decisions, strict=True)])


def check(question: ToolQuestion, value: Any) -> Any:
    """An answer that a person wrote out, in the form that the graph expects.

    A lone decision, a list of decisions, and the word of a decision without content are put into this form.

    Raises:
        UsageError: the value isn't an answer to such a question.
        Refused: a call doesn't allow its decision.
    """
    answers = _answers_in(question, value)
    if len(answers) != len(question.requests):
        raise UsageError(
            f"the answer has {_count(len(answers), 'decision')}, "
            f"and the question is about {_count(len(question.requests), 'tool call')}",
            hint=_hint(question),
        )
    answers = [_checked(question, *pair) for pair in zip(question.requests, answers, strict=True)]
    return value if question.form is AnswerForm.RESPONSE else _in_envelope(question, answers)


def example(question: ToolQuestion) -> Any:
    """An answer in the form that the graph expects; its texts are placeholders, which are refused as they are."""
    answers = [_made(question, request, _first_allowed(request)) for request in question.requests]
    return answers[0] if question.form is AnswerForm.RESPONSE else _in_envelope(question, answers)


def summaries(question: ToolQuestion, answer: Any) -> list[str]:
    """Lines about the decisions in a checked answer: ``approve delete_user {"name": "bob"}``."""
    answers = _answers_in(question, answer)
    rejects = question.javascript and any(one["type"] == "reject" for one in answers)
    pairs = zip(question.requests, answers, strict=True)
    return [line for request, one in pairs for line in _summary(question, request, one, rejects=rejects)]


def _summary(question: ToolQuestion, request: ToolRequest, answer: dict[str, Any], *, rejects: bool) -> list[str]:
    """Lines about one decision; `rejects`: LangChain.js takes all calls but the rejected ones out of the message.

    langchain 1.5 for JavaScript, ``agents/middleware/hitl.ts: hasRejectedToolCalls``.
    """
    word, content = answer["type"], answer.get("message", answer.get("args"))
    if rejects and word != "reject":
        return [
            f"{word} {request.tool} {spell_value(request.args)}: LangChain.js drops it, as another call is rejected"
        ]
    if word != "edit":
        text = f": “{content}”" if isinstance(content, str) and content else ""
        return [f"{word} {request.tool} {spell_value(request.args)}{text}"]
    action = _action(question, answer)
    name = action[_name_key(question)]
    lines = [f"edit {request.tool} {spell_value(request.args)}: calls {name} {spell_value(action['args'])} instead"]
    missing = [key for key in request.args if key not in action["args"]]
    return [*lines, f"the new arguments leave out {', '.join(missing)}"] if missing and name == request.tool else lines


def _first_allowed(request: ToolRequest) -> Decision:
    word = next((word for word in request.allowed if word in _BARE[:3]), request.allowed[0])
    word = next((unified for unified, response in _RESPONSES.items() if response == word), word)
    return Decision(word, {"edit": request.args, "reject": "TEXT", "respond": "TEXT"}.get(word))


def _made(question: ToolQuestion, request: ToolRequest, decision: Decision) -> dict[str, Any]:
    word, content = decision
    if word == "edit" and not isinstance(content, dict):
        raise UsageError("--edit needs the tool's arguments as an object", hint=f"--edit '{spell_value(request.args)}'")
    is_response = question.form in (AnswerForm.RESPONSES, AnswerForm.RESPONSE)
    word = _RESPONSES.get(word, word) if is_response else word
    if word == "edit":
        answer = {"type": word, _edit_key(question): {_name_key(question): request.tool, "args": content}}
    elif is_response:
        answer = {"type": word, "args": content}
    else:
        answer = {"type": word, "message": content} if content or word == "respond" else {"type": word}
    _must_allow(request, word)
    return answer


def _in_envelope(question: ToolQuestion, answers: list[dict[str, Any]]) -> Any:
    if question.form is AnswerForm.DECISIONS:
        return {"decisions": answers}
    return answers if question.form is AnswerForm.RESPONSES else answers[0]


def _answers_in(question: ToolQuestion, value: Any) -> list[Any]:
    """The decisions or responses in a value, which may have its envelope or not."""
    if isinstance(value, dict) and value.keys() == {"decisions"} and question.form is AnswerForm.DECISIONS:
        value = value["decisions"]
    if isinstance(value, str) and question.form is not AnswerForm.RESPONSE:
        value = [{"type": value, **({"args": None} if question.form is AnswerForm.RESPONSES else {})}]
        if value[0]["type"] not in _BARE:
            raise UsageError(f"“{value[0]['type']}” is no answer to a question about tool calls", hint=_hint(question))
    answers = value if isinstance(value, list) else [value]
    if not all(isinstance(one, dict) and isinstance(one.get("type"), str) for one in answers):
        raise UsageError("this is no answer to a question about tool calls", hint=_hint(question))
    return answers


def _checked(question: ToolQuestion, request: ToolRequest, answer: dict[str, Any]) -> dict[str, Any]:
    word = answer["type"]
    _must_allow(request, word)
    needs_text = word in ("respond", "response") or (word == "reject" and "message" in answer)
    text = answer.get("args" if word == "response" else "message")
    if needs_text and not isinstance(text, str):
        raise UsageError(f"{word} needs a text", hint=_hint(question))
    if needs_text and text in PLACEHOLDERS:
        raise UsageError(f"{text} is the placeholder of a suggested command, not an answer")
    if word == "edit":
        _must_be_action(question, request, _action(question, answer))
    if word == "approve" and answer.get("message"):
        raise no_text(request, word)
    return answer


def no_text(request: ToolRequest, word: str) -> UsageError:
    """The error that an answer such as ``approve`` came with a text, of which the graph would make nothing."""
    words = [f"{one} TEXT" for one in request.allowed if one in ("reject", "respond", "response")]
    hint = f"{' and '.join(words)} {'take' if len(words) > 1 else 'takes'} one" if words else ""
    return UsageError(f"{word} takes no text, and the graph would drop it", hint=hint)


def _must_be_action(question: ToolQuestion, request: ToolRequest, action: Any) -> None:
    name = action.get(_name_key(question)) if isinstance(action, dict) else None
    if not isinstance(name, str) or not isinstance(action.get("args"), dict):
        keys = f"{_edit_key(question)!r} with {_name_key(question)!r} and 'args'"
        raise UsageError(f"edit needs {keys}", hint=_edit_hint(question, request))
    if question.form is AnswerForm.DECISION and name != request.tool:
        raise Refused(f"an edit can't call {name} instead of {request.tool}; nothing was recorded")


def _action(question: ToolQuestion, answer: dict[str, Any]) -> Any:
    return answer.get(_edit_key(question))


def _edit_key(question: ToolQuestion) -> str:
    if question.form in (AnswerForm.RESPONSES, AnswerForm.RESPONSE):
        return "args"
    return "editedAction" if question.javascript else "edited_action"


def _name_key(question: ToolQuestion) -> str:
    return "action" if question.form in (AnswerForm.RESPONSES, AnswerForm.RESPONSE) else "name"


def _edit_hint(question: ToolQuestion, request: ToolRequest | None = None) -> str:
    """How a tool call is edited, by default the first that may be; the arguments, which can be long, are left out."""
    if len(question.requests) == 1:
        return "--edit JSON makes them of the arguments alone"
    may = [one for one in question.requests if "edit" in one.allowed]
    if request is None and not may:
        return "none of them may be edited"
    tool = json.dumps((request or may[0]).tool, ensure_ascii=False)
    form = f'{{"type": "edit", "{_edit_key(question)}": {{"{_name_key(question)}": {tool}, "args": {{…}}}}}}'
    return f"--value has a decision for each call, in order; one that edits is {form}"


def _must_allow(request: ToolRequest, word: str) -> None:
    if word not in request.allowed:
        raise Refused(
            f"{word} is not allowed for {request.tool}; nothing was recorded",
            hint=f"it allows {', '.join(request.allowed)}",
        )


def _hint(question: ToolQuestion) -> str:
    return f"it expects something like {spell_value(example(question))}"


def spell_value(value: Any) -> str:
    """A value as JSON in one line, with secrets masked; a very long one is cut."""
    try:
        text = json.dumps(to_json(value), ensure_ascii=False)
    except RecursionError:
        return "…"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text):,} characters)"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
