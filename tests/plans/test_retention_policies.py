"""What the policies of `ckpt prune` keep, by other words: counted along each branch, and by the calendar."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from ckpt_cli.history.lineage import ids
from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.model import CheckpointRow
from ckpt_cli.plans.retention_policies import Policies

START = datetime(2026, 11, 1, 12, tzinfo=UTC)

trees = st.lists(st.tuples(st.integers(1, 3 * 86400), st.integers(0, 5)), min_size=1, max_size=30)
"""For each checkpoint: the seconds since the one before it, and how far back among the older ones its parent is."""


def _made(tree: list[tuple[int, int]]) -> tuple[list[CheckpointRow], list[datetime]]:
    when, rows, times = START, list[CheckpointRow](), list[datetime]()
    for gap, back in tree:
        when += timedelta(seconds=gap)
        parent = rows[max(len(rows) - 1 - back, 0)].checkpoint_id if rows else None
        rows.append(CheckpointRow("t", "", f"{ids.lowest_id(when.timestamp())}-8000-000000000000", parent))
        times.append(when)
    return rows, times


def _kept(policies: Policies, rows: list[CheckpointRow]) -> set[str]:
    return {checkpoint_id for checkpoint_id, _ in policies.select(Lineage(rows), {})}


@given(trees, st.integers(1, 5))
def test_the_last_of_each_branch(tree: list[tuple[int, int]], last: int) -> None:
    """A checkpoint is kept if some checkpoint without children is fewer than N steps after it."""
    rows, _ = _made(tree)
    parents = {row.checkpoint_id: row.parent_id for row in rows}
    expected = set[str]()
    for tip in parents.keys() - {*parents.values()}:
        at: str | None = tip
        for _ in range(last):
            expected |= {at} if at else set()
            at = parents.get(at or "")
    assert _kept(Policies(last=last), rows) == expected


@given(trees, st.integers(1, 5))
def test_the_last_of_each_day(tree: list[tuple[int, int]], daily: int) -> None:
    """Of each of the last N dates with a checkpoint, in UTC, the newest is kept; empty days don't count."""
    rows, times = _made(tree)
    newest = {when.date(): row.checkpoint_id for row, when in zip(rows, times, strict=True)}
    assert _kept(Policies(daily=daily), rows) == {newest[day] for day in sorted(newest)[-daily:]}


@given(trees, st.integers(0, 30))
def test_what_is_not_older(tree: list[tuple[int, int]], at: int) -> None:
    """The time of a checkpoint itself is not older, and all that came later isn't either."""
    rows, times = _made(tree)
    since = times[min(at, len(times) - 1)]
    expected = {row.checkpoint_id for row, when in zip(rows, times, strict=True) if when >= since}
    assert _kept(Policies(since=since.timestamp() - 1e-6), rows) == expected


def test_ids_without_a_time_stay() -> None:
    """What can't be dated is never too old."""
    row = CheckpointRow("t", "", "checkpoint-1", None)
    assert _kept(Policies(since=START.timestamp()), [row]) == _kept(Policies(daily=1), [row]) == {"checkpoint-1"}
