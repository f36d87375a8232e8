"""Messages typed as JSON become objects like the thread's; whether a channel takes any: `reducer_choice`.

They get the fields that the thread's messages have; `typed_messages` reads their own.
"""

from collections.abc import Callable, Iterable
from typing import Any

from ckpt_cli.history.reducers.reducers import as_message
from ckpt_cli.plans.typed_messages import read_message
from ckpt_cli.values.langgraph_values import REMOVE_ALL, message, overwrite
from ckpt_cli.values.node import Form, Node, Opened

_CLASSES = {
    "human": ("langchain_core.messages.human", "HumanMessage"),
    "ai": ("langchain_core.messages.ai", "AIMessage"),
    "system": ("langchain_core.messages.system", "SystemMessage"),
    "tool": ("langchain_core.messages.tool", "ToolMessage"),
    "function": ("langchain_core.messages.function", "FunctionMessage"),
    "remove": ("langchain_core.messages.modifier", "RemoveMessage"),
}
_COMMON: dict[str, Any] = {"content": "", "additional_kwargs": {}, "response_metadata": {}, "name": None, "id": None}
_FIELDS_OF_ROLE: dict[str, dict[str, Any]] = {
    "ai": {"tool_calls": [], "invalid_tool_calls": [], "usage_metadata": None},
    "tool": {"tool_call_id": None, "artifact": None, "status": "success"},
}
_OBJECTS = frozenset({Form.PYDANTIC, Form.PYDANTIC_V1, Form.LC1})


def as_messages(raw: Any, current: Any, new_id: Callable[[], str] | None, *, is_typed: bool = False) -> Any:
    """The message objects for `raw`, which was written to a channel of messages; `new_id` makes missing ids.

    `current` is the value of the channel. The latest message with the same role is the pattern for a new message.
    A list that a person typed (`is_typed`) is one of messages. A stored list of two texts may have been a tuple.

    Raises:
        UsageError: LangGraph doesn't take such a message.
    """
    if (replaced := overwrite(raw)) is not None:
        return {"__overwrite__": as_messages(replaced.value, current, new_id, is_typed=is_typed)}
    patterns = [one for one in (current if isinstance(current, list) else []) if isinstance(one, Node)]
    if isinstance(raw, list) and (is_typed or as_message(raw) is None):
        return [_as_message(one, patterns, new_id) for one in raw]
    return [_as_message(raw, patterns, new_id)]


def _as_message(raw: Any, patterns: Iterable[Node], new_id: Callable[[], str] | None) -> Any:
    if isinstance(raw, Node):
        return _with_id(raw, new_id)
    role_and_fields = read_message(raw)
    if role_and_fields is None:
        return raw
    role, fields = role_and_fields
    pattern = next((one for one in reversed([*patterns]) if (other := message(one)) and other.role == role), None)
    form = next((one.form for one in reversed([*patterns]) if one.form in _OBJECTS), Form.PYDANTIC)
    values = {**_blank(pattern, role), **fields}
    if not values.get("id") and new_id is not None:
        values["id"] = new_id()
    module, name = (pattern.module, pattern.name) if pattern is not None else _CLASSES[role]
    return Node(Opened(module, name, pattern.form if pattern is not None else form, values))


def _with_id(node: Node, new_id: Callable[[], str] | None) -> Node:
    parsed = as_message(node)
    if parsed is None or parsed.id or new_id is None or node.form not in _OBJECTS:
        return node
    return Node(Opened(node.module, node.name, node.form, {**node.state, "id": new_id()}))


def _blank(pattern: Node | None, role: str) -> dict[str, Any]:
    """The fields of a new message without content: the pattern's fields, or the library's if there is no pattern."""
    whole = {**_COMMON, "type": role, **_FIELDS_OF_ROLE.get(role, {})}
    if pattern is None or pattern.fields is None:
        return whole
    return {key: whole.get(key, _empty_like(value)) for key, value in pattern.fields.items()} | {"id": None}


def _empty_like(value: Any) -> Any:
    return type(value)() if isinstance(value, dict | list | bool) else None


def unknown_removals(current: Any, writes: Iterable[Any]) -> list[str]:
    """The ids of messages that these writes remove and that aren't there; ``add_messages`` refuses them too."""
    listed = [item for write in (current, *writes) for item in (write if isinstance(write, list) else [write])]
    known, unknown = set[str | None](), list[str]()
    for one in (message(item) for item in listed):
        if one is None:
            continue
        if one.role != "remove":
            known.add(one.id)
        elif one.id == REMOVE_ALL:
            return []
        elif one.id not in known:
            unknown.append(one.id or "")
    return unknown
