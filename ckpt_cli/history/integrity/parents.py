"""Checkpoints whose versions show that they continue another one than their stored parent.

A Python saver's version is a number and a random one, as ``00000011.0.6244443362514417`` (checkpoint-sqlite 3.1 and
checkpoint-postgres 3.2: ``get_next_version``), so whoever has a version has it from the step that made it.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ckpt_cli.history.integrity.faults import Fault, Kind
from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.reducers.verdict import Verdict
from ckpt_cli.history.state.channels import is_control
from ckpt_cli.history.state.delta_counters import counters
from ckpt_cli.values.state import State, Version

_CONTINUING = frozenset({"loop", "input", "update"})
_DIGITS = 8  # of a random part, at least

Counter = tuple[str, tuple[int, int]]
"""A delta channel, with the updates and steps since its last stored value."""


class _Made(NamedTuple):
    """A checkpoint that made a version, with its counters of delta channels."""

    checkpoint_id: str
    step: int | None
    counters: frozenset[Counter]


class MadeVersions:
    """Finds checkpoints of a namespace that have versions of a step which isn't on their line.

    The step is stored, and its own parent is the step before it, which lacks the version: so it made the version. A
    checkpoint that a run makes with the same random numbers has no later version of its own.
    """

    def __init__(self, lineage: Lineage) -> None:
        self._lineage = lineage
        self._made: dict[int, _Made] | None = {} if len(lineage.branches) > 1 else None

    def add(self, parent: State | None, state: State) -> Iterator[Fault]:
        """Add a checkpoint; gives its fault, if its parent isn't the checkpoint that it continues."""
        made, own_id = self._made, state.ref.checkpoint_id
        if made is None or parent is None or state.damage or parent.damage or state.source not in _CONTINUING:
            return
        new = _made_after(parent, state)
        maker, channels = self._maker(new, state)
        if maker is not None and not self._is_made_beside(maker, state):
            yield Fault(Kind.WRONG_PARENT, Verdict.DIFFERS, "", _words(parent, maker, state, channels))
        elif parent.step is not None and state.step == parent.step + 1:
            here = _Made(own_id, state.step, counted(state))
            for key in new.items():
                made.setdefault(hash(key), here)

    def _maker(self, new: Mapping[str, str], state: State) -> tuple[_Made | None, list[str]]:
        """The step before that made some of these versions and isn't on the checkpoint's line; with their channels.

        An older step may be known to it by a copy that was pruned: that lies between the two.
        """
        last = max(map(_number, new.values()), default=0)
        makers: dict[_Made, list[str]] = {}
        for channel, version in new.items():
            maker = (self._made or {}).get(hash((channel, version)))
            if maker is not None and maker.step == (state.step or 0) - 1 and _number(version) < last:
                makers.setdefault(maker, []).append(channel)
        line = set(self._lineage.line(state.ref.checkpoint_id)) if makers else set()
        return next(
            ((maker, channels) for maker, channels in makers.items() if maker.checkpoint_id not in line), (None, [])
        )

    def _is_made_beside(self, maker: _Made, state: State) -> bool:
        """Whether it is ckpt's own edit of this checkpoint; an edit of which the parent was changed isn't one."""
        parent = self._lineage.parent
        is_sibling = parent(maker.checkpoint_id) == parent(state.ref.checkpoint_id)
        return is_sibling and is_made_beside(state, maker.step, maker.counters)


def counted(state: State) -> frozenset[Counter]:
    """The counters of delta channels that a checkpoint stores."""
    return frozenset(counters(state.metadata).items())


def is_made_beside(state: State, step: int | None, others: frozenset[Counter]) -> bool:
    """Whether ckpt made it of a sibling that has this step and these counters.

    An edit has its sibling's parent where nothing proves a delta channel (`plans.delta_snapshots`), and the sibling's
    counters, except those of channels that it edits. In a child, the steps of each counter are one more (langgraph 1.2
    ``pregel/_checkpoint.py: create_metadata_for_update_state_api``), or the counter is gone.
    """
    if state.source != "update" or state.step is None or step != state.step - 1:
        return False
    own = counted(state)
    return bool(own) and own <= others


def _made_after(parent: State, state: State) -> dict[str, str]:
    """Channel to version: those with a random part that the parent doesn't have."""
    versions = ((c, _random(version)) for c, version in state.versions.items() if version != parent.versions.get(c))
    return {channel: version for channel, version in versions if version}


def _words(parent: State, maker: _Made, state: State, channels: list[str]) -> str:
    own = [channel for channel in channels if not is_control(channel, state)] or channels
    names = ", ".join(own[:3]) + (" …" if len(own) > 3 else "")
    return (
        f"its parent is step {parent.step}, and it continues another branch: it has versions ({names}) that step "
        f"{maker.step} ({maker.checkpoint_id}) made there"
    )


def _random(version: Version) -> str:
    """The version, if it has a random part; else ""."""
    is_long = isinstance(version, str) and len(version.partition(".")[2]) >= _DIGITS
    return str(version) if is_long and version[:1].isdigit() else ""  # type: ignore[index]


def _number(version: str) -> int:
    number = version.partition(".")[0]
    return int(number) if number.isdigit() else 0
