"""`Node`: an object of class ``module.name`` as a payload records it; never imported or built.

The class is never even looked up. Decoded state is plain Python data (None, bool, int, float, str, bytes, list, dict)
and nodes. A node keeps the bytes it came from. So an unedited node is stored unchanged, nodes with equal bytes are
equal without being decoded, and a node that is never read is never decoded.
"""

from collections.abc import Callable
from typing import Any

from ckpt_cli.values.forms import Form as Form
from ckpt_cli.values.forms import Opened as Opened
from ckpt_cli.values.recorded_calls import compared
from ckpt_cli.values.same import Comparable, Compared, same

DAMAGED = "<damaged>"
"""The key of the BROKEN node in a dict that can't be read to its end."""


class Node(Comparable):
    """An object that was read, not built.

    `raw` is the object's payload in its original encoding (for msgpack, the bytes inside the ext). `load` decodes the
    payload at the first use. `load` never raises: a payload that cannot be decoded gives a BROKEN node.
    """

    __slots__ = ("_load", "_opened", "encoding", "raw")

    def __init__(
        self,
        opened: Opened | None = None,
        *,
        encoding: str = "",
        raw: bytes | None = None,
        load: Callable[[bytes], Opened] | None = None,
    ) -> None:
        self.encoding = encoding
        self.raw = raw
        self._opened = opened
        self._load = load

    def _open(self) -> Opened:
        if self._opened is None:
            if self._load is None or self.raw is None:
                raise TypeError("a node needs `opened`, or both `raw` and `load`")
            self._opened = self._load(self.raw)
        return self._opened

    @property
    def opened(self) -> bool:
        """Whether the object was decoded already."""
        return self._opened is not None

    @property
    def module(self) -> str:
        """The module that was recorded when the object was written; "" if none was recorded."""
        return self._open().module

    @property
    def name(self) -> str:
        """The class's own name."""
        return self._open().name

    @property
    def type(self) -> str:
        """``module.name`` for display."""
        opened = self._open()
        return f"{opened.module}.{opened.name}" if opened.module else opened.name

    @property
    def form(self) -> Form:
        """How the object was recorded."""
        return self._open().form

    @property
    def state(self) -> Any:
        """The decoded content, in the shape that `form` describes."""
        return self._open().state

    @property
    def method(self) -> str:
        """The class method that would have built the object (METHOD and some LC2), else ``""``."""
        return self._open().method

    @property
    def compared(self) -> Compared:
        """Class and arguments of the call that makes the object, in whichever form; else form, method and state."""
        return compared(self._open())

    @property
    def unordered(self) -> bool:
        """Whether the object is a set, whose order means nothing."""
        return self.type in _SETS

    @property
    def members(self) -> list[Any] | None:
        """The elements of a set, also of one in LangGraph's JSON; None for any other object and unreadable elements."""
        if not self.unordered:
            return None
        content = self.compared.content
        return content[0] if isinstance(content, list) and len(content) == 1 and isinstance(content[0], list) else None

    @property
    def problem(self) -> str:
        """Why the object can't be decoded, and where if only a part is broken (``truncated @ $[2]``); else ""."""
        return self._open().problem

    @property
    def needs_key(self) -> bool:
        """Whether an encryption key is missing or wrong."""
        return self._open().needs_key

    @property
    def fields(self) -> dict[str, Any] | None:
        """The named fields; None for forms without named fields."""
        opened = self._open()
        state = opened.state
        if opened.form is Form.LC2:
            state = None if state.get("args") else state.get("kwargs")
        elif opened.form is Form.PICKLE:
            state = state.get("state")
        elif opened.form not in _FORMS_WITH_FIELDS:
            return None
        return state if isinstance(state, dict) and _TEXT.issuperset(map(type, state)) else None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Node):
            return NotImplemented
        return same(self, other)

    def __hash__(self) -> int:
        return hash(self.compared.identity)

    def __repr__(self) -> str:
        opened = self._open()
        return f"<{self.type} {opened.form} {opened.problem or _sketch(opened.state)}>"


def _sketch(state: Any) -> str:
    """One level of a state in short; the content may be nested at any depth."""
    if isinstance(state, dict):
        return "{" + ", ".join(map(str, state))[:60] + "}"
    if isinstance(state, list | tuple):
        return f"[{len(state)}]"
    return f"<{state.type}>" if isinstance(state, Node) else repr(state)[:60]


_TEXT = frozenset({str})
_SETS = frozenset({"builtins.set", "builtins.frozenset"})
_FORMS_WITH_FIELDS = frozenset({Form.KWARGS, Form.PYDANTIC_V1, Form.PYDANTIC, Form.LC1})


def broken(problem: str, raw: bytes = b"", *, needs_key: bool = False) -> Node:
    """A node for bytes that cannot be decoded, so that everything around them is still shown."""
    return Node(Opened("", "", Form.BROKEN, raw, problem=problem, needs_key=needs_key), raw=raw)


def opaque(tag: str, raw: bytes) -> Node:
    """A node for bytes under an unknown type tag or extension code; the bytes are stored again unchanged."""
    return Node(Opened("", tag, Form.OPAQUE, raw), encoding=tag, raw=raw)
