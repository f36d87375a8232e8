"""Tool calls in message lists: every shape is judged by a model's API that is written independently of ckpt."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ckpt_cli.history.messages.call_matching import match_calls
from ckpt_cli.history.messages.mended_messages import Mend, mend
from ckpt_cli.model import Payload
from ckpt_cli.plans.tool_calls import new_message
from ckpt_cli.serde.codec import Codec
from ckpt_cli.serde.msgpack_write import pack
from ckpt_cli.values.node import Form, Node, Opened
from tests.history import strict_models
from tests.history.strict_models import RefusedError

ANSWER = "cancelled"
EXAMPLES = 150

Judge = Callable[[list[Any]], None]


def human(text: str = "and now?") -> HumanMessage:
    """A question."""
    return HumanMessage(text)


def ai(*ids: str, text: Any = "", **more: Any) -> AIMessage:
    """An assistant message with calls."""
    return AIMessage(text, tool_calls=[{"name": f"tool_{one}", "args": {}, "id": one} for one in ids], **more)


def result(call_id: str) -> ToolMessage:
    """The result of a call."""
    return ToolMessage(f"result of {call_id}", tool_call_id=call_id)


def invalid(call_id: str) -> AIMessage:
    """A call with arguments that aren't JSON."""
    call = {"name": "f", "args": "{", "id": call_id, "error": None, "type": "invalid_tool_call"}
    return AIMessage("", invalid_tool_calls=[call])


def use(*ids: str, **more: Any) -> list[Any]:
    """Anthropic's blocks."""
    return [{"type": "tool_use", "id": one, "name": "f", "input": {}, **more} for one in ids]


def used(*ids: str) -> list[Any]:
    """Anthropic's results."""
    return [{"type": "tool_result", "tool_use_id": one, "content": "done"} for one in ids]


def said(role: str, *content: Any) -> dict[str, Any]:
    """A dict with blocks."""
    return {
        "role": role,
        "content": [{"type": "text", "text": one} if isinstance(one, str) else one for one in content],
    }


def part(*parts: Any, role: str = "user") -> dict[str, Any]:
    """Gemini's content."""
    return {"role": role, "parts": [{"text": one} if isinstance(one, str) else one for one in parts]}


def item(kind: str, call_id: str = "", **more: Any) -> dict[str, Any]:
    """An item of Responses."""
    return {"type": kind, **({"call_id": call_id} if call_id else {}), **more}


OPENAI_CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
ANTHROPIC = {"response_metadata": {"model_provider": "anthropic"}}
RESPONSE = {"response_metadata": {"id": "resp_1", "object": "response", "model_provider": "openai"}}
CALL = {"functionCall": {"name": "f", "args": {}}}
REPLY = {"functionResponse": {"name": "f", "response": {}}}
TOOL_USE = {"toolUse": {"toolUseId": "t1", "name": "f", "input": {}}}
TOOL_RESULT = {"toolResult": {"toolUseId": "t1", "content": [{"text": "done"}]}}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": []}
THINKING = {"type": "thinking", "thinking": "…", "signature": "s"}


class Shape(NamedTuple):
    """A list, its judge, and what is wrong with it."""

    judge: Judge
    messages: list[Any]
    kinds: list[str]


CHAT, CLAUDE, OPENAI = strict_models.chat_completions, strict_models.anthropic, strict_models.responses
BEDROCK, GEMINI = strict_models.bedrock, strict_models.gemini

