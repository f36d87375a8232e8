"""`compared`: the call that makes an object, whichever form records it.

Equal calls make equal objects. A copy into Redis has a message as LangChain's JSON in its checkpoints, and as msgpack
in its writes; LangGraph makes the same object of both, as it calls the same class (langgraph-checkpoint 4.3,
``serde/jsonplus.py: _revive_lc2, _create_msgpack_ext_hook``; langchain-core 1.1, ``load/load.py: Reviver``).
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from ckpt_cli.values.forms import Form, Opened
from ckpt_cli.values.same import Comparable, Compared

_KINDS = {"AI": "ai", "Chat": "chat", "Function": "function", "Human": "human", "System": "system", "Tool": "tool"}
CLASSES = {
    **{("langchain.schema.messages", f"{kind}Message"): f"langchain_core.messages.{m}" for kind, m in _KINDS.items()},
    **{("langchain.schema.messages", f"{k}MessageChunk"): f"langchain_core.messages.{m}" for k, m in _KINDS.items()},
    ("langchain.schema.messages", "RemoveMessage"): "langchain_core.messages.modifier",
    ("langchain.schema.document", "Document"): "langchain_core.documents.base",
}
"""Where classes are that LangChain's JSON names by old paths (langchain-core 1.1, ``load/mapping.py``)."""

_OWN = frozenset((module, name) for (_, name), module in CLASSES.items())
_MESSAGE: dict[str, Any] = {"additional_kwargs": {}, "response_metadata": {}, "name": None, "id": None}
_AI: dict[str, Any] = {**_MESSAGE, "tool_calls": [], "invalid_tool_calls": [], "usage_metadata": None}
_TOOL: dict[str, Any] = {**_MESSAGE, "artifact": None, "status": "success"}
DEFAULTS: dict[str, dict[str, Any]] = {
    "": _MESSAGE,
    "AIMessage": _AI,
    "AIMessageChunk": {**_AI, "tool_call_chunks": [], "chunk_position": None},
    "ToolMessage": _TOOL,
    "ToolMessageChunk": _TOOL,
    "Document": {"id": None, "metadata": {}},
}
"""What LangChain's classes have without being given it (langchain-core 1.1); its JSON leaves most of it out."""

_FIELDS = frozenset({Form.PYDANTIC, Form.PYDANTIC_V1, Form.LC1, Form.LC2, Form.KWARGS})
_METHODS = frozenset({"", "model_validate_json", "construct"})
"""Methods that LangGraph doesn't call: it calls the class."""


def compared(opened: Opened) -> Compared:
    """Class and arguments of the call that makes the object; class, form, method, problem and state if it isn't one."""
    module, name, form, state, method, problem, _ = opened
    if not problem:
        own = CLASSES.get((module, name), module) if form is Form.LC1 else module
        if (own, name) in _OWN:
            fields = _fields(form, state, method)
            if fields is not None:
                return Compared((own, name), _without_defaults(name, fields))
        elif (call := _call(module, name, form, state, method)) is not None:
            return Compared((module, name), call, form is Form.PICKLE and isinstance(call, list))
    return Compared((module, name, form, method, problem), state)


def _fields(form: Form, state: Any, method: str) -> dict[str, Any] | None:
    """The fields that one of LangChain's classes is called with; None if it isn't called with fields alone."""
    if form not in _FIELDS or method not in _METHODS or (method and form is Form.LC1):
        return None
    if form is Form.LC2:
        state = None if state["args"] else state["kwargs"]
    return state if isinstance(state, dict) else None


def _without_defaults(name: str, fields: dict[str, Any]) -> dict[str, Any]:
    defaults = DEFAULTS.get(name, _MESSAGE)
    return {
        key: value
        for key, value in fields.items()
        if not (key in defaults and type(value) is type(defaults[key]) and value == defaults[key])
    }


def _call(module: str, name: str, form: Form, state: Any, method: str) -> Any:
    """The arguments with which the class is called: a list, a dict, or a pair of both; None if it isn't called."""
    args: Any = ()
    kwargs: Any = {}
    if form is Form.METHOD and (module, name, method) == ("datetime", "datetime", "fromisoformat"):
        return _moment(state)
    if method:
        return None
    if form is Form.PICKLE:
        return _pickled(module, name, state)
    if form is Form.VALUE:
        args = [state]
    elif form is Form.ARGS:
        args = state
    elif form is Form.KWARGS:
        kwargs = state
    elif form is Form.LC2:
        args, kwargs = state["args"], state["kwargs"]
    else:
        return None
    if not isinstance(args, list | tuple) or not isinstance(kwargs, dict):
        return None
    if (module, name) == ("datetime", "datetime") and not kwargs:
        return _date_and_time(args)
    return (list(args), kwargs) if args and kwargs else kwargs or list(args)


def _pickled(module: str, name: str, state: dict[str, Any]) -> Any:
    """The arguments that a pickle records, or the fields with which it fills the object; None if it has both.

    Where one channel can't be stored as msgpack, ``pickle_fallback`` stores the whole checkpoint as a pickle, and the
    writes of other channels as before (langgraph-checkpoint 4.3 ``serde/jsonplus.py: dumps_typed``).
    """
    if state.keys() not in ({"args"}, {"state"}):
        return None
    [(what, content)] = state.items()
    if what == "state" and isinstance(content, dict) and name == "Send" and module.startswith("langgraph."):
        return [value for field, value in content.items() if field != "timeout" or value is not None]
    return content if isinstance(content, dict) and what == "state" else _as_list(content)


def _as_list(content: Any) -> list[Any] | None:
    return list(content) if isinstance(content, list | tuple) else None


def _moment(text: Any) -> list[Any] | None:
    """The arguments of the datetime that a text stands for."""
    try:
        return arguments_of(datetime.fromisoformat(text))
    except (TypeError, ValueError):
        return None


def arguments_of(moment: datetime) -> list[Any]:
    """The arguments with which a datetime is called; of its zone only the offset, as days, seconds, microseconds."""
    offset = moment.utcoffset()
    zone = [] if offset is None else [[offset.days, offset.seconds, offset.microseconds]]
    return [*moment.timetuple()[:6], moment.microsecond, *zone]


def _date_and_time(args: Sequence[Any]) -> list[Any]:
    """The arguments of a datetime; of a zone without a name its offset, which is all that a text has of it."""
    if len(args) != 8 or not isinstance(args[7], Comparable):
        return list(args)
    own, content, _ = args[7].compared
    if own != ("datetime", "timezone") or not isinstance(content, list) or len(content) != 1:
        return list(args)
    kind, offset = content[0].compared[:2] if isinstance(content[0], Comparable) else ((), None)
    try:
        exact = timedelta(*offset) if kind == ("datetime", "timedelta") and isinstance(offset, list) else None
    except (TypeError, OverflowError):
        exact = None
    return list(args) if exact is None else [*args[:7], [exact.days, exact.seconds, exact.microseconds]]
