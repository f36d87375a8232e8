"""Makes the messages and typed objects in the demo's state, in the form in which LangGraph stores them.

The forms are those of langchain-core 1.7.
"""

from collections.abc import Mapping
from datetime import date
from typing import Any

from ckpt_cli.values.node import Form, Node, Opened

_MESSAGES = "langchain_core.messages"


def _message(module: str, name: str, fields: dict[str, Any]) -> Node:
    return Node(Opened(f"{_MESSAGES}.{module}", name, Form.PYDANTIC, fields, method="model_validate_json"))


def _common(text: str, kind: str, message_id: str, name: str | None = None) -> dict[str, Any]:
    common = {"content": text, "additional_kwargs": {}, "response_metadata": {}}
    return {**common, "type": kind, "name": name, "id": message_id}


def human(text: str, message_id: str) -> Node:
    """A message of the customer."""
    return _message("human", "HumanMessage", _common(text, "human", message_id))


def ai(text: str, message_id: str, read: int, calls: Mapping[str, Mapping[str, Any]] | None = None) -> Node:
    """A message of the model, which read this many tokens; `calls` are its tool calls: call id to ``{"name", "args"}``.

    The tokens that it wrote are guessed: four letters each, and twelve a call.
    """
    tool_calls = [{**call, "id": call_id, "type": "tool_call"} for call_id, call in (calls or {}).items()]
    wrote = len(text) // 4 + 12 * len(tool_calls)
    usage = {"input_tokens": read, "output_tokens": wrote, "total_tokens": read + wrote}
    more = {"tool_calls": tool_calls, "invalid_tool_calls": [], "usage_metadata": usage}
    return _message("ai", "AIMessage", {**_common(text, "ai", message_id), **more})


def tool(text: str, message_id: str, name: str, call_id: str) -> Node:
    """The answer of a tool."""
    more = {"tool_call_id": call_id, "artifact": None, "status": "success"}
    return _message("tool", "ToolMessage", {**_common(text, "tool", message_id, name), **more})


def decimal(text: str) -> Node:
    """A ``Decimal``."""
    return Node(Opened("decimal", "Decimal", Form.VALUE, text))


def order(order_id: str, item: str, paid: str, shipped: date) -> Node:
    """A dataclass of the agent's own module, which only the agent's developers can import."""
    day = Node(Opened("datetime", "date", Form.ARGS, [shipped.year, shipped.month, shipped.day]))
    fields = {"id": order_id, "item": item, "paid": decimal(paid), "shipped": day}
    return Node(Opened("support_agent", "Order", Form.KWARGS, fields))


def names(*members: str) -> Node:
    """A ``set`` of names: a barrier channel's value, the nodes that have written to the channel."""
    return Node(Opened("builtins", "set", Form.VALUE, list(members)))


def interrupt(value: Any, interrupt_id: str) -> Node:
    """An ``Interrupt`` of langgraph 1.2."""
    fields = {"value": value, "id": interrupt_id, "response_schema": None}
    return Node(Opened("langgraph.types", "Interrupt", Form.KWARGS, fields))
