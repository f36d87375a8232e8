"""Faults of a checkpoint's versions, alone and beside its parent's.

The rules are those of langgraph 1.2 ``pregel/_algo.py: apply_writes``; older releases and LangGraph.js keep them too.
"""

from collections.abc import Iterator

from ckpt_cli.history.integrity.faults import FOREIGN_PARENT, Fault, Kind
from ckpt_cli.history.reducers.verdict import Verdict
from ckpt_cli.history.state.channels import is_control, newer
from ckpt_cli.values.state import State, Version

_GROWING = frozenset({"loop", "input"})
"""The sources of checkpoints that continue their parent. A copy takes the versions of another checkpoint."""


def check_alone(parent: State | None, state: State) -> Iterator[Fault]:
    """The faults that a checkpoint shows by itself; what nodes had seen before is checked at its parent."""
    if state.own_id and state.ref.checkpoint_id and state.own_id != state.ref.checkpoint_id:
        yield Fault(Kind.WRONG_ID, Verdict.DIFFERS, "", "its body has the id of another checkpoint")
    elif parent is not None and parent.own_id and parent.own_id != parent.ref.checkpoint_id:
        yield FOREIGN_PARENT
    if problem := state.problem:
        yield Fault(Kind.UNREADABLE, Verdict.UNKNOWN, "", f"can't be read: {problem}")
    if state.damage:
        return
    known = parent.seen if parent is not None else {}
    for node, seen in state.seen.items():
        for channel, version in seen.items() if seen != known.get(node) else ():
            if channel in state.versions and _is_newer(version, state.versions[channel]):
                why = f"node {node} has seen a version of it that is newer than its own"
                yield Fault(Kind.SEEN_AHEAD, Verdict.DIFFERS, channel, why)


def check_beside(parent: State, state: State) -> Iterator[Fault]:
    """The faults of a checkpoint that continues its parent, as far as they show in the two alone."""
    if state.source not in _GROWING or state.damage or parent.damage:
        return
    if None not in (parent.step, state.step) and (state.step or 0) <= (parent.step or 0):
        yield Fault(Kind.STEP_BACK, Verdict.DIFFERS, "", "its step isn't later than its parent's")
    yield from _versions(parent, state)
    for node, seen in state.seen.items():
        older = parent.seen.get(node, {})
        for channel, version in older.items() if seen != older else ():
            if channel in seen and _is_newer(version, seen[channel]):
                why = f"node {node} had seen a newer version of it one step before"
                yield Fault(Kind.SEEN_BACK, Verdict.DIFFERS, channel, why)
    for channel in state.updated or () if state.source == "loop" else ():
        if channel in state.versions and state.versions[channel] == parent.versions.get(channel):
            why = "updated_channels has it, and its version is still its parent's"
            yield Fault(Kind.UPDATED_CHANNELS, Verdict.DIFFERS, channel, why)


def _versions(parent: State, state: State) -> Iterator[Fault]:
    for channel, version in parent.versions.items():
        own = state.versions.get(channel)
        if own == version:
            continue
        if own is not None:
            if newer(version, own):
                why = "its version is older than its parent's"
                yield Fault(Kind.VERSION_BACK, Verdict.DIFFERS, channel, why)
        elif parent.v == state.v and not is_control(channel, parent):
            why = "its parent has a version of it, and it has none"
            yield Fault(Kind.VERSION_LOST, Verdict.DIFFERS, channel, why)


def _is_newer(version: Version, other: Version) -> bool:
    return version != other and newer(version, other)
