"""The role and fields that langchain-core makes of a message typed as JSON, else why it refuses it.

langchain-core 1.8 ``messages/utils.py: _convert_to_message``, ``messages/ai.py``, ``messages/tool.py``.
"""

import json
from collections.abc import Mapping
from typing import Any

from ckpt_cli.errors import UsageError
from ckpt_cli.values.langgraph_values import message_fields, spelled

_CALL = (
    'a call is {"name": NAME, "args": OBJECT, "id": ID}, '
    'or OpenAI\'s {"id": ID, "function": {"name": NAME, "arguments": JSON}}'
)
_RESULT = 'a result is {"role": "tool", "content": TEXT, "tool_call_id": ID}, with the id of the call that it answers'


def read_message(raw: Any) -> tuple[str, dict[str, Any]] | None:
    """The role and the fields of the message that langchain-core makes of a text, a pair or an object.

    None if it is none of these. Without a field, its default counts.

    Raises:
        UsageError: langchain-core raises an error for it.
    """
    if not isinstance(given := spelled(raw), dict):
        return None
    role_and_fields = ("remove", given) if is_removal(given) else message_fields(given)
    if role_and_fields is None:
        return None
    role = role_and_fields[0]
    values, others = _sorted_out(given)
    if role == "tool":
        values |= {key: value for key in ("artifact", "status") if (value := others.pop(key, None)) is not None}
    elif role in ("human", "ai") and (example := others.pop("example", False)):
        values["example"] = example
    if given.get("role", given.get("type")) == "developer":
        others["__openai_role__"] = "developer"
    if role == "remove":
        values["content"] = ""
    if others:
        values["additional_kwargs"] = others
    _must_be_taken(role, values)
    return role, values


def is_removal(raw: Any) -> bool:
    """Whether an object removes a message; it needs no content."""
    return isinstance(raw, dict) and raw.get("role", raw.get("type")) == "remove"


def _sorted_out(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields that each message has, and all other keys, which become ``additional_kwargs``."""
    others = {key: value for key, value in given.items() if key != ("role" if "role" in given else "type")}
    values = {"content": others.pop("content", None) or ""}
    for key in ("name", "id", "tool_call_id"):
        if (value := others.pop(key, None)) is not None:
            values[key] = _as_text(value) if key != "name" else value
    if (calls := others.pop("tool_calls", None)) is not None:
        if not isinstance(calls, list):
            raise UsageError("the tool_calls of a message are no list", hint=_CALL)
        values["tool_calls"] = [_read_call(call) for call in calls]
    if metadata := others.pop("response_metadata", None):
        values["response_metadata"] = metadata
    own = others.pop("additional_kwargs", {})
    for key, value in (("additional_kwargs", own), ("response_metadata", metadata or {})):
        if not isinstance(value, dict):
            raise UsageError(f"the {key} of a message are no object")
    return values, {**others, **own}


def _as_text(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _read_call(call: Any) -> dict[str, Any]:
    """A tool call as LangChain stores it, given so or in OpenAI's form."""
    keys = (
        {key: value for key, value in call.items() if key not in ("type", "extras")} if isinstance(call, dict) else {}
    )
    if isinstance(function := keys.get("function"), dict):
        own = {"name": function.get("name"), "args": _read_arguments(function.get("arguments"))}
        keys = own | {key: value for key, value in keys.items() if key == "id"}
    name, args, call_id = keys.get("name"), keys.get("args"), keys.get("id")
    are_typed = isinstance(name, str) and isinstance(args, dict) and isinstance(call_id, str | None)
    if keys.keys() != {"name", "args", "id"} or not are_typed:
        raise UsageError("a message has a tool call that langchain-core doesn't take", hint=_CALL)
    return {"name": name, "args": args, "id": call_id, "type": "tool_call"}


def _read_arguments(arguments: Any) -> Any:
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments, strict=False)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the arguments of a message's tool call are no JSON: {error}", hint=_CALL) from error


def _must_be_taken(role: str, values: Mapping[str, Any]) -> None:
    """Refuse a message without a field that its class needs, or with a field of another type."""
    content = values["content"]
    if isinstance(content, list) and not all(isinstance(part, str | dict) for part in content):
        raise UsageError("the content of a message is a text, or a list of texts and objects")
    for key in ("id", "name", "tool_call_id"):
        if not isinstance(values.get(key, ""), str):
            raise UsageError(f"the {key} of a message is a text")
    if role == "tool" and "tool_call_id" not in values:
        raise UsageError("a message of role 'tool' needs tool_call_id", hint=_RESULT)
    if role == "tool" and values.get("status", "success") not in ("success", "error"):
        raise UsageError("the status of a message of role 'tool' is success or error")
    if role == "function" and "name" not in values:
        raise UsageError("a message of role 'function' needs name, that of the function")
    if role == "remove" and not values.get("id"):
        raise UsageError("a message of role 'remove' needs id, that of the message to remove")