SHAPES = {
    "answered": Shape(CHAT, [human(), ai("a"), result("a"), ai(text="ok")], []),
    "answered in another order": Shape(CHAT, [human(), ai("a", "b"), result("b"), result("a"), human()], []),
    "unanswered at the end": Shape(CHAT, [human(), ai("a")], ["unanswered"]),
    "unanswered, then a question": Shape(CHAT, [human(), ai("a", "b", text="Let me look."), human()], ["unanswered"]),
    "unanswered, then an answer": Shape(CHAT, [human(), ai("a"), ai(text="never mind")], ["unanswered"]),
    "two in a row": Shape(CHAT, [human(), ai("a"), ai("b"), result("b")], ["unanswered"]),
    "partly answered": Shape(CHAT, [human(), ai("a", "b", "c"), result("b"), human()], ["partly answered"]),
    "answered twice": Shape(CHAT, [human(), ai("a"), result("a"), result("a")], ["answered twice"]),
    "answered again, later": Shape(CHAT, [ai("a"), result("a"), human(), result("a"), human()], ["answered twice"]),
    "late": Shape(CHAT, [human(), ai("a"), human(), result("a"), human()], ["out of order"]),
    "before its call": Shape(CHAT, [human(), result("a"), ai("a"), human()], ["out of order"]),
    "behind a system message": Shape(CHAT, [ai("a"), SystemMessage("be kind"), result("a")], ["out of order"]),
    "crossed": Shape(CHAT, [ai("a"), ai("b"), result("a"), result("b"), human()], ["out of order"]),
    "not asked for": Shape(CHAT, [human(), result("z"), human()], ["not asked for"]),
    "its call was trimmed": Shape(CHAT, [result("a"), human(), ai("b"), result("b")], ["not asked for"]),
    "numbered from 0 in each answer": Shape(
        CHAT, [ai("0"), result("0"), human(), ai("0"), human(), ai("0"), result("0")], ["unanswered"]
    ),
    "arguments that aren't JSON": Shape(CHAT, [human(), invalid("a"), human()], ["unanswered"]),
    "all at once": Shape(
        CHAT,
        [ai("a", "b"), result("b"), result("b"), human(), ai("c"), human(), result("c"), result("z")],
        ["partly answered", "answered twice", "out of order", "not asked for"],
    ),
    "Chat Completions dicts": Shape(
        CHAT,
        [{"role": "user", "content": "hi"}, {"role": "assistant", "content": None, "tool_calls": [OPENAI_CALL]}],
        ["unanswered"],
    ),
    "Chat Completions dicts without content": Shape(
        CHAT, [{"role": "assistant", "tool_calls": [OPENAI_CALL]}, {"role": "user", "content": "hi"}], ["unanswered"]
    ),
    "Claude": Shape(CLAUDE, [human(), ai("a", text=use("a"), **ANTHROPIC), human()], ["unanswered"]),
    "Claude, with text first": Shape(
        CLAUDE,
        [human(), ai("a", "b", text=[{"type": "text", "text": "hm"}, *use("a", "b")]), result("a"), human()],
        ["partly answered"],
    ),
    "Claude thought first": Shape(CLAUDE, [human(), ai("a", text=[THINKING, *use("a")], **ANTHROPIC)], ["unanswered"]),
    "Claude's block alone": Shape(CLAUDE, [human(), ai(text=use("a"), **ANTHROPIC), human()], ["unanswered"]),
    "Claude doesn't see what isn't JSON": Shape(
        CLAUDE, [human(), invalid("a").model_copy(update=ANTHROPIC), human()], []
    ),
    "Claude's own search": Shape(
        CLAUDE,
        [
            human(),
            ai(text=[{"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}]),
            human(),
        ],
        [],
    ),
    "Claude's results in a human message": Shape(
        CLAUDE, [ai("a", "b", text=use("a", "b")), HumanMessage(used("a")), human()], ["partly answered"]
    ),
    "Claude dicts": Shape(
        CLAUDE,
        [said("user", "hi"), said("assistant", "hm", *use("a", "b")), said("user", *used("b"), "and?")],
        ["partly answered"],
    ),
    "Claude dicts, text first": Shape(
        CLAUDE, [said("user", "hi"), said("assistant", *use("a")), said("user", "and?", *used("a"))], ["out of order"]
    ),
    "Claude dicts at the end": Shape(CLAUDE, [said("user", "hi"), said("assistant", *use("a"))], ["unanswered"]),
    "Bedrock dicts": Shape(
        BEDROCK, [said("user", "hi"), said("assistant", TOOL_USE), said("user", "and?")], ["unanswered"]
    ),
    "Bedrock dicts, answered": Shape(
        BEDROCK, [said("user", "hi"), said("assistant", TOOL_USE), said("user", TOOL_RESULT)], []
    ),
    "Bedrock dicts, answered twice": Shape(
        BEDROCK,
        [said("user", "hi"), said("assistant", TOOL_USE), said("user", TOOL_RESULT, TOOL_RESULT)],
        ["answered twice"],
    ),
    "Bedrock's own tool": Shape(
        BEDROCK,
        [
            said("assistant", {"toolUse": {"toolUseId": "t9", "name": "s", "type": "server_tool_use"}}),
            said("user", "k"),
        ],
        [],
    ),
    "Gemini dicts, two calls of one function": Shape(
        GEMINI, [part("hi"), part(CALL, CALL, role="model"), part(REPLY)], ["partly answered"]
    ),
    "Gemini dicts": Shape(GEMINI, [part("hi"), part("ok", CALL, role="model"), part("and?")], ["unanswered"]),
    "Responses": Shape(
        OPENAI,
        [human(), ai("a", text=[REASONING, item("function_call", "a", name="f")], **RESPONSE), human()],
        ["unanswered"],
    ),
    "Responses, in any place": Shape(OPENAI, [human(), ai("a", **RESPONSE), human(), result("a")], []),
    "Responses, reasoning between calls": Shape(
        OPENAI,
        [
            human(),
            ai(
                "a",
                "b",
                text=[
                    REASONING,
                    item("function_call", "a", name="f"),
                    {**REASONING, "id": "rs_2"},
                    item("function_call", "b", name="f"),
                ],
                **RESPONSE,
            ),
            result("b"),
            human(),
        ],
        ["partly answered"],
    ),
    "Responses items": Shape(
        OPENAI,
        [
            REASONING,
            item("function_call", "a", name="f"),
            {**REASONING, "id": "rs_2"},
            item("function_call", "b", name="g"),
            item("function_call_output", "b", output="done"),
            item("custom_tool_call", "c", name="h"),
        ],
        ["unanswered", "unanswered"],
    ),
}

OBJECTS = [name for name, shape in SHAPES.items() if isinstance(shape.messages[0], BaseMessage)]


def stored(messages: list[Any], era: str) -> Payload:
    """The list as a generation of LangGraph stores it."""
    if era == "json":  # langgraph 0.0 to 0.2.3, and LangGraph.js
        return Payload("json", json.dumps([dumpd(one) for one in messages]).encode())
    if era == "pydantic v1":  # langgraph 0.2.22 with langchain-core 0.2: extension 4
        return Payload("msgpack", pack([_of_core_0_2(one) for one in messages]))
    return Payload(*JsonPlusSerializer().dumps_typed(messages))


def _of_core_0_2(one: BaseMessage) -> Node:
    fields = {name: value for name, value in one.__dict__.items() if name != "usage_metadata"}
    return Node(Opened(type(one).__module__, type(one).__name__, Form.PYDANTIC_V1, fields))


def real(payload: Payload) -> list[Any]:
    """The list as the real library reads it."""
    return list(JsonPlusSerializer().loads_typed((payload.tag, payload.data)))


def refuses(judge: Judge, messages: list[Any]) -> bool:
    """Whether the API refuses a list."""
    try:
        judge(messages)
    except RefusedError:
        return True
    return False


def mended(messages: list[Any], how: Mend) -> list[Any]:
    """The mended list."""
    matching = match_calls(messages)
    return messages if matching is None else mend(messages, matching, how, ANSWER, new_message(messages)).messages


@pytest.mark.parametrize("name", SHAPES)
def test_the_judge_and_ckpt_agree(name: str) -> None:
    """A list has a fault if and only if its API refuses it."""
    judge, messages, kinds = SHAPES[name]
    value = Codec().decode(stored(messages, "msgpack")) if name in OBJECTS else messages
    matching = match_calls(value)
    assert [str(fault.kind) for fault in (matching.faults() if matching else ())] == kinds
    assert refuses(judge, messages) == bool(kinds)


@pytest.mark.parametrize("how", Mend)
@pytest.mark.parametrize("era", ["json", "pydantic v1", "msgpack"])
@pytest.mark.parametrize("name", OBJECTS)
def test_what_is_mended_is_taken(name: str, era: str, how: Mend) -> None:
    """As the real library reads it in each generation's encoding; what needs no change keeps its bytes."""
    judge, messages, kinds = SHAPES[name]
    before, codec = stored(messages, era), Codec()
    value = codec.decode(before)
    new = mended(value, how)
    after = codec.encode(new, before)
    judge(real(after))
    again = match_calls(codec.decode(after))
    assert again is None or not again.faults()
    assert (after is before) == (not kinds)
    assert era == "json" or all(one.raw in after.data for one in new if any(one is other for other in value))
    if how is Mend.ANSWER:
        made = sum(isinstance(one, ToolMessage) and one.content == ANSWER for one in real(after))
        extra = sum(kind in ("answered twice", "not asked for") for kind in kinds)
        assert len(new) == len(value) + made - extra


@pytest.mark.parametrize("how", Mend)
@pytest.mark.parametrize("name", sorted(SHAPES.keys() - set(OBJECTS)))
def test_what_is_mended_is_taken_as_dicts(name: str, how: Mend) -> None:
    """Lists of dicts as an application sends them itself."""
    shape = SHAPES[name]
    before = json.dumps(shape.messages)
    after = mended(shape.messages, how)
    shape.judge(after)
    assert json.dumps(shape.messages) == before, "the stored list isn't touched"
    assert mended(after, how) == after


def test_a_dropped_call_is_nowhere_left() -> None:
    """No library finds it again: not in the blocks, nor in the copies for OpenAI and Gemini."""
    extra = {"tool_calls": [OPENAI_CALL], "function_call": {"name": "f", "arguments": "{}"}}
    copied = ai("c1", text=[{"type": "text", "text": "Let me look."}, *use("c1")], additional_kwargs=extra)
    before = stored([human(), copied, human()], "msgpack")
    after = Codec().encode(mended(Codec().decode(before), Mend.DROP), before)
    _, left, _ = real(after)
    assert (left.content, left.tool_calls, left.additional_kwargs) == (
        [{"type": "text", "text": "Let me look."}],
        [],
        {},
    )


def test_calls_that_no_text_can_answer() -> None:
    """A computer call takes a screenshot, and a call without an id can't be named; both can be dropped."""
    asked = {"role": "user", "content": "hi"}
    computer = [asked, item("computer_call", "a", action={})]
    nameless = [asked, {"role": "assistant", "content": "", "tool_calls": [{"name": "f", "args": {}, "id": None}]}]
    for messages in (computer, nameless):
        matching = match_calls(messages)
        assert matching is not None
        assert len(mend(messages, matching, Mend.ANSWER, ANSWER, new_message(messages)).unanswerable) == 1
        assert mended(messages, Mend.DROP) == [asked]


def test_lists_that_are_no_conversation() -> None:
    """Calls that an application keeps, a model's drafts, and texts are left alone."""
    call = {"type": "tool_call", "name": "f", "args": {}, "id": "a"}
    for kept in (
        [call],
        [call, {"type": "tool_use", "id": "b"}],
        [item("function_call", "a")],
        [ai("a"), ai("b")],
        ["a"],
    ):
        assert match_calls(kept) is None


IDS = st.sampled_from("abc")
LISTS = st.lists(
    st.one_of(
        st.builds(human),
        st.builds(
            lambda ids, text: ai(*ids, text=text), st.lists(IDS, max_size=3, unique=True), st.sampled_from(["", "k"])
        ),
        st.builds(result, IDS),
    ),
    min_size=1,
    max_size=8,
).filter(lambda messages: all(not isinstance(one, AIMessage) or one.tool_calls or one.content for one in messages))


@settings(max_examples=EXAMPLES, deadline=None)
@given(LISTS, st.sampled_from(Mend))
def test_any_list(later: list[Any], how: Mend) -> None:
    """The judge and ckpt agree; mended, it is taken, questions keep their order, and no result is invented or lost."""
    judge, messages = strict_models.chat_completions, [human("hi"), *later]
    value = Codec().decode(stored(messages, "msgpack"))
    matching = match_calls(value)
    faults = matching.faults() if matching is not None else []
    assert bool(faults) == refuses(judge, messages)
    before = stored(messages, "msgpack")
    after = real(Codec().encode(mended(value, how), before))
    judge(after)
    assert [one for one in after if isinstance(one, HumanMessage)] == [
        m for m in messages if isinstance(m, HumanMessage)
    ]
    results = [one for one in after if isinstance(one, ToolMessage) and one.content != ANSWER]
    asked = sum(len(one.tool_calls) for one in messages if isinstance(one, AIMessage))
    given_results = [one for one in messages if isinstance(one, ToolMessage)]
    assert all(one in given_results for one in results)
    assert len(results) <= min(asked, len(given_results))
