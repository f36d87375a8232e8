"""Valkey is held to what every saver is held to, but for the task's path, which it has no place for."""

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from ckpt_cli.conformance import Conformance, Make, everything
from ckpt_cli.model import Checkpoint, Payload, Plan, Ref, Write, WriteKey
from ckpt_cli.savers.about import Ability
from ckpt_cli.savers.ahead import Ahead
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.valkey import open_url
from tests.servers.redis import Server


class TestValkey(Conformance):
    """Databases as the official saver finds them: it sets nothing up."""

    def opened(self, saver: Saver) -> Saver:
        """How it is asked."""
        return saver

    @pytest.fixture
    def make(self, valkey_server: Server) -> Iterator[Make]:
        url = valkey_server.empty()
        opened: list[Saver] = []

        def make(records: Iterable[Checkpoint | Write]) -> Saver:
            saver = open_url(url)
            opened.append(saver)
            saver.apply(Plan("given", tuple(records)))
            return self.opened(saver)

        yield make
        for saver in opened:
            saver.close()

    def write(self, *place: Any, **given: Any) -> Write:
        """Without a path."""
        return super().write(*place, **{**given, "path": ""})

    def test_writes_in_canonical_order(self, make: Make) -> None:
        """Writes come by checkpoint, then by task id and index, in whatever order they were put."""
        order = [("0", "z", 0), ("1", "b", -3), ("1", "b", 1), ("1", "b", 2), ("1", "b", 10), ("1", "c", 0)]
        records = [self.write("t", i, task, idx) for i, task, idx in reversed(order)]
        saver = make([*records, self.checkpoint("t", "0"), self.checkpoint("t", "1")])
        assert [(w.checkpoint_id, w.task_id, w.idx) for w in saver.writes("t")] == order

    def test_rows_of_a_plan(self, make: Make) -> None:
        """The writes of a checkpoint are one key, and a plan tells which of them it adds."""
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

    def test_abilities(self, make: Make) -> None:
        """A plan is one transaction of the server's; no moment can be held, and no path is kept."""
        assert make([]).abilities == {Ability.ATOMIC, Ability.WRITE, Ability.BRANCHES}


class TestAhead(TestValkey):
    """The same with everything read ahead, as commands do."""

    def opened(self, saver: Saver) -> Saver:
        """Told of all threads."""
        ahead = Ahead(saver)
        ahead.expect_whole([thread.thread_id for thread in saver.threads()])
        return ahead
