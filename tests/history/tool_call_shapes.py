"""Lists of messages in every shape that a tool call without a result takes, each with its judge and its faults.

Neither ckpt nor pytest is imported here: older releases of LangGraph store these lists too.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from tests.history import strict_models

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
