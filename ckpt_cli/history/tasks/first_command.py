"""What a ``Command`` that begins a thread writes before the first checkpoint.

LangGraph applies it before it stores anything, and stores its writes on a checkpoint that it never stores (1.2
``pregel/_loop.py: _first``). The first checkpoint has the Command itself as its input.
"""

from collections.abc import Iterator
from typing import Any

from ckpt_cli.history.state.channels import START
from ckpt_cli.values.node import Node
from ckpt_cli.values.parts import fields
from ckpt_cli.values.state import State


def first_writes(state: State) -> Iterator[tuple[str, Any]]:
    """Channel and value of each write of a first checkpoint's Command; nothing for other checkpoints."""
    given = state.values.get(START)
    if state.parent_id is not None or state.source != "input" or not isinstance(given, Node):
        return
    if given.type != "langgraph.types.Command":
        return
    update = (given.fields or {}).get("update")
    pairs = update if isinstance(update, list) else fields(update).items()
    yield from ((pair[0], pair[1]) for pair in pairs if len(pair) == 2 and isinstance(pair[0], str))
