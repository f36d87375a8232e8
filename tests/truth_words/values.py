"""Values of the library and of ckpt in one form in which they can be compared."""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import StateSnapshot
from pydantic import BaseModel

from ckpt_cli.values.langgraph_values import items
from ckpt_cli.values.node import Node

Values = Mapping[str, Any]

EMPTY: tuple[Any, ...] = (None, [], 0, "", {})
"""What a channel with a reducer gives before it was ever written; the checkpoint has nothing there."""


def known(value: Any) -> Any:
    """A value of the library, as far as two sides are compared: of a message, its class, id and text."""
    if isinstance(value, BaseMessage):
        return [type(value).__name__, value.id, value.content]
    if isinstance(value, BaseModel):
        return {name: known(getattr(value, name)) for name in type(value).model_fields}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: known(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {key: known(item) for key, item in value.items()}
    if isinstance(value, set):
        return sorted(map(known, value))
    return [known(item) for item in value] if isinstance(value, list | tuple) else value


def ours(value: Any) -> Any:
    """The same of a value that ckpt decoded."""
    if isinstance(value, Node):
        found = value.fields
        if found is not None:
            return [value.name, found.get("id"), found.get("content")] if "content" in found else ours(dict(found))
        members = items(value)
        return sorted(map(ours, members)) if members is not None else value
    if isinstance(value, dict):
        return {key: ours(item) for key, item in value.items()}
    return [ours(item) for item in value] if isinstance(value, list | tuple) else value


def values_of(app: Any, snapshot: StateSnapshot) -> Values:
    """Channel to value; of an entrypoint the library gives only what it returned."""
    found = known(snapshot.values)
    return found if isinstance(app, CompiledStateGraph) else {} if found is None else {"__end__": found}


def differ(one: Any, other: Any) -> bool:
    """Whether two values differ, a number also by its type: 2 isn't 2.0, and 0 isn't False."""
    first, second = (json.dumps(value, sort_keys=True, default=repr) for value in (one, other))
    return first != second


def is_empty(value: Any) -> bool:
    """Whether a channel holds nothing, or what it begins with."""
    return value in EMPTY
