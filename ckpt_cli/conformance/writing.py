"""Tests of the methods of `savers.contract.Saver` that write: plans, rows, transactions, undo."""

import pytest

from ckpt_cli.conformance.samples import Make, Samples, everything
from ckpt_cli.errors import NotSupported, Refused
from ckpt_cli.model import Payload, Plan, Ref, WriteKey
from ckpt_cli.savers.about import Ability, Totals


class Writing(Samples):
    """Plans are applied completely or not at all, and can be undone row by row."""

    def test_apply_adds(self, make: Make) -> None:
        """`apply` adds a plan's records to those that exist; a read-only saver raises NotSupported."""
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
        """A plan with a record that exists already, in the database or in the plan, is refused and changes nothing."""
        saver = make([self.checkpoint("t", "1"), self.write("t", "1")])
        if Ability.WRITE not in saver.abilities:
            return
        before = everything(saver)
        fresh = (self.checkpoint("u", "1"), self.write("u", "1"), self.checkpoint("t", "5"))
        for duplicate in (
            self.checkpoint("t", "1", payload=Payload("bytes", b"other")),
            self.write("t", "1", payload=Payload("bytes", b"other")),
            self.write("t", "1", path="another path"),
            self.checkpoint("u", "1"),
            self.write("u", "1"),
        ):
            with pytest.raises(Refused):
                saver.apply(Plan("twice", (*fresh, duplicate)))
            assert everything(saver) == before
        saver.apply(Plan("once", fresh))
        assert saver.totals() == Totals(2, 3, 2, "1", "5")

    def test_a_plan_replaces_and_removes(self, make: Make) -> None:
        """A plan replaces and removes exactly the records it names; if one is missing, the whole plan is refused."""
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
        write = self.write("t", "1", channel="other", payload=Payload("bytes", b"other"), path="a path")
        removals = (Ref("t", "", "2"), WriteKey(Ref("t", "", "1"), "task", 1))
        before = everything(saver)
        for missing in (
            Plan("", replace=(other, self.checkpoint("t", "9"))),
            Plan("", replace=(write, self.write("t", "9"))),
            Plan("", remove=(*removals, Ref("t", "sub", "2"))),
            Plan("", remove=(*removals, WriteKey(Ref("t", "", "1"), "task", 7))),
        ):
            with pytest.raises(Refused):
                saver.apply(missing)
            assert everything(saver) == before
        saver.apply(Plan("", replace=(other, write), remove=removals))
        _, [stored], writes = everything(saver)
        assert self.alike(stored, other)
        assert [(w.idx, w.channel, w.payload) for w in writes] == [(0, "other", write.payload)]
        saver.apply(Plan("", replace=(self.checkpoint("t", "1"), self.write("t", "1", path=""))))
        _, [stored], [write] = everything(saver)
        assert (stored.row.parent_id, write.task_path) == (None, "")

    def test_rows_of_a_plan(self, make: Make) -> None:
        """`expand` gives rows before and after a plan, `record_of` a row's record; inverse changes undo the plan."""
        saver = make([self.checkpoint("t", "1"), self.write("t", "1"), self.checkpoint("t", "2")])
        if Ability.WRITE not in saver.abilities:
            return
        before, changed = everything(saver), self.checkpoint("t", "2", payload=Payload("bytes", b"other"))
        key = WriteKey(Ref("t", "", "1"), "task", 0)
        plan = Plan("", (self.write("t", "2", path="a path"),), (changed,), (Ref("t", "", "1"), key))
        rows = saver.moment(lambda: list(saver.expand(plan)))
        assert everything(saver) == before
        records = {saver.record_of(row.relation, row.key): (row.before is None, row.after is None) for row in rows}
        records.pop(None, None)  # rows that are no records, such as an index that ckpt keeps up to date
        assert records == {
            Ref("t", "", "1"): (False, True),
            key: (False, True),
            Ref("t", "", "2"): (False, False),
            WriteKey(Ref("t", "", "2"), "task", 0): (True, False),
        }
        saver.apply(plan)
        names, after = [(row.relation, row.key) for row in rows], [row.after for row in rows]
        assert saver.moment(lambda: [saver.current(*name) for name in names]) == after
        assert saver.moment(lambda: saver.currents(names[::-1])) == after[::-1]
        by_relation = sorted(rows, key=lambda row: row.relation)
        images = saver.moment(lambda: saver.currents([(row.relation, row.key) for row in by_relation]))
        assert images == [row.after for row in by_relation]
        saver.transaction(lambda: saver.change(row.inverse for row in reversed(rows)))
        assert everything(saver) == before

    def test_a_transaction_is_kept_only_if_it_returns(self, make: Make) -> None:
        """Reads inside a transaction, or inside a nested one, see its changes; an error rolls them back.

        Without `Ability.ATOMIC`, `take_back` removes the changes, and may run twice. A change is refused if its row
        doesn't equal the before-image.
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
