"""Messages typed as JSON become objects like the thread's; whether a channel takes any: `reducer_choice`.

They get the fields that the thread's messages have.
"""

from collections.abc import Callable, Iterable
from typing import Any

from ckpt_cli.history.reducers.reducers import as_message
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


def as_messages(raw: Any, current: Any, new_id: Callable[[], str] | None) -> Any:
    """The message objects for `raw`, which a person wrote to a channel of messages; `new_id` makes missing ids.

    `current` is the value of the channel. The latest message with the same role is the pattern for a new message.
    """
    if (replaced := overwrite(raw)) is not None:
        return {"__overwrite__": as_messages(replaced.value, current, new_id)}
    patterns = [one for one in (current if isinstance(current, list) else []) if isinstance(one, Node)]
    if isinstance(raw, list) and as_message(raw) is None:
        return [_as_message(one, patterns, new_id) for one in raw]
    return [_as_message(raw, patterns, new_id)]


def _as_message(raw: Any, patterns: Iterable[Node], new_id: Callable[[], str] | None) -> Any:
    fields = {"role": "remove", **raw} if _is_removal(raw) else raw
    parsed = as_message(raw)
    if isinstance(raw, Node) and parsed is not None and not parsed.id and new_id is not None:
        opened = Opened(raw.module, raw.name, raw.form, {**raw.state, "id": new_id()})
        return Node(opened) if raw.form in _OBJECTS else raw
    if isinstance(raw, Node) or (parsed is None and not _is_removal(raw)):
        return raw
    role = parsed.role if parsed is not None else "remove"
    own = fields if isinstance(fields, dict) else {"content": parsed.text if parsed else ""}
    pattern = next((one for one in reversed([*patterns]) if (other := message(one)) and other.role == role), None)
    form = next((one.form for one in reversed([*patterns]) if one.form in _OBJECTS), Form.PYDANTIC)
    values = _blank(pattern, role)
    values.update({key: value for key, value in own.items() if key not in ("role", "type")})
    if calls := values.get("tool_calls"):
        values["tool_calls"] = [_as_tool_call(call) for call in calls]
    if not values.get("id") and new_id is not None:
        values["id"] = new_id()
    module, name = (pattern.module, pattern.name) if pattern is not None else _CLASSES[role]
    return Node(Opened(module, name, pattern.form if pattern is not None else form, values))


def _is_removal(raw: Any) -> bool:
    return isinstance(raw, dict) and "remove" in (raw.get("role"), raw.get("type"))


def _blank(pattern: Node | None, role: str) -> dict[str, Any]:
    """The fields of a new message without content: the pattern's fields, or the library's if there is no pattern."""
    whole = {**_COMMON, "type": role, **_FIELDS_OF_ROLE.get(role, {})}
    if pattern is None or pattern.fields is None:
        return whole
    return {key: whole.get(key, _empty_like(value)) for key, value in pattern.fields.items()} | {"id": None}


def _empty_like(value: Any) -> Any:
    return type(value)() if isinstance(value, dict | list | bool) else None


def _as_tool_call(call: Any) -> Any:
    return {"type": "tool_call", **call} if isinstance(call, dict) else call


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
