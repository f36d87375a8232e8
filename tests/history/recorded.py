"""Checkpoints and writes made by hand, for tests of the pure logic."""

from collections.abc import Mapping
from typing import Any

from ckpt_cli.model import Payload, Ref, Write
from ckpt_cli.values.node import Form, Node, Opened
from ckpt_cli.values.state import State, TaskWrite, Version


def checkpoint_id(step: int) -> str:
    """An id as langgraph makes them, in the order of steps."""
    return f"1f044c4a-fd{step + 16:02x}-6d40-{0x8000 + (step & 0x3FFF):04x}-4dec1219bbeb"


def state(
    step: int = 1,
    values: Mapping[str, Any] | None = None,
    versions: Mapping[str, Version] | None = None,
    seen: Mapping[str, Mapping[str, Version]] | None = None,
    *,
    v: int = 4,
    ns: str = "",
    source: str = "loop",
    parent: int | None = None,
    sends: list[Any] | None = None,
    **metadata: Any,
) -> State:
    """A checkpoint of a thread; channels that hold a value have version 2 unless `versions` is given."""
    stored = dict(values or {})
    return State(
        ref=Ref("t", ns, checkpoint_id(step)),
        parent_id=None if parent is None else checkpoint_id(parent),
        v=v,
        ts="2025-06-01T00:00:00+00:00",
        values=stored,
        versions=dict.fromkeys(stored, 2) if versions is None else versions,
        seen=seen or {},
        metadata={"source": source, "step": step, **metadata},
        sends=sends or [],
    )


def write(task_id: str, channel: str, value: Any = None, *, idx: int = 0, path: str = "", step: int = 1) -> TaskWrite:
    """One write of a task."""
    row = Write("t", "", checkpoint_id(step), task_id, idx, channel, path, Payload("msgpack", b""))
    return TaskWrite(row, lambda _: value)


def message(text: str, message_id: str | None = None, role: str = "human") -> Node:
    """A message as the serializer records it."""
    name = {"human": "HumanMessage", "ai": "AIMessage", "remove": "RemoveMessage"}[role]
    fields = {"content": text, "id": message_id, "type": role}
    return Node(Opened(f"langchain_core.messages.{role}", name, Form.PYDANTIC, fields))


def sent(node: str, arg: Any = None) -> Node:
    """A Send as the serializer records it."""
    return Node(Opened("langgraph.types", "Send", Form.ARGS, [node, arg]))


def interrupted(value: Any, interrupt_id: str = "i1") -> Node:
    """An interrupt as the serializer records it."""
    return Node(Opened("langgraph.types", "Interrupt", Form.KWARGS, {"value": value, "id": interrupt_id}))


def snapshot_of(value: Any) -> Node:
    """A delta channel's snapshot as the serializer records it."""
    return Node(Opened("langgraph.checkpoint.serde.types", "_DeltaSnapshot", Form.SNAPSHOT, value))
