"""Models' APIs as independent judges of message lists: each builds the request that LangChain sends, and checks it.

Nothing here comes from ckpt: the requests follow langchain-openai, langchain-anthropic and langchain-google-genai, the
checks the vendors' own error messages.
"""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

SERVER_RESULTS = ("web_search_tool_result", "mcp_tool_result", "code_execution_tool_result")


class RefusedError(Exception):
    """The API answers 400."""


def chat_completions(messages: list[Any]) -> None:
    """Tool messages directly after the assistant's, one for each call, in any order, none that wasn't asked for."""
    request = [_to_chat(one) if not isinstance(one, dict) else one for one in messages]
    open_calls: Counter[str] = Counter()
    for one in request:
        if one["role"] == "tool":
            if not open_calls[one["tool_call_id"]]:
                raise RefusedError("messages with role 'tool' must be a response to a preceding message")
            open_calls[one["tool_call_id"]] -= 1
            continue
        if +open_calls:
            raise RefusedError("an assistant message with 'tool_calls' must be followed by tool messages")
        calls = one.get("tool_calls") if one["role"] == "assistant" else None
        if calls == []:
            raise RefusedError("[] is too short - 'messages.1.tool_calls'")
        if one["role"] == "assistant" and not calls and not one.get("content"):
            raise RefusedError("content is required unless there are tool calls")
        open_calls = Counter(call["id"] for call in calls or ())
    if +open_calls:
        raise RefusedError("an assistant message with 'tool_calls' must be followed by tool messages")


def _to_chat(one: Any) -> dict[str, Any]:
    """langchain-openai ``_convert_message_to_dict``."""
    if isinstance(one, ToolMessage):
        return {"role": "tool", "tool_call_id": one.tool_call_id, "content": one.content}
    if not isinstance(one, AIMessage):
        return {"role": "system" if isinstance(one, SystemMessage) else "user", "content": one.content}
    request: dict[str, Any] = {"role": "assistant", "content": one.content}
    if one.tool_calls or one.invalid_tool_calls:
        request["tool_calls"] = [{"id": call["id"]} for call in (*one.tool_calls, *one.invalid_tool_calls)]
    elif "tool_calls" in one.additional_kwargs:
        request["tool_calls"] = one.additional_kwargs["tool_calls"]
    return request


def anthropic(messages: list[Any]) -> None:
    """All results first in the next message, each once; results of server tools are in the same message."""
    merged: list[tuple[str, list[Any]]] = []
    for one in messages:
        role, blocks = _to_anthropic(one)
        if role == "system":
            continue
        if merged and merged[-1][0] == role == "user":
            merged[-1][1].extend(blocks)
        elif blocks or one is messages[-1]:
            merged.append((role, blocks))
    _check_blocks(merged, lambda block: block.get("id") if block["type"] == "tool_use" else None, _anthropic_result)
    for role, blocks in merged:
        if role == "assistant" and blocks and blocks[-1]["type"] in ("thinking", "redacted_thinking"):
            raise RefusedError("The final block in an assistant message cannot be `thinking`")


def _anthropic_result(block: dict[str, Any]) -> str | None:
    return block["tool_use_id"] if block["type"] == "tool_result" else None


def _to_anthropic(one: Any) -> tuple[str, list[Any]]:
    """langchain-anthropic ``_merge_messages`` and ``_format_messages``."""
    if isinstance(one, dict):
        return one["role"], _as_blocks(one["content"])
    if isinstance(one, ToolMessage):
        return "user", [{"type": "tool_result", "tool_use_id": one.tool_call_id, "content": one.content}]
    if isinstance(one, SystemMessage):
        return "system", []
    blocks = _as_blocks(one.content)
    if isinstance(one, HumanMessage):
        return "user", blocks
    known = {block.get("id") for block in blocks if block["type"] == "tool_use"}
    return "assistant", blocks + [
        {"type": "tool_use", "id": call["id"]} for call in one.tool_calls if call["id"] not in known
    ]


def _as_blocks(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content.strip() else []
    return [block for block in content if block.get("text", "x").strip()]


def _check_blocks(
    turns: list[tuple[str, list[Any]]],
    call_id: Callable[[dict[str, Any]], str | None],
    result_id: Callable[[dict[str, Any]], str | None],
) -> None:
    """Each turn begins with exactly the results of the calls in the turn before."""
    open_calls: Counter[str] = Counter()
    for _, blocks in turns:
        results = [result_id(block) for block in blocks]
        count = sum(result is not None for result in results)
        if None in results[:count] or Counter(one for one in results if one is not None) != open_calls:
            raise RefusedError(
                "`tool_use` ids were found without `tool_result` blocks immediately after, or the reverse"
            )
        open_calls = Counter(one for one in map(call_id, blocks) if one is not None)
    if open_calls:
        raise RefusedError("`tool_use` ids were found without `tool_result` blocks immediately after")


def bedrock(messages: list[Any]) -> None:
    """The next message has the results, as many as there were calls; a tool that the server runs is exempt."""

    def call_id(block: dict[str, Any]) -> str | None:
        use = block.get("toolUse", {})
        return None if use.get("type") == "server_tool_use" else use.get("toolUseId")

    _check_blocks(
        [(one["role"], one["content"]) for one in messages], call_id, lambda b: b.get("toolResult", {}).get("toolUseId")
    )
    _must_alternate(messages)


def gemini(messages: list[Any]) -> None:
    """As many responses as calls, in the next turn, by name."""
    _check_blocks(
        [(one["role"], one["parts"]) for one in messages],
        lambda part: part.get("functionCall", {}).get("name"),
        lambda part: part.get("functionResponse", {}).get("name"),
    )


def _must_alternate(messages: list[Any]) -> None:
    roles = [one["role"] for one in messages]
    if any(before == after == "assistant" for before, after in pairwise(roles)):
        raise RefusedError("roles must alternate")


def responses(messages: list[Any]) -> None:
    """Each call has one output behind it, by call_id, and reasoning is followed by what it led to."""
    items: list[dict[str, Any]] = []
    for one in messages:
        items += [one] if isinstance(one, dict) else _to_items(one)
    seen, done = Counter[str](), Counter[str]()
    for at, item in enumerate(items):
        if item["type"] == "reasoning":
            after = next((one["type"] for one in items[at + 1 :] if one["type"] != "reasoning"), "")
            following = items[at + 1]["type"] if at + 1 < len(items) else ""
            if after not in ("function_call", "custom_tool_call", "message") or following == "reasoning":
                raise RefusedError("'reasoning' was provided without its required following item")
        elif item["type"] in ("function_call", "custom_tool_call"):
            seen[item["call_id"]] += 1
        elif item["type"].endswith("_output"):
            done[item["call_id"]] += 1
            if done[item["call_id"]] > seen[item["call_id"]]:
                raise RefusedError(f"No tool call found for function call output with call_id {item['call_id']}")
    if seen != done:
        raise RefusedError("No tool output found for function call")


def _to_items(one: Any) -> list[dict[str, Any]]:
    """langchain-openai ``_construct_responses_api_input``."""
    if isinstance(one, ToolMessage):
        return [{"type": "function_call_output", "call_id": one.tool_call_id}]
    if not isinstance(one, AIMessage):
        return [{"type": "input"}]
    blocks = one.content if isinstance(one.content, list) else [{"type": "text", "text": one.content}]
    items = [{**b, "type": "message" if b["type"] == "text" else b["type"]} for b in blocks if b.get("text", "x")]
    known = {item.get("call_id") for item in items}
    calls = [{"type": "function_call", "call_id": c["id"]} for c in one.tool_calls if c["id"] not in known]
    return items + calls
