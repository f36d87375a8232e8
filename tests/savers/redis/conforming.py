"""Conformance of databases whose rows are keys."""

from collections.abc import Callable, Iterable, Iterator
from typing import ClassVar

import pytest

from ckpt_cli.conformance import Conformance, Make, everything
from ckpt_cli.model import Checkpoint, Payload, Plan, Ref, Write, WriteKey
from ckpt_cli.savers import redis, valkey
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.prefetch import PrefetchingSaver
from tests.savers.redis.kinds import PathlessSamples
from tests.savers.redis.records import RedisSamples


class OnKeys(Conformance):
    """Empty databases at the URL of the fixture `url`."""

    open_url: ClassVar[Callable[[str], Saver]]

    def opened(self, saver: Saver) -> Saver:
        """The saver that the tests read through, once the database is filled."""
        return saver

    @pytest.fixture
    def make(self, url: str) -> Iterator[Make]:
        """The same database each time, emptied."""
        opened: list[Saver] = []

        def make(records: Iterable[Checkpoint | Write]) -> Saver:
            saver = type(self).open_url(url)
            opened.append(saver)
            saver.apply(Plan("given", tuple(records)))
            opened.append(self.opened(saver))
            return opened[-1]

        yield make
        for saver in opened:
            saver.close()


class Prefetching(OnKeys):
    """The same with prefetch, as commands read."""

    def opened(self, saver: Saver) -> Saver:
        """The saver with a hint about all threads."""
        ahead = PrefetchingSaver(saver)
        ahead.expect_whole([thread.thread_id for thread in saver.threads()])
        return ahead


class OnRedis(RedisSamples, OnKeys):
    """Redis."""

    open_url = redis.open_url


class OnValkey(PathlessSamples, OnKeys):
    """Valkey, where the writes of a checkpoint are one key."""

    open_url = valkey.open_url

    def test_writes_in_canonical_order(self, make: Make) -> None:
        """Writes are sorted by checkpoint, and stay in the order in which they were put, as in LangGraph's saver."""
        order = [("0", "z", 0), ("1", "c", 0), ("1", "b", 1), ("1", "b", 2), ("1", "b", 10), ("1", "b", -3)]
        records = [self.write("t", i, task, idx) for i, task, idx in order]
        saver = make([*records, self.checkpoint("t", "0"), self.checkpoint("t", "1")])
        assert [(w.checkpoint_id, w.task_id, w.idx) for w in saver.writes("t")] == order

    def test_rows_of_a_plan(self, make: Make) -> None:
        """The writes of a checkpoint are one key; the saver says which of them a change adds."""
        saver = make([self.checkpoint("t", "1"), self.write("t", "1"), self.checkpoint("t", "2")])
        before, changed = everything(saver), self.checkpoint("t", "2", payload=Payload("bytes", b"other"))
        plan = Plan("", (self.write("t", "2"), self.write("t", "1", "new")), (changed,), (Ref("t", "", "1"),))
        rows = saver.moment(lambda: list(saver.expand(plan)))
        assert everything(saver) == before
        named = {saver.record_of(row.relation, row.key): (row.before is None, row.after is None) for row in rows}
        assert {Ref("t", "", "1"): (False, True), Ref("t", "", "2"): (False, False)}.items() <= named.items()
        added = [name for row in rows for name in saver.added(row)]
        assert added == [WriteKey(Ref("t", "", "1"), "new", 0), WriteKey(Ref("t", "", "2"), "task", 0)]
        saver.apply(plan)
        assert saver.currents([(row.relation, row.key) for row in rows]) == [row.after for row in rows]
        saver.transaction(lambda: saver.change(row.inverse for row in reversed(rows)))
        assert everything(saver) == before
