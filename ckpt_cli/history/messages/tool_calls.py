"""`Turn`: the tool calls and results in a stored message: LangChain's objects, vendors' own dicts.

langchain-core 1.7 ``messages/ai.py: AIMessage``, ``messages/content.py``; OpenAI, Anthropic, Bedrock and Gemini dicts
as their APIs take them. Tools that a server runs (``server_tool_use``, ``mcp_tool_use``, ``web_search_call`` …) are no
calls here: their results aren't the application's.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from ckpt_cli.history.messages.vendor_rules import CHAT_COMPLETIONS, Rule, rule_of
from ckpt_cli.values.langgraph_values import message_fields
from ckpt_cli.values.node import Node

CALL_BLOCKS = {
    "tool_use": "id",
    "tool_call": "id",
    "invalid_tool_call": "id",
    "function_call": "call_id",
    "custom_tool_call": "call_id",
    "computer_call": "call_id",
}
"""Kinds of blocks (and of Responses items) that are calls, with the field that has the call's id."""
ITEMS = frozenset({"function_call", "custom_tool_call", "computer_call"})
"""Those that are items of Responses beside messages. Others without a role are data, as LangChain's `ToolCall` is."""
RESULT_BLOCKS = {
    "tool_result": "tool_use_id",
    "function_call_output": "call_id",
    "custom_tool_call_output": "call_id",
    "computer_call_output": "call_id",
}
WRAPPED_CALLS = {"toolUse": "toolUseId", "functionCall": "id", "function_call": "id"}
"""Blocks without a type, which hold the call under a key of its kind (Bedrock, Gemini)."""
WRAPPED_RESULTS = {"toolResult": "toolUseId", "functionResponse": "id", "function_response": "id"}
REASONING = frozenset({"reasoning", "thinking", "redacted_thinking", "reasoning_content", "reasoningContent"})


class Call(NamedTuple):
    """A tool call.

    Attributes:
        id: None if it has none; then it is known by its name.
        kind: the kind of its block; "" if only ``tool_calls`` has it.
    """

    id: str | None
    name: str
    kind: str = ""

    @property
    def key(self) -> str:
        """What the call and its result have in common."""
        return key_of(self.id, self.name)

    @property
    def takes_text(self) -> bool:
        """Whether a text can be its result: a computer call takes a screenshot."""
        return self.kind != "computer_call"


class Turn(NamedTuple):
    """What a message has to do with tools.

    Attributes:
        role: ``human``, ``ai``, ``tool``, ``system`` …
        fields: the fields of the message.
        body: the field that has its blocks: ``content``, or Gemini's ``parts``; "" for an item of Responses.
        calls: the calls that the model's API sees.
        results: the keys of the calls that it has results of.
        has_rest: whether it has something beside results.
        rest_first: whether a part of that comes before a result.
        rule: what the API of its calls accepts.
    """

    role: str
    fields: dict[str, Any]
    body: str = "content"
    calls: tuple[Call, ...] = ()
    results: tuple[str, ...] = ()
    has_rest: bool = True
    rest_first: bool = False
    rule: Rule = CHAT_COMPLETIONS


def key_of(call_id: Any, name: Any) -> str:
    """The key of a call or result: its id, or its name if it has no id (older Gemini, Ollama)."""
    return call_id if isinstance(call_id, str) and call_id else f"\0{name}"


def read_turns(value: Any) -> list[Turn] | None:
    """The messages of a list; None if the value is no conversation, or has neither calls nor results.

    A list with nothing but a model's own messages and calls is none: an application keeps it for something else.
    """
    if not isinstance(value, list) or not value:
        return None
    turns = []
    for item in value:
        turn = read_turn(item)
        if turn is None:
            return None
        turns.append(turn)
    is_conversation = any(turn.role != "ai" for turn in turns)
    return turns if is_conversation and any(turn.calls or turn.results for turn in turns) else None


def read_turn(item: Any) -> Turn | None:
    """The calls and results of a message, or of an item of Responses; None if the value is neither."""
    if isinstance(item, dict):
        if isinstance(item.get("parts"), list) and item.get("role") in ("user", "model", "function"):
            return _turn_of_blocks("ai" if item["role"] == "model" else "human", item, "parts")
        kind = item.get("type")
        if "role" not in item and (kind in ITEMS or kind == "reasoning" or str(kind).endswith("_call_output")):
            return _turn_of_item(item, str(kind))
        if item.get("role") == "assistant" and "tool_calls" in item:  # Chat Completions allows it without content
            item = {"content": None, **item}
    known = message_fields(item)
    if known is None:
        return None
    role, fields = known
    if role == "tool":
        key = key_of(fields.get("tool_call_id"), fields.get("name"))
        return Turn("tool", fields, results=(key,), has_rest=False)
    return _turn_of_blocks(role, fields, "content")


