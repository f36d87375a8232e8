"""How an object was recorded: its class, its form, and what the form holds of it."""

from enum import StrEnum
from typing import Any, NamedTuple


class Form(StrEnum):
    """How an object was recorded, and so what `Node.state` holds."""

    VALUE = "value"
    """``cls(state)``: UUID, Decimal, set, Enum, … (msgpack ext 0)."""
    ARGS = "args"
    """``cls(*state)``: date, timedelta, Path, Send (ext 1)."""
    KWARGS = "kwargs"
    """``cls(**state)``: dataclass, namedtuple, time, Interrupt (ext 2)."""
    METHOD = "method"
    """``cls.method(state)``: ``datetime.fromisoformat`` (ext 3)."""
    PYDANTIC_V1 = "pydantic_v1"
    """A dict of fields (ext 4)."""
    PYDANTIC = "pydantic"
    """A dict of fields; all messages have this form (ext 5)."""
    ARRAY = "array"
    """``{"dtype", "shape", "order", "data"}`` of a numpy array (ext 6)."""
    SNAPSHOT = "snapshot"
    """The value of a DeltaChannel at this checkpoint (ext 7, ``{"lc": 2, "type": "delta_snapshot"}``)."""
    LC1 = "lc1"
    """A dict of fields: LangChain's own JSON, ``{"lc": 1, "type": "constructor"}`` and its kin."""
    LC2 = "lc2"
    """``{"args": [...], "kwargs": {...}}``: LangGraph's JSON, ``{"lc": 2, "type": "constructor"}``."""
    UNDEFINED = "undefined"
    """JavaScript's undefined; state None."""
    PICKLE = "pickle"
    """``{"args": …, "state": …, "items": …}``, from which a pickle would have built the object."""
    OPAQUE = "opaque"
    """Bytes under a tag or an extension code that ckpt doesn't know."""
    BROKEN = "broken"
    """Bytes that cannot be decoded; `Node.problem` says why and where."""


class Opened(NamedTuple):
    """A decoded node: class, form, state, and for METHOD the method's name."""

    module: str
    name: str
    form: Form
    state: Any
    method: str = ""
    problem: str = ""
    needs_key: bool = False
