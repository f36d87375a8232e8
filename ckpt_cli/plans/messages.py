"""Messages that a person writes as JSON, in the shape that the thread's own have."""

from collections.abc import Callable, Iterable
from typing import Any

from ckpt_cli.history.reducers.reducers import as_message
from ckpt_cli.values.known import message, overwrite
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
_OWN: dict[str, dict[str, Any]] = {
    "ai": {"tool_calls": [], "invalid_tool_calls": [], "usage_metadata": None},
    "tool": {"tool_call_id": None, "artifact": None, "status": "success"},
}
_OBJECTS = frozenset({Form.PYDANTIC, Form.PYDANTIC_V1, Form.LC1})


def as_messages(given: Any, kept: Any, new_id: Callable[[], str] | None) -> Any:
    """What a person wrote to a channel of messages as message objects; `new_id` names those that have no id.

    `kept` is what the channel holds: the latest message of a kind is the pattern for a new one.
    """
    if (replaced := overwrite(given)) is not None:
        return {"__overwrite__": as_messages(replaced.value, kept, new_id)}
    patterns = [one for one in (kept if isinstance(kept, list) else []) if isinstance(one, Node)]
    if isinstance(given, list) and as_message(given) is None:
        return [_shaped(one, patterns, new_id) for one in given]
    return [_shaped(given, patterns, new_id)]


def _shaped(given: Any, patterns: Iterable[Node], new_id: Callable[[], str] | None) -> Any:
    fields = {"role": "remove", **given} if _is_removal(given) else given
    told = as_message(given)
    if isinstance(given, Node) and told is not None and not told.id and new_id is not None:
        opened = Opened(given.module, given.name, given.form, {**given.state, "id": new_id()})
        return Node(opened) if given.form in _OBJECTS else given
    if isinstance(given, Node) or (told is None and not _is_removal(given)):
        return given
    role = told.role if told is not None else "remove"
    own = fields if isinstance(fields, dict) else {"content": told.text if told else ""}
    pattern = next((one for one in reversed([*patterns]) if (said := message(one)) and said.role == role), None)
    form = next((one.form for one in reversed([*patterns]) if one.form in _OBJECTS), Form.PYDANTIC)
    made = _blank(pattern, role)
    made.update({key: value for key, value in own.items() if key not in ("role", "type")})
    if calls := made.get("tool_calls"):
        made["tool_calls"] = [_call(call) for call in calls]
    if not made.get("id") and new_id is not None:
        made["id"] = new_id()
    module, name = (pattern.module, pattern.name) if pattern is not None else _CLASSES[role]
    return Node(Opened(module, name, pattern.form if pattern is not None else form, made))


def _is_removal(given: Any) -> bool:
    return isinstance(given, dict) and "remove" in (given.get("role"), given.get("type"))


def _blank(pattern: Node | None, role: str) -> dict[str, Any]:
    """The fields of a new message: those of the pattern, emptied."""
    whole = {**_COMMON, "type": role, **_OWN.get(role, {})}
    if pattern is None or pattern.fields is None:
        return whole
    return {key: whole.get(key, _emptied(value)) for key, value in pattern.fields.items()} | {"id": None}


def _emptied(value: Any) -> Any:
    return type(value)() if isinstance(value, dict | list | bool) else None


def _call(call: Any) -> Any:
    return {"type": "tool_call", **call} if isinstance(call, dict) else call
