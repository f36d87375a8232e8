"""What a ``Command`` that a run got as its input wrote, where `write_attribution` doesn't know.

A run applies it before its step, and stores its writes on the checkpoint from which it runs; a run that begins a thread
stores them on a checkpoint that it never stores, and the first one has the Command itself as its input (langgraph 1.2
``pregel/_loop.py: _first``).
"""

from collections.abc import Iterator, Sequence
from typing import Any

from ckpt_cli.history.state.channels import START, is_control
from ckpt_cli.history.tasks.write_makers import is_command
from ckpt_cli.values.node import Node
from ckpt_cli.values.parts import fields
from ckpt_cli.values.state import State, TaskWrite

_RUNS = frozenset({"loop", "input"})


def first_writes(state: State) -> Iterator[tuple[str, Any]]:
    """Channel and value of each write of a first checkpoint's Command; nothing for other checkpoints."""
    given = state.values.get(START)
    if state.parent_id is not None or state.source != "input" or not isinstance(given, Node):
        return
    if given.type != "langgraph.types.Command":
        return
    update = (given.fields or {}).get("update")
    pairs = update if isinstance(update, list) else [*fields(update).items()]
    if all(isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str) for pair in pairs):
        yield from ((channel, value) for channel, value in pairs)


def with_command(
    state: State, parent: State | None, step_writes: Sequence[TaskWrite] | None, stored: Sequence[TaskWrite]
) -> Sequence[TaskWrite] | None:
    """The writes with those of a ``Command`` that are stored on the parent, where only they explain new versions.

    Each run from a checkpoint applies what a Command has left there; which runs came before it isn't recorded.
    """
    credited = step_writes or ()
    if parent is None or state.source not in _RUNS or not any(map(is_command, stored)):
        return step_writes
    commands = [write for write in stored if is_command(write) and not is_control(write.channel, state)]
    if not commands or any(map(is_command, credited)):
        return step_writes
    channels, own = {write.channel for write in commands}, {write.channel for write in credited}
    is_applied = all(state.versions.get(c) != parent.versions.get(c) for c in channels) and not channels <= own
    return [*commands, *credited] if is_applied else step_writes
