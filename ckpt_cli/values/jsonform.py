"""Decoded values as JSON that can be read back (``$type``, ``$bytes`` …), secrets masked (``$masked``).

Nothing is lost. An object is ``{"$type": "package.module.Class", …fields}``. Bytes are ``{"$bytes": base64}``. A dict
with a key that is not text is ``{"$map": [[key, value], …]}``. A float that JSON can't express is ``{"$float":
"nan"}``. A user's own key that begins with ``$`` gets one more ``$``. If class and fields don't show how an object was
recorded, other ``$`` keys do:

- ``$value``: the one argument (UUID, Decimal, set, Enum, datetime), or fields that are no dict
- ``$args``: the positional arguments (date, timedelta, Path, Send)
- ``$method``: the class method that would have built it; left out for ``fromisoformat`` of a datetime
- ``$form``: the `Form`; left out for ``value`` (except of a datetime), ``args``, ``method``, ``array``, and for
  ``pydantic`` of a LangChain class or ``kwargs`` of another one
- ``$module``: the module, if it doesn't end at the last dot of ``$type``
- ``$state``, ``$items``: parts of a pickled object; a state that is a dict of fields needs no ``$state``
- ``$masked``: the value is a mask in place of a secret
- ``$snapshot``, ``$undefined``, ``$opaque``, ``$broken``, ``$tuple`` (as a key): a value of that kind
"""

from binascii import b2a_base64
from math import isfinite
from typing import Any

from ckpt_cli.values.node import Form, Node
from ckpt_cli.values.well_known_types import SECRET, is_secret

ISO_METHOD = "fromisoformat"

FIELDS = frozenset({Form.KWARGS, Form.PYDANTIC, Form.PYDANTIC_V1, Form.LC1})
"""The forms whose state is usually a dict of fields."""

_AMBIGUOUS = frozenset({(Form.VALUE, "datetime.datetime"), (Form.KWARGS, "numpy.ndarray")})
"""Forms and classes that would be read back as another form, so ``$form`` is written."""

_SCALARS = frozenset({str, int, bool, type(None)})


def implied_form(module: str) -> Form:
    """The form of an object with fields and without ``$form``: messages and documents are pydantic, others kwargs."""
    return Form.PYDANTIC if module.startswith(("langchain_core.", "langchain.")) else Form.KWARGS


def to_json(value: Any, reveal: bool = False) -> Any:
    """The JSON form of a value nested at any depth; secrets are masked unless `reveal`."""
    return _Writer(reveal).write(value)


class _Writer:
    """Writes one value as JSON; `_todo` has the parts that are still to be written: container, key and value."""

    def __init__(self, reveal: bool) -> None:
        self._reveal = reveal
        self._todo: list[tuple[Any, Any, Any]] = []

    def write(self, value: Any) -> Any:
        """The JSON form of a whole value."""
        box: list[Any] = [None]
        self._put(box, 0, value)
        while self._todo:
            holder, key, item = self._todo.pop()
            holder[key] = self._container(item)
        return box[0]

    def _put(self, holder: Any, key: Any, value: Any) -> None:
        if type(value) in _SCALARS or (type(value) is float and isfinite(value)):
            holder[key] = value
        else:
            holder[key] = None
            self._todo.append((holder, key, value))

    def _container(self, value: Any) -> Any:
        """The JSON container of a value; its parts are filled in, now or later."""
        if isinstance(value, list):
            return self._list(value)
        if isinstance(value, dict):
            return self._dict(value)
        if isinstance(value, Node):
            return self._node(value)
        if isinstance(value, bytes | bytearray):
            return {"$bytes": b2a_base64(value, newline=False).decode()}
        if isinstance(value, float):
            return {"$float": str(value)}
        if isinstance(value, tuple):
            return {"$tuple": self._list(value)}
        raise TypeError(f"{type(value).__name__} is no decoded value")

    def _list(self, value: list[Any] | tuple[Any, ...]) -> list[Any]:
        container: list[Any] = [None] * len(value)
        for index, item in enumerate(value):
            self._put(container, index, item)
        return container

    def _dict(self, value: dict[Any, Any]) -> dict[str, Any]:
        if all(isinstance(key, str) for key in value):
            return self._fields({}, value)
        return {"$map": [self._list(pair) for pair in value.items()]}

    def _fields(self, container: dict[str, Any], value: dict[str, Any]) -> dict[str, Any]:
        for key, item in value.items():
            self._put(container, f"${key}" if key.startswith("$") else key, item)
        return container

    def _node(self, node: Node) -> dict[str, Any]:
        form, state = node.form, node.state
        if form is Form.BROKEN:
            return _bytes(node, {"$broken": node.problem, **({"$needs_key": True} if node.needs_key else {})})
        if form is Form.OPAQUE:
            return _bytes(node, {"$opaque": node.name})
        if form is Form.UNDEFINED:
            return {"$undefined": True}
        container: dict[str, Any] = {}
        if form is Form.SNAPSHOT:
            self._put(container, "$snapshot", state)
            return container
        _class(node, container)
        if not self._reveal and is_secret(node):
            return {**container, "$value": SECRET, "$masked": True}
        return self._object(node, state, container)

    def _object(self, node: Node, state: Any, container: dict[str, Any]) -> dict[str, Any]:
        form = node.form
        if (form, node.type) in _AMBIGUOUS:
            container["$form"] = str(form)
        if node.method and not (form is Form.METHOD and node.method == ISO_METHOD):
            container["$method"] = node.method
        if form in (Form.VALUE, Form.METHOD):
            if form is Form.METHOD and node.method == ISO_METHOD and node.type != "datetime.datetime":
                container["$method"] = ISO_METHOD
            elif form is Form.VALUE and node.type == "datetime.datetime":
                container["$form"] = "value"
            self._put(container, "$value", state)
        elif form is Form.ARGS:
            self._put(container, "$args", state)
        elif form in FIELDS:
            return self._recorded(node, state, container)
        elif form is Form.LC2:
            container["$form"] = "lc2"
            self._put(container, "$args", state["args"])
            self._fields(container, state["kwargs"])
        elif form is Form.PICKLE:
            return self._pickled(state, container)
        else:
            self._fields(container, state)
        return container

    def _recorded(self, node: Node, state: Any, container: dict[str, Any]) -> dict[str, Any]:
        if node.form is not implied_form(node.module):
            container["$form"] = str(node.form)
        if isinstance(state, dict) and all(isinstance(key, str) for key in state):
            return self._fields(container, state)
        container["$form"] = str(node.form)
        self._put(container, "$value", state)
        return container

    def _pickled(self, state: dict[str, Any], container: dict[str, Any]) -> dict[str, Any]:
        container["$form"] = "pickle"
        for key, item in state.items():
            if key == "state" and isinstance(item, dict) and item and all(isinstance(name, str) for name in item):
                self._fields(container, item)
            else:
                self._put(container, f"${key}", item)
        return container


def _class(node: Node, container: dict[str, Any]) -> None:
    container["$type"] = node.type
    if node.type.rpartition(".")[::2] != (node.module, node.name):
        container["$module"] = node.module


def _bytes(node: Node, container: dict[str, Any]) -> dict[str, Any]:
    if node.encoding and container.get("$opaque") != node.encoding:
        container["$encoding"] = node.encoding
    return {**container, "$bytes": b2a_base64(node.raw or b"", newline=False).decode()}
