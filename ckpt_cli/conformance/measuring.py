"""Tests of the methods of `savers.measures.Measurer`: counts and sizes."""

from collections import Counter
from heapq import nlargest
from itertools import product

import pytest

from ckpt_cli.conformance.samples import Make, Samples
from ckpt_cli.model import Payload
from ckpt_cli.savers.measures import Group, Part

EARLY, MIDDLE, LATE = (f"1f1e{n}c6a-fe08-6e8c-8008-4007f39e9abe" for n in (3, 5, 7))
BOUNDS = ["1f1e4", "1f1e6000-0000-6000"]
"""Three ids, and bounds between them."""


class Measuring(Samples):
    """What a saver counts is what is there, and no size is smaller than the values."""

    def test_nothing_is_measured_as_nothing(self, make: Make) -> None:
        """A database without records has no groups and no sizes."""
        saver = make([])
        assert [group for group in saver.groups(BOUNDS) if group.number] == []
        assert list(saver.thread_sizes(BOUNDS[0])) == []
        assert list(saver.heads_by(["user"]) or ()) == []

    def test_records_are_counted_by_period_namespace_channel_and_path(self, make: Make) -> None:
        """Each record is in one group; a namespace is cut at its first colon; odd ids have no period."""
        names = [
            ("a", EARLY, ""),
            ("a", LATE, ""),
            ("b", MIDDLE, ""),
            ("b", MIDDLE, "sub:1-2"),
            ("b", LATE, "sub:3|in:4"),
        ]
        checkpoints = [self.checkpoint(thread, own, ns=ns) for thread, own, ns in names] + [self.checkpoint("c", "1")]
        writes = [
            self.write("a", EARLY, "one", channel="x", path="~__pregel_pull, n"),
            self.write("a", LATE, "one", 1, channel="y"),
            self.write("b", MIDDLE, "two", ns="sub:1-2", channel="x"),
            self.write("c", "1", "one", channel="x"),
        ]
        saver = make([*checkpoints, *writes])
        stored = [write for thread_id in "abc" for write in saver.writes(thread_id)]
        groups = list(saver.groups(BOUNDS))
        assert _counted(groups, Part.CHECKPOINT, "ns") == {"": 4, "sub": 2}
        assert _counted(groups, Part.CHECKPOINT, "period") == {0: 1, 1: 2, 2: 2, None: 1}
        assert _counted(groups, Part.WRITE, "channel") == {"x": 3, "y": 1}
        assert _counted(groups, Part.WRITE, "ns") == {"": 3, "sub": 1}
        assert _counted(groups, Part.WRITE, "period") == {0: 1, 1: 1, 2: 1, None: 1}
        assert _counted(groups, Part.WRITE, "task_path") == Counter(one.task_path for one in stored)

    def test_threads_are_measured_alone(self, make: Make) -> None:
        """What some threads take, whatever their ids, is what all threads take without the others."""
        names = [(i, own) for i in self.odd_ids for own in (EARLY, LATE)]
        saver = make([r for name in names for r in (self.checkpoint(*name), self.write(*name))])
        sizes = {one.thread_id: one for one in saver.thread_sizes(BOUNDS[0])}
        assert {i: (one.checkpoints, one.writes, one.recent) for i, one in sizes.items()} == dict.fromkeys(
            self.odd_ids, (2, 2, 1)
        )
        assert {one.recent for one in saver.thread_sizes(BOUNDS[0], largest=1)} == {1}
        some = self.odd_ids[1:]
        assert {one.thread_id: one for one in saver.thread_sizes(BOUNDS[0], some)} == {i: sizes[i] for i in some}
        groups = list(saver.groups(BOUNDS, some))
        assert sum(one.number for one in groups if one.part is Part.CHECKPOINT) == 2 * len(some)
        assert sum(one.number for one in groups if one.part is Part.WRITE) == 2 * len(some)
        if all(one.bytes is not None for one in groups):
            assert sum(one.bytes or 0 for one in groups) == sum(sizes[i].bytes or 0 for i in some)

    def test_no_size_is_smaller_than_the_values(self, make: Make) -> None:
        """A thread takes at least the bytes of its values, if the engine can tell."""
        large = self.write("large", EARLY, payload=Payload("msgpack", b"long" * 50_000))
        saver = make([self.checkpoint("large", EARLY), self.checkpoint("small", EARLY), large])
        sizes = {one.thread_id: one.bytes for one in saver.thread_sizes(BOUNDS[0])}
        if None in sizes.values():
            pytest.skip("the engine can't tell sizes without reading the values")
        assert (sizes["large"] or 0) > 200_000 > (sizes["small"] or 0) > 0

    def test_all_threads_are_measured_as_some_are(self, make: Make) -> None:
        """The groups of all, and the largest and busiest threads with the figures that they have alone."""
        names = [("a", EARLY), ("a", LATE), ("b", MIDDLE), ("b", LATE), ("c", EARLY), ("d", "1")]
        checkpoints = [self.checkpoint(thread, own) for thread, own in names]
        writes = [self.write("c", EARLY, f"task {n}", channel="x") for n in range(9)]
        saver = make([*checkpoints, *writes, self.write("d", "1", "one", channel="y")])
        measured = [*saver.measure(BOUNDS, MIDDLE, 2)]
        groups = [one for one in measured if isinstance(one, Group)]
        sizes = [one for one in measured if not isinstance(one, Group)]
        known = [*saver.groups(BOUNDS)]
        for part, field in product(Part, ("ns", "channel", "period", "tag", "task_path")):
            assert _counted(groups, part, field) == _counted(known, part, field)
        assert sum(one.bytes or 0 for one in groups) == sum(one.bytes or 0 for one in known)
        by_id = {one.thread_id: one for one in saver.thread_sizes(MIDDLE)}
        assert all(by_id[one.thread_id] == one for one in sizes)
        assert len({one.thread_id for one in sizes}) == len(sizes)
        for number in (lambda one: one.recent, lambda one: one.bytes or 0):
            assert nlargest(2, map(number, sizes)) == nlargest(2, map(number, by_id.values()))

    def test_heads_are_counted_by_a_text_of_their_metadata(self, make: Make) -> None:
        """Older checkpoints don't count; heads without the key, or with null, count as None."""
        if make([]).heads_by(["user"]) is None:
            pytest.skip("the engine has no such query")
        documents = [
            b'{"user": "u-1"}',
            b'{"user": "u-1", "x": 1}',
            '{"user": "ä\\""}'.encode(),
            b"{}",
            b'{"user": null}',
        ]
        heads = [self.checkpoint(f"t{n}", "2", metadata=Payload("json", text)) for n, text in enumerate(documents)]
        older = [self.checkpoint("t0", "1", metadata=Payload("json", b'{"user": "old"}'))]
        saver = make([*older, *heads])
        assert dict(saver.heads_by(["user"]) or ()) == {("u-1",): 2, ('ä"',): 1, (None,): 2}
        both = {("u-1", None): 1, ("u-1", "1"): 1, ('ä"', None): 1, (None, None): 2}
        assert dict(saver.heads_by(["user", "x"]) or ()) == both


def _counted(groups: list[Group], part: Part, field: str) -> Counter[object]:
    counted = Counter[object]()
    for group in groups:
        if group.part is part:
            counted[getattr(group, field)] += group.number
    return counted
