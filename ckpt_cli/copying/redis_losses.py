"""What Redis' own saver would read as something else: its JSON has the type of few objects.

checkpoint-redis 0.5.2, ``jsonplus_redis.py: _revive_if_needed``: it makes dataclasses, its own markers, and what the
serializer makes of such an envelope (langgraph-checkpoint 4.3, ``serde/jsonplus.py: _reviver``), which are classes that
are listed there. Any other object is read as the dict that stands for it.
"""

from typing import Any

from ckpt_cli.values.node import Form, Node

_KEPT = frozenset({Form.LC1, Form.LC2, Form.SNAPSHOT, Form.UNDEFINED, Form.KWARGS})
"""Forms that were JSON of this kind before, markers, and dataclasses."""
_CALLED = frozenset({Form.VALUE, Form.ARGS, Form.PYDANTIC, Form.PYDANTIC_V1})
_MARKERS = ("__interrupt__", "__send__", "__delta_snapshot__")
_MESSAGES = "langchain_core.messages."
_IPS = ("Address", "Interface", "Network")
_LISTED = {
    *(f"datetime.{name}" for name in ("date", "time", "timedelta", "timezone")),
    *("uuid.UUID", "decimal.Decimal", "builtins.set", "builtins.frozenset", "collections.deque"),
    *(f"ipaddress.IPv{number}{kind}" for number in "46" for kind in _IPS),
    *(f"{module}.{k}" for module in ("pathlib", "pathlib._local") for k in ("Path", "PosixPath", "WindowsPath")),
    *("zoneinfo.ZoneInfo", "re.compile", "langchain_core.documents.base.Document"),
    *(f"langgraph.types.{name}" for name in ("Send", "Interrupt", "Command", "Overwrite", "TimeoutPolicy")),
}
"""langgraph-checkpoint 4.3, ``serde/_msgpack.py: SAFE_MSGPACK_TYPES``."""


def find_loss(value: Any) -> str:
    """What of a value Redis' saver would read as something else, in words; "" if it reads all as it is."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            if not all(isinstance(key, str) for key in one):
                return "a dict with keys that are no texts"
            if "lc" in one or one.keys() == {"__bytes__"} or any(one.get(name) is True for name in _MARKERS):
                return "a dict that looks like one of the saver's own objects"
            left += one.values()
        elif isinstance(one, list):
            left += one
        elif isinstance(one, Node):
            if not _is_kept(one):
                return f"a {one.type}"
            left.append(one.state)
    return ""


def _is_kept(node: Node) -> bool:
    if node.form is Form.METHOD:
        return (node.type, node.method) == ("datetime.datetime", "fromisoformat")
    if node.form in _CALLED:
        return not node.method and (node.type in _LISTED or node.type.startswith(_MESSAGES))
    return node.form in _KEPT
