"""Recognizes messages, interrupts, Sends, Overwrite in values of every release, Python and JS."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ckpt_cli.values.node import Form, Node
from ckpt_cli.values.well_known_types import arguments, is_secret, items, text

__all__ = [
    "Interrupt",
    "Message",
    "Overwrite",
    "Send",
    "interrupts",
    "is_secret",
    "items",
    "js_send",
    "message",
    "messages",
    "overwrite",
    "send",
    "text",
]


REMOVE_ALL = "__remove_all__"
"""The id of the RemoveMessage that removes all before it (``graph/message.py: REMOVE_ALL_MESSAGES``)."""


class Message(NamedTuple):
    """A chat message.

    Attributes:
        role: ``human``, ``ai``, ``tool``, ``system``, ``remove``, ``function``, or the role of a ChatMessage.
        text: the text of its content; each part that is no text is shown as its type in brackets (``[image_url]``).
        tool_calls: for each call, a dict with ``name``, ``args`` and ``id``.
        tool_call_id: the call that a tool message answers.
    """

    role: str
    id: str | None
    text: str
    tool_calls: Sequence[dict[str, Any]] = ()
    tool_call_id: str | None = None
    name: str | None = None


class Interrupt(NamedTuple):
    """A question that the graph asked; the graph waits for the answer.

    Attributes:
        id: None if it isn't stored. Before langgraph 0.6 it can be computed from `ns`, if that is stored.
        ns: the namespaces down to the task (langgraph 0.2.60 to 0.5).
        response_schema: the JSON schema of the answer (langgraph 1.2); None if the graph gave none.
    """

    id: str | None
    value: Any
    ns: list[str] | None = None
    response_schema: Any = None


class Send(NamedTuple):
    """A call of a node with an argument of its own."""

    node: str
    arg: Any


class Overwrite(NamedTuple):
    """A write that replaces the whole value of a channel, without its reducer."""

    value: Any


_ROLES = {
    "human": "human",
    "user": "human",
    "ai": "ai",
    "assistant": "ai",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "function",
    "remove": "remove",
}
_OBJECTS = frozenset({Form.PYDANTIC, Form.PYDANTIC_V1, Form.LC1, Form.PICKLE, Form.LC2})


def message(value: Any) -> Message | None:
    """The chat message in a value: an object of any release, or a dict with ``content`` and ``role`` or ``type``.

    None if the value is no message.
    """
    role_and_fields = message_fields(value)
    if role_and_fields is None:
        return None
    role, fields = role_and_fields
    extra = fields.get("additional_kwargs")
    return Message(
        role,
        _str(fields.get("id")),
        _content(fields.get("content")),
        _calls(fields.get("tool_calls"), extra if isinstance(extra, dict) else {}) or (),
        _str(fields.get("tool_call_id")),
        _str(fields.get("name")),
    )


def removal(one: Message) -> str | None:
    """The words for a message that removes another, or all before it (``REMOVE_ALL_MESSAGES``); None for any other."""
    if one.role != "remove":
        return None
    return "remove all messages" if one.id == REMOVE_ALL else f"remove {one.id or '?'}"


def is_conversation(value: Any) -> bool:
    """Whether `messages` would return a list; this check takes a tenth of the time of `messages`."""
    return isinstance(value, list) and bool(value) and all(message_fields(item) is not None for item in value)


def messages(value: Any) -> list[Message] | None:
    """The elements of a list as messages; None if the list is empty or some element is no message."""
    if not isinstance(value, list) or not value:
        return None
    parsed = []
    for item in value:
        one = message(item)
        if one is None:
            return None
        parsed.append(one)
    return parsed


def messages_of(value: Any, role: str) -> Iterator[Message]:
    """The messages of one role in a list, parsed one by one; none if some element is no message."""
    if not isinstance(value, list):
        return
    roles = []
    for item in value:
        role_and_fields = message_fields(item)
        if role_and_fields is None:
            return
        roles.append(role_and_fields[0])
    yield from (one for item, its in zip(value, roles, strict=True) if its == role and (one := message(item)))


def spelled_out(value: Any) -> list[Any]:
    """The list of messages in a value that was written to a conversation; texts and role-text pairs become dicts.

    langchain-core 1.0 ``messages/utils.py: _convert_to_message``.
    """
    pair = isinstance(value, list | tuple) and len(value) == 2 and isinstance(value[0], str) and value[0] in _ROLES
    return [spelled(item) for item in ([value] if pair or not isinstance(value, list) else value)]


def spelled(item: Any) -> Any:
    """One message of such a list: a text or a pair of role and content becomes a dict, anything else stays."""
    if isinstance(item, str):
        return {"role": "human", "content": item}
    if isinstance(item, list | tuple) and len(item) == 2 and isinstance(item[0], str) and item[0] in _ROLES:
        return {"role": item[0], "content": item[1]}
    return item


def message_fields(value: Any) -> tuple[str, dict[str, Any]] | None:
    """The role and the fields of a chat message, as `message` recognizes it; None if the value is no message."""
    if isinstance(value, dict):
        role = value.get("role", value.get("type"))
        if "content" in value and isinstance(role, str) and role in _ROLES and _is_content(value["content"]):
            return _ROLES[role], value
        return None
    if not isinstance(value, Node) or value.form not in _OBJECTS:
        return None
    fields = value.fields
    if fields is None or not ("content" in fields or value.name == "RemoveMessage"):
        return None
    role = _role(value, fields)
    return (role, fields) if role else None


def _role(node: Node, fields: dict[str, Any]) -> str:
    named = node.name.removesuffix("Chunk").removesuffix("Message").lower()
    kind = fields.get("type")
    kind = kind.removesuffix("Chunk").removesuffix("Message").lower() if isinstance(kind, str) else named
    if kind == "chat" or named == "chat":
        return _str(fields.get("role")) or "chat"
    if named in _ROLES and "messages" in node.module:
        return _ROLES[named]
    return _ROLES.get(kind, "") if node.name.endswith(("Message", "MessageChunk")) else ""


def _is_content(content: Any) -> bool:
    return content is None or isinstance(content, str | list)


def _content(content: Any) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(_part(part) for part in content)


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, dict):
        if isinstance(text := part.get("text"), str):
            return text
        return f"[{part.get('type')}]" if isinstance(part.get("type"), str) else "[…]"
    return "[…]"


def _calls(calls: Any, extra: dict[str, Any]) -> list[dict[str, Any]]:
    if isinstance(calls, list) and calls:
        return [_call(call) for call in calls if isinstance(call, dict)]
    raw = extra.get("tool_calls")
    return [_call(call) for call in raw if isinstance(call, dict)] if isinstance(raw, list) else []


def _call(call: dict[str, Any]) -> dict[str, Any]:
    function = call.get("function")
    if isinstance(function, dict):
        return {"name": function.get("name"), "args": function.get("arguments"), "id": call.get("id")}
    return {"name": call.get("name"), "args": call.get("args"), "id": call.get("id")}


def interrupts(value: Any) -> list[Interrupt]:
    """The interrupts in an ``__interrupt__`` write, which holds one or a list: objects of any release, or JS dicts."""
    parsed = []
    for item in value if isinstance(value, list) else [value]:
        fields = _class_fields(item, "Interrupt")
        if fields is None and isinstance(item, dict) and "value" in item and item.keys() <= _INTERRUPT:
            fields = item
        if fields is not None:
            ns = fields.get("ns")
            all_text = isinstance(ns, list) and all(isinstance(part, str) for part in ns)
            namespaces, schema = ns if all_text else None, fields.get("response_schema")
            parsed.append(Interrupt(_str(fields.get("id")), fields.get("value"), namespaces, schema))
    return parsed


def has_response_schema(item: Any) -> bool:
    """Whether a LangGraph that stores the schema of the answer wrote this interrupt (1.2.22 does, 1.2.10 didn't)."""
    return "response_schema" in (_class_fields(item, "Interrupt") or {})


_INTERRUPT = frozenset({"id", "value", "ns", "when", "resumable", "response_schema", "interrupt_id"})


def send(value: Any) -> Send | None:
    """The Send in a value; None if the value is no Send. JavaScript's Sends are plain dicts: see `js_send`."""
    fields = _class_fields(value, "Send")
    if fields is not None:
        node, arg = fields.get("node"), fields.get("arg")
    elif isinstance(value, Node) and value.name == "Send" and value.form is Form.ARGS and len(value.state) > 1:
        node, arg = value.state[:2]
    else:
        return None
    return Send(node, arg) if isinstance(node, str) else None


def js_send(value: Any) -> Send | None:
    """The Send in a value, also as LangGraph.js stores it: ``{"node", "args"}``.

    A user's dict may look the same, so call this only where Sends are stored.
    """
    if isinstance(value, dict) and isinstance(value.get("node"), str) and "args" in value:
        return Send(value["node"], value["args"])
    return send(value)


def overwrite(value: Any) -> Overwrite | None:
    """The ``Overwrite`` in a value (an object, or a dict in one of two forms); None if the value is none.

    langgraph 1.2 ``channels/binop.py: _get_overwrite``; the second form is an ``Overwrite`` that went through JSON.
    """
    if isinstance(value, dict):
        if value.keys() == {"__overwrite__"}:
            return Overwrite(value["__overwrite__"])
        return Overwrite(value["value"]) if value.get("type") == "__overwrite__" and "value" in value else None
    if not isinstance(value, Node):
        return None
    fields = _class_fields(value, "Overwrite")
    return Overwrite(fields["value"]) if fields is not None and "value" in fields else None


def _class_fields(value: Any, name: str) -> dict[str, Any] | None:
    if isinstance(value, Node) and value.name == name and value.module.startswith("langgraph"):
        return value.fields or arguments(value)[1] or None
    return None


def _str(value: Any) -> str | None:
    return value if isinstance(value, str) else None
