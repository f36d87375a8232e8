"""The Sends in a checkpoint, which start tasks of the next step."""

from collections.abc import Iterator
from typing import Any

from ckpt_cli.history.state.channels import TASKS
from ckpt_cli.values.langgraph_values import Send, items, js_send
from ckpt_cli.values.state import State


def indexed_sends(state: State) -> Iterator[tuple[int, Send]]:
    """The Sends in a checkpoint that can be read, each with its index."""
    for index, packet in enumerate(stored_sends(state)):
        send = js_send(packet)
        if send is not None:
            yield index, send


def stored_sends(state: State) -> list[Any]:
    """The Sends in a checkpoint, as they are stored."""
    stored = items(state.values.get(TASKS)) or []
    if len(stored) == 2 and all(isinstance(p, list) for p in stored):  # LangGraph.js up to 1.0: [seen, sends]
        stored = stored[1]
    return [*state.sends, *stored]
