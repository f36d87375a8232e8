"""What writing through `savers.contract.Saver` means, as tests."""

import pytest

from ckpt_cli.conformance.samples import Make, Samples, everything
from ckpt_cli.errors import NotSupported, Refused
from ckpt_cli.model import Payload, Plan, Ref, WriteKey
from ckpt_cli.savers.about import Ability, Totals


class Writing(Samples):
    """Plans are applied whole or not at all, and can be taken back row by row."""

    def test_apply_adds(self, make: Make) -> None:
        """A plan's records are there after `apply`, beside those that were; one who can't write says so."""
        saver = make([self.checkpoint("t", "1"), self.write("t", "1")])
        plan = Plan(
            "add",
            (
                self.checkpoint("t", "2", parent_id="1"),
                self.write("t", "2"),
                self.write("t", "1", idx=1),
                self.checkpoint("u", "1"),
            ),
        )
        if Ability.WRITE not in saver.abilities:
            with pytest.raises(NotSupported):
                saver.apply(plan)
            assert saver.totals() == Totals(1, 1, 1, "1", "1")
            return
        saver.apply(plan)
        assert saver.totals() == Totals(2, 3, 3, "1", "2")
        assert [(row.checkpoint_id, row.parent_id) for row in saver.rows("t")] == [("1", None), ("2", "1")]
        assert [(w.checkpoint_id, w.idx) for w in saver.writes("t")] == [("1", 0), ("1", 1), ("2", 0)]

    def test_apply_is_all_or_nothing(self, make: Make) -> None:
        """A plan with a record that exists already, in the database or in the plan, is refused and leaves nothing."""
        saver = make([self.checkpoint("t", "1"), self.write("t", "1")])
        if Ability.WRITE not in saver.abilities:
            return
        before = everything(saver)
        fresh = (self.checkpoint("u", "1"), self.write("u", "1"), self.checkpoint("t", "5"))
        for again in (
            self.checkpoint("t", "1", payload=Payload("bytes", b"other")),
            self.write("t", "1", payload=Payload("bytes", b"other")),
            self.write("t", "1", path="another path"),
            self.checkpoint("u", "1"),
            self.write("u", "1"),
        ):
            with pytest.raises(Refused):
                saver.apply(Plan("twice", (*fresh, again)))
            assert everything(saver) == before
        saver.apply(Plan("once", fresh))
        assert saver.totals() == Totals(2, 3, 2, "1", "5")

    def test_a_plan_replaces_and_removes(self, make: Make) -> None:
        """Records become others or go, each alone; one that doesn't exist refuses the whole plan."""
        saver = make(
            [
                self.checkpoint("t", "1"),
                self.checkpoint("t", "2", parent_id="1"),
                self.write("t", "1"),
                self.write("t", "1", idx=1),
            ]
        )
        if Ability.WRITE not in saver.abilities:
            return
        other = self.checkpoint("t", "1", parent_id="0", payload=Payload("bytes", b"other"), metadata=self.metadata)
        told = self.write("t", "1", channel="told", payload=Payload("bytes", b"told"), path="a path")
        gone = (Ref("t", "", "2"), WriteKey(Ref("t", "", "1"), "task", 1))
        before = everything(saver)
        for missing in (
            Plan("", replace=(other, self.checkpoint("t", "9"))),
            Plan("", replace=(told, self.write("t", "9"))),
            Plan("", remove=(*gone, Ref("t", "sub", "2"))),
            Plan("", remove=(*gone, WriteKey(Ref("t", "", "1"), "task", 7))),
        ):
            with pytest.raises(Refused):
                saver.apply(missing)
            assert everything(saver) == before
        saver.apply(Plan("", replace=(other, told), remove=gone))
        _, [found], writes = everything(saver)
        assert self.alike(found, other)
        assert [(w.idx, w.channel, w.payload) for w in writes] == [(0, "told", told.payload)]
        saver.apply(Plan("", replace=(self.checkpoint("t", "1"), self.write("t", "1", path=""))))
        _, [found], [write] = everything(saver)
        assert (found.row.parent_id, write.task_path) == (None, "")

    def test_rows_of_a_plan(self, make: Make) -> None:
        """Expanded, a plan tells each row before and after, and what it is; taken back, the rows are what they were."""
        saver = make([self.checkpoint("t", "1"), self.write("t", "1"), self.checkpoint("t", "2")])
        if Ability.WRITE not in saver.abilities:
            return
        before, changed = everything(saver), self.checkpoint("t", "2", payload=Payload("bytes", b"other"))
        key = WriteKey(Ref("t", "", "1"), "task", 0)
        plan = Plan("", (self.write("t", "2", path="a path"),), (changed,), (Ref("t", "", "1"), key))
        rows = saver.moment(lambda: list(saver.expand(plan)))
        assert everything(saver) == before
        named = {saver.record_of(row.relation, row.key): (row.before is None, row.after is None) for row in rows}
        named.pop(None, None)  # rows that lead to records, where an engine keeps such
        assert named == {
            Ref("t", "", "1"): (False, True),
            key: (False, True),
            Ref("t", "", "2"): (False, False),
            WriteKey(Ref("t", "", "2"), "task", 0): (True, False),
        }
        saver.apply(plan)
        names, after = [(row.relation, row.key) for row in rows], [row.after for row in rows]
        assert saver.moment(lambda: [saver.current(*name) for name in names]) == after
        assert saver.moment(lambda: saver.currents(names[::-1])) == after[::-1]
        together = sorted(rows, key=lambda row: row.relation)
        found = saver.moment(lambda: saver.currents([(row.relation, row.key) for row in together]))
        assert found == [row.after for row in together]
        saver.transaction(lambda: saver.change(row.inverse for row in reversed(rows)))
        assert everything(saver) == before

    def test_a_transaction_is_kept_only_if_it_returns(self, make: Make) -> None:
        """What was changed inside, or in one inside of it, is seen there, and gone after an error.

        Rows that don't fit are refused.

        Without `Ability.ATOMIC` it is gone once it is taken back, also when it is taken back twice.
        """
        saver = make([self.checkpoint("t", "1")])
        if Ability.WRITE not in saver.abilities:
            return
        plan = Plan("", (self.checkpoint("t", "2"), self.write("t", "2")))
        added = saver.moment(lambda: list(saver.expand(plan)))
        before = everything(saver)

        def work() -> None:
            saver.transaction(lambda: saver.change(added))
            assert [row.checkpoint_id for row in saver.rows("t")] == ["1", "2"]
            raise ArithmeticError

        with pytest.raises(ArithmeticError):
            saver.transaction(work)
        if Ability.ATOMIC not in saver.abilities:
            saver.transaction(lambda: saver.take_back(added))
            saver.transaction(lambda: saver.take_back(added))
        assert everything(saver) == before
        with pytest.raises(Refused):
            saver.transaction(lambda: saver.change(row.inverse for row in reversed(added)))
        saver.transaction(lambda: saver.change(added))
        with pytest.raises(Refused):
            saver.transaction(lambda: saver.change(added))
        assert [row.checkpoint_id for row in saver.rows("t")] == ["1", "2"]
