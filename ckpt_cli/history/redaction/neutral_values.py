"""Dates, UUIDs and the like that tell nothing: of the same type, so that they are still decoded."""

from collections.abc import Callable
from typing import Any

from ckpt_cli.history.redaction.erasing import Eraser
from ckpt_cli.values.node import Form, Node, Opened
from ckpt_cli.values.well_known_types import arguments

_TIME = {"hour": 0, "minute": 0, "second": 0, "microsecond": 0, "tzinfo": None, "fold": 0}
_SINGLE: dict[str, str] = {
    "decimal.Decimal": "0",
    "datetime.datetime": "1970-01-01T00:00:00+00:00",
    "zoneinfo.ZoneInfo": "UTC",
    **{f"ipaddress.IPv4{kind}": "0.0.0.0" for kind in ("Address", "Interface", "Network")},  # noqa: S104
    **{f"ipaddress.IPv6{kind}": "::" for kind in ("Address", "Interface", "Network")},
}


def neutral(node: Node, eraser: Eraser, digest: Callable[[str], str]) -> Node | None:
    """The object with contents that tell nothing; None for an object of any other type.

    `digest` gives hexadecimal digits for a text, so that different UUIDs stay different.
    """
    module = node.module.removesuffix("._local") if node.module.startswith("pathlib") else node.module
    kind = f"{module}.{node.name}"
    args, kwargs = arguments(node)
    first = args[0] if args else None
    if kind in _SINGLE:
        return with_arguments(node, [_SINGLE[kind]])
    if kind == "uuid.UUID" and isinstance(first, str):
        return with_arguments(node, [digest(first)[:32]])
    if kind == "datetime.date":
        return with_arguments(node, ["1970-01-01"] if isinstance(first, str) else [1970, 1, 1])
    if kind == "datetime.time":
        return with_arguments(node, ["00:00:00"]) if isinstance(first, str) else _with_state(node, args, kwargs)
    if kind == "datetime.timedelta":
        return with_arguments(node, [0, 0, 0])
    if kind == "datetime.timezone":
        return _zone(node, first, eraser, digest)
    if module == "pathlib":
        return with_arguments(node, [eraser.text(str(part)) for part in args])
    if kind == "re.compile" and args:
        return with_arguments(node, [eraser.text(str(first)), *args[1:]])
    return None


def with_arguments(node: Node, args: list[Any]) -> Node:
    """The object with other positional arguments."""
    state: Any = args
    if node.form in (Form.VALUE, Form.METHOD):
        state = args[0]
    elif node.form is Form.LC2:
        state = {"args": args, "kwargs": {}}
    return Node(Opened(node.module, node.name, node.form, state, node.method))


def _with_state(node: Node, args: Any, kwargs: Any) -> Node:
    if node.form is Form.KWARGS:
        return Node(Opened(node.module, node.name, node.form, {key: _TIME.get(key) for key in kwargs}))
    return with_arguments(node, [0 for _ in args][:4])


def _zone(node: Node, first: Any, eraser: Eraser, digest: Callable[[str], str]) -> Node | None:
    inner = neutral(first, eraser, digest) if isinstance(first, Node) else None
    return None if inner is None else with_arguments(node, [inner])
