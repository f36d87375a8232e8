"""Questions about tool calls are recognized by their whole structure, and answers have the form that they expect."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckpt_cli.errors import UsageError
from ckpt_cli.values.decisions import check, example
from ckpt_cli.values.questions import AnswerForm, tool_question

SCHEMA: dict[str, Any] = {
    "$defs": {
        "Yes": {"properties": {"type": {"const": "approve"}}},
        "No": {"properties": {"type": {"const": "reject"}}},
    },
    "oneOf": [{"$ref": "#/$defs/Yes"}, {"$ref": "#/$defs/No"}],
}
CALL = {"name": "rm", "args": {"path": "/"}, "description": "Sure?"}
FORMS: dict[str, tuple[Any, AnswerForm]] = {
    "batched": (
        {
            "action_requests": [CALL, CALL],
            "review_configs": [{"action_name": "rm", "allowed_decisions": ["approve", "reject"]}] * 2,
        },
        AnswerForm.DECISIONS,
    ),
    "JavaScript": (
        {
            "actionRequests": [CALL],
            "reviewConfigs": [{"actionName": "rm", "allowedDecisions": ["edit"], "argsSchema": {}}],
        },
        AnswerForm.DECISIONS,
    ),
    "per call": ({"type": "tool_approval", "tool_call_id": "call_1", **CALL}, AnswerForm.DECISION),
    "older": (
        [
            {
                "action_request": {"action": "rm", "args": {"path": "/"}},
                "config": {"allow_accept": True, "allow_edit": False, "allow_respond": True, "allow_ignore": True},
                "description": None,
            }
        ],
        AnswerForm.RESPONSES,
    ),
}
ODD = [None, [], {}, 7, "x", [[]], [None], {"a": 1}, [{"type": "x"}], "\x1b[2J", [f"word{i}" for i in range(99)]]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path to every part of a form; the arguments of a tool are the agent's own and count as one part."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    deeper = [
        place for key, item in parts for place in (places(item, (*path, key)) if key != "args" else [(*path, key)])
    ]
    return [path, *deeper] if path else deeper


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """A copy in which one part is `new`."""
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(value[path[0]], path[1:], new)
    return copy


@pytest.mark.parametrize("name", FORMS)
def test_forms(name: str) -> None:
    """Tool, arguments and allowed answers of each form; an answer in the expected form is accepted."""
    value, form = FORMS[name]
    question = tool_question(value, SCHEMA)
    assert question is not None and question.form is form
    assert {(one.tool, str(one.args)) for one in question.requests} == {("rm", "{'path': '/'}")}
    answer = example(question)
    assert check(question, answer) == answer


@pytest.mark.parametrize("name", FORMS)
@given(data=st.data())
def test_a_damaged_form_is_no_question_about_tools(name: str, data: st.DataObject) -> None:
    """Whatever one part is replaced by, the rest is either no such question, or one with whole requests."""
    value, _ = FORMS[name]
    path = data.draw(st.sampled_from(places(value)))
    question = tool_question(changed(value, path, data.draw(st.sampled_from(ODD))), SCHEMA)
    if question is not None:
        assert question.requests
        for request in question.requests:
            assert request.tool and isinstance(request.args, dict) and request.allowed
            assert all(word.isidentifier() for word in request.allowed)
        example(question)


@pytest.mark.parametrize("name", FORMS)
def test_an_unknown_key_is_never_hidden(name: str) -> None:
    """With a key that isn't known, the whole value is shown as it is."""
    value, _ = FORMS[name]
    for path in [(), *places(value)]:
        part = value
        for key in path:
            part = part[key]
        if isinstance(part, dict) and path[-1:] not in [("args",), ("argsSchema",)]:
            assert tool_question(changed(value, path, {**part, "also": 1}), SCHEMA) is None


@pytest.mark.parametrize("schema", [None, 7, {}, {"oneOf": 7}, {"oneOf": [{"$ref": 7}]}, {"oneOf": [{}], "$defs": 7}])
def test_without_its_schema_a_call_has_no_known_answers(schema: Any) -> None:
    """The allowed decisions of the per-call form stand only in the schema."""
    assert tool_question(FORMS["per call"][0], schema) is None


@pytest.mark.parametrize("answer", [None, 7, "x", {}, [], {"decisions": 7}, {"decisions": [7]}, [{"type": 7}], [[]]])
@pytest.mark.parametrize("name", FORMS)
def test_no_answer_at_all(name: str, answer: Any) -> None:
    """A value that is no answer is refused, whatever it is."""
    question = tool_question(FORMS[name][0], SCHEMA)
    assert question is not None
    with pytest.raises(UsageError):
        check(question, answer)


def test_the_description_is_shown_unless_it_repeats_the_call() -> None:
    """The middleware's own text has tool and arguments again; anything else in it stays."""
    texts = {
        "Tool execution requires approval\n\nTool: rm\nArgs: {'path': '/'}": "",
        "Think twice\n\nTool: rm\nArgs: {'path': '/'}": "Think twice",
        "Tool: rm\nArgs: {'path': '/tmp'}": "Tool: rm\nArgs: {'path': '/tmp'}",
    }
    for text, remark in texts.items():
        value = changed(FORMS["per call"][0], ("description",), text)
        question = tool_question(value, SCHEMA)
        assert question is not None and question.requests[0].remark == remark
