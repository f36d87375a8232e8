"""An input beside the writes that LangGraph made of it: the same checkpoint has both.

A StateGraph's ``__start__`` task writes each key of the input to its channel as it is (langgraph 1.2 ``graph/state.py:
attach_node``). An input that isn't a dict, as a Pydantic model, proves nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ckpt_cli.history.integrity.faults import Fault, Kind
from ckpt_cli.history.reducers.agreement import agree
from ckpt_cli.history.reducers.channel_facts import unreadable
from ckpt_cli.history.reducers.verdict import Verdict
from ckpt_cli.history.state.channels import CONTROL_WRITES, START, is_control
from ckpt_cli.history.tasks.task_ids import pulled
from ckpt_cli.values.state import State, TaskWrite

_WHY = "the checkpoint's input isn't what its task wrote to the channel; a run from here takes in the checkpoint's"


def check_input(state: State, credited: Sequence[TaskWrite] | None) -> Iterator[Fault]:
    """The faults of a checkpoint that has an input, and the writes that were made of it."""
    for channel in unlike_writes(state, credited or ()):
        yield Fault(Kind.INPUT, Verdict.SUSPECT, channel, _WHY)


def unlike_writes(state: State, writes: Iterable[TaskWrite]) -> dict[str, list[Any]]:
    """Channel to what the ``__start__`` task wrote to it, where the stored input has something else, or nothing."""
    given = state.values.get(START)
    if state.source != "input" or not isinstance(given, dict) or state.damage:
        return {}
    written: dict[str, list[Any]] = {}
    for write in writes:
        is_own = pulled(write.row.task_path) == START and write.read
        if is_own and write.channel not in CONTROL_WRITES and not is_control(write.channel, state):
            written.setdefault(write.channel, []).append(write.value)
    return {channel: values for channel, values in written.items() if not _is_given(values, given.get(channel))}


def _is_given(values: list[Any], given: Any) -> bool:
    """Whether the only write is what was given; one of the two may be stored before its messages got ids."""
    if len(values) != 1 or unreadable(values[0]) or unreadable(given):
        return True
    [one] = values
    return any(agree(a, b) or agree([a], [b]) for a, b in ((one, given), (given, one)))