def _turn_of_item(item: dict[str, Any], kind: str) -> Turn:
    """An item of Responses: a call, an output, or reasoning."""
    if kind in RESULT_BLOCKS:
        return Turn("tool", item, "", results=(key_of(item.get(RESULT_BLOCKS[kind]), ""),), has_rest=False)
    calls = tuple(calls_in([item]))
    return Turn("ai", item, "", calls, rule=rule_of(item, {kind}, []))


def _turn_of_blocks(role: str, fields: dict[str, Any], body: str) -> Turn:
    blocks = fields.get(body)
    blocks = blocks if isinstance(blocks, list) else []
    if role == "ai":
        in_blocks = list(calls_in(blocks))
        rule = rule_of(fields, {call.kind for call in in_blocks}, [call.id or "" for call in listed_calls(fields)])
        return Turn(role, fields, body, _sent(fields, in_blocks, rule), rule=rule)
    keys = [result_key(block) for block in blocks]
    results = tuple(key for key in keys if key is not None)
    if not results:
        return Turn(role, fields, body)
    last = max(number for number, key in enumerate(keys) if key is not None)
    return Turn(role, fields, body, (), results, None in keys, None in keys[:last])


def listed_calls(fields: dict[str, Any]) -> list[Call]:
    """The calls in ``tool_calls``, or, if there are neither these nor invalid ones, in ``additional_kwargs``.

    langchain-core 1.7 ``messages/ai.py: _backwards_compat_tool_calls`` takes them from there in the same case.
    """
    listed = list(named_calls(fields.get("tool_calls")))
    extra = fields.get("additional_kwargs")
    if not listed and not _rows(fields.get("invalid_tool_calls")) and isinstance(extra, dict):
        listed = list(named_calls(extra.get("tool_calls")))
    return listed


def _sent(fields: dict[str, Any], in_blocks: list[Call], rule: Rule) -> tuple[Call, ...]:
    """The calls that the API gets: those in fields, and those in blocks that no field has."""
    kinds = {call.key: call.kind for call in in_blocks}
    calls = [call._replace(kind=kinds.get(call.key, "")) for call in listed_calls(fields)]
    if rule.sends_invalid:
        calls += named_calls(fields.get("invalid_tool_calls"))
    known = {call.key for call in calls}
    return (*calls, *(call for call in in_blocks if call.key not in known and (call.id or not calls)))


def named_calls(calls: Any) -> Iterator[Call]:
    """The calls in a list as LangChain or Chat Completions has it; none if the value is no list."""
    for call in _rows(calls):
        inner = next((call[key] for key in ("function", "custom") if isinstance(call.get(key), dict)), call)
        yield Call(_text(call.get("id")), _text(inner.get("name")) or "")


def calls_in(blocks: list[Any]) -> Iterator[Call]:
    """The calls among blocks of content, Gemini's parts, or items of Responses."""
    for block in blocks:
        if not isinstance(block, dict):
            continue
        kind = block.get("type")
        if kind in CALL_BLOCKS:
            call_id = _text(block.get(CALL_BLOCKS[kind])) or _text(block.get("id"))
            yield Call(call_id, _text(block.get("name")) or "", kind)
        for key, id_field in WRAPPED_CALLS.items():
            inner = block.get(key)
            if isinstance(inner, dict) and inner.get("type") != "server_tool_use":
                yield Call(_text(inner.get(id_field)), _text(inner.get("name")) or "", key)


def result_key(block: Any) -> str | None:
    """The key of the call whose result a block is; None for all other blocks."""
    if not isinstance(block, dict):
        return None
    if (kind := block.get("type")) in RESULT_BLOCKS:
        return key_of(block.get(RESULT_BLOCKS[kind]), "")
    for key, id_field in WRAPPED_RESULTS.items():
        if isinstance(inner := block.get(key), dict):
            return key_of(inner.get(id_field), inner.get("name"))
    return None


def is_object(item: Any) -> bool:
    """Whether a message is an object of LangChain, not a dict."""
    return isinstance(item, Node)


def _rows(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
