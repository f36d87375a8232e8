"""Tests of the methods of `savers.contract.Saver` that read."""

from itertools import chain, groupby

import pytest

from ckpt_cli.conformance.samples import Make, Samples, everything
from ckpt_cli.model import Payload, Plan, Ref, Thread
from ckpt_cli.savers.about import Ability, Totals
from ckpt_cli.savers.arrivals import Floor


class Reading(Samples):
    """Threads, rows, checkpoints, metadata and writes are read completely, and never mixed up."""

    def test_empty(self, make: Make) -> None:
        """A saver without records has no threads, and every read gives nothing without raising."""
        saver = make([])
        assert saver.totals() == Totals(0, 0, 0)
        assert everything(saver) == ([], [], [])
        assert saver.thread("t") is None
        assert saver.row(Ref("t", "", "1")) is None
        assert (saver.namespaces("t"), saver.count("t"), saver.newest("t", "", 5)) == ([], 0, [])
        assert list(saver.metadata([Ref("t", "", "1")])) == []
        assert list(saver.writes("t", "", ["1"])) == []

    def test_about(self, make: Make) -> None:
        """A saver describes its database and declares its abilities."""
        saver = make([])
        about = saver.about()
        assert about.backend and about.generation and about.layout
        assert all(isinstance(ability, Ability) for ability in saver.abilities)

    def test_threads_newest_first(self, make: Make) -> None:
        """Threads come with their heads, in descending order of the heads' ids."""
        saver = make(
            [self.checkpoint("a", "3"), self.checkpoint("b", "5"), self.checkpoint("c", "4"), self.checkpoint("a", "1")]
        )
        assert list(saver.threads()) == [Thread(t, Ref(t, "", i)) for t, i in (("b", "5"), ("c", "4"), ("a", "3"))]

    def test_head_is_of_the_root(self, make: Make) -> None:
        """The head is the newest checkpoint of the root namespace, or of all namespaces if there is no root."""
        saver = make(
            [
                self.checkpoint("rooted", "1"),
                self.checkpoint("rooted", "9", ns="sub:1"),
                self.checkpoint("rootless", "2", ns="z"),
                self.checkpoint("rootless", "8", ns="m"),
                self.checkpoint("rootless", "4", ns="a"),
                self.checkpoint("late", "9"),
                self.checkpoint("old", "0", ns="x"),
            ]
        )
        heads = [Ref("late", "", "9"), Ref("rootless", "m", "8"), Ref("rooted", "", "1"), Ref("old", "x", "0")]
        assert [thread.head for thread in saver.threads()] == heads
        assert [saver.thread(head.thread_id) for head in heads] == [Thread(head.thread_id, head) for head in heads]

    def test_odd_thread_ids(self, make: Make) -> None:
        """A thread id may contain any character, and a read by this id finds only the thread's own records."""
        records = [
            r
            for i in self.odd_ids
            for r in (self.checkpoint(i, "1"), self.checkpoint(i, "2", ns=i), self.write(i, "1"))
        ]
        saver = make(records)
        assert sorted(thread.thread_id for thread in saver.threads()) == sorted(self.odd_ids)
        for odd in self.odd_ids:
            assert saver.thread(odd) == Thread(odd, Ref(odd, "", "1"))
            assert [row.ref for row in saver.rows(odd)] == [Ref(odd, "", "1"), Ref(odd, odd, "2")]
            assert saver.namespaces(odd) == ["", odd]
            (stored,) = saver.checkpoints([Ref(odd, odd, "2")])
            assert self.alike(stored, self.checkpoint(odd, "2", ns=odd))
            assert [w.ref for w in saver.writes(odd)] == [Ref(odd, "", "1")]
            assert [ref for ref, _ in saver.metadata([Ref(odd, "", "1")])] == [Ref(odd, "", "1")]

    def test_several_threads_at_once(self, make: Make) -> None:
        """Rows and writes of several threads come thread by thread, in the same order as for each thread alone."""
        names = [(i, checkpoint_id) for checkpoint_id in ("2", "1") for i in self.odd_ids]
        saver = make([r for name in names for r in (self.checkpoint(*name), self.write(*name))])
        several = self.odd_ids[1:]
        rows = [list(group) for _, group in groupby(saver.rows_of(several), key=lambda row: row.thread_id)]
        assert sorted(rows) == sorted(list(saver.rows(i)) for i in several)
        writes = [list(group) for _, group in groupby(saver.writes_of(several), key=lambda write: write.thread_id)]
        assert sorted(writes) == sorted(list(saver.writes(i)) for i in several)
        assert sorted(saver.writes_on([row.ref for group in rows for row in group])) == sorted(chain(*writes))
        assert [write.payload for write in saver.writes_of(several, values=0)] == [None] * 2 * len(several)

    def test_checkpoints_that_arrive(self, make: Make) -> None:
        """A look finds all that were made since a time; the next finds those that were stored since, also lower ids."""
        names = [(i, f"1ef00000-0000-6000-8000-00000000000{n}") for i in self.odd_ids for n in (1, 2)]
        saver = make([self.checkpoint(*name) for name in names])
        whole, recent = Floor(0.0, ""), Floor(1.0, "1ef00000-0000-6000-8000-000000000002")
        first = saver.arrivals(whole)
        refs = {Ref(thread_id, "", checkpoint_id) for thread_id, checkpoint_id in names}
        assert set(first.refs) == refs
        assert {ref for ref in saver.arrivals(whole, first.mark).refs if ref not in refs} == set()
        assert {ref for ref in refs if ref.checkpoint_id >= recent.lowest_id} <= set(saver.arrivals(recent).refs)
        if Ability.WRITE not in saver.abilities:
            return
        saver.apply(Plan("", (late := self.checkpoint(self.odd_ids[0], "1ef00000-0000-6000-8000-000000000000"),)))
        assert late.row.ref in saver.arrivals(whole, first.mark).refs

    def test_many_checkpoints_at_once(self, make: Make) -> None:
        """Checkpoints come in the order of their names; one of their channels is the same if only it is asked for."""
        saver = make([self.checkpoint(i, checkpoint_id) for i in self.odd_ids for checkpoint_id in ("1", "2")])
        refs = [Ref(i, "", checkpoint_id) for checkpoint_id in ("2", "1") for i in reversed(self.odd_ids)]
        stored = list(saver.checkpoints([*refs[:3], Ref("nobody", "", "1"), *refs[3:]]))
        assert [checkpoint.row.ref for checkpoint in stored] == refs
        assert stored == [checkpoint for ref in refs for checkpoint in saver.checkpoints([ref])]
        for channel in {name for checkpoint in stored for name in checkpoint.channels or {}}:
            for whole, some in zip(stored, saver.with_channels(refs, [channel]), strict=True):
                assert (some.row.ref, some.body) == (whole.row.ref, whole.body)
                assert (some.channels or {}).get(channel) == (whole.channels or {}).get(channel)

    def test_threads_are_apart(self, make: Make) -> None:
        """Records of two threads stay apart when their namespaces, checkpoint ids and task ids are equal."""
        saver = make(
            [r for t in ("a", "b") for r in (self.checkpoint(t, "1"), self.checkpoint(t, "2"), self.write(t, "1"))]
        )
        assert saver.totals() == Totals(2, 4, 2, "1", "2")
        for thread_id in ("a", "b"):
            assert saver.count(thread_id) == 2
            assert {row.thread_id for row in saver.rows(thread_id)} == {thread_id}
            assert {row.thread_id for row in saver.newest(thread_id, "", 9)} == {thread_id}
            (value,) = (w.payload for w in saver.writes(thread_id))
            assert value == Payload("msgpack", f"value of {thread_id}||1|task|0".encode())
            (stored,) = saver.checkpoints([Ref(thread_id, "", "1")])
            assert self.alike(stored, self.checkpoint(thread_id, "1"))
            assert list(saver.metadata([Ref(thread_id, "", "1")])) == [(stored.row.ref, stored.metadata)]

    def test_namespaces_are_apart(self, make: Make) -> None:
        """Each namespace has its own rows and writes, even if its name begins like another namespace's name."""
        spaces = ["", "s", "s:1", "s:10", "s:1|t:2"]
        saver = make(
            [r for ns in reversed(spaces) for r in (self.checkpoint("t", "1", ns=ns), self.write("t", "1", ns=ns))]
        )
        assert saver.namespaces("t") == spaces
        assert [row.ns for row in saver.rows("t")] == spaces
        assert [w.ns for w in saver.writes("t")] == spaces
        for ns in spaces:
            assert [row.ns for row in saver.rows("t", ns)] == [ns]
            assert [row.ns for row in saver.newest("t", ns, 9)] == [ns]
            assert [w.ns for w in saver.writes("t", ns)] == [ns]
            assert [c.row.ns for c in saver.checkpoints([Ref("t", ns, "1")])] == [ns]

    def test_rows_ascend(self, make: Make) -> None:
        """Rows come in text order of namespace and id, in whatever order they were saved, with parent and size."""
        ids = self.checkpoint_ids
        saver = make([self.checkpoint("t", i, parent_id=f"before {i}" if i > "2" else None) for i in ids])
        rows = list(saver.rows("t", ""))
        assert [row.checkpoint_id for row in rows] == sorted(ids)
        assert [row.parent_id for row in rows] == [f"before {i}" if i > "2" else None for i in sorted(ids)]
        assert all(row.size is None or row.size > 0 for row in rows)
        assert [saver.row(row.ref) for row in rows] == rows
        assert saver.newest("t", "", 99) == rows[::-1]
        assert saver.newest("t", "", 2) == rows[:-3:-1]

    def test_checkpoints_in_the_order_of_refs(self, make: Make) -> None:
        """Checkpoints come in the order of the refs, also from several threads; missing checkpoints are left out."""
        saver = make([self.checkpoint(t, i) for t in ("a", "b") for i in ("1", "2", "3")])
        refs = [Ref("b", "", "2"), Ref("a", "", "3"), Ref("a", "", "4"), Ref("c", "", "1"), Ref("b", "", "1")]
        assert [c.row.ref for c in saver.checkpoints(iter(refs))] == [refs[0], refs[1], refs[4]]

    def test_payloads_are_untouched(self, make: Make) -> None:
        """Type tags and bytes of bodies, metadata and writes are read exactly as they were written."""
        records = [self.checkpoint("t", str(i), payload=p, metadata=self.metadata) for i, p in enumerate(self.payloads)]
        writes = [self.write("t", "0", idx=i, payload=p) for i, p in enumerate(self.payloads)]
        saver = make([*records, *writes])
        refs = [record.row.ref for record in records]
        stored = list(saver.checkpoints(refs))
        assert len(stored) == len(records)
        assert all(self.alike(*pair) for pair in zip(stored, records, strict=True))
        assert dict(saver.metadata(refs)) == {checkpoint.row.ref: checkpoint.metadata for checkpoint in stored}
        assert list(saver.writes("t")) == writes

    def test_many_at_once(self, make: Make) -> None:
        """Reading more records at once than fit in one statement gives each record once."""
        ids = [f"{n:04}" for n in range(self.names_at_once)]
        saver = make([r for i in ids for r in (self.checkpoint("t", i), self.write("t", i))])
        refs = [Ref("t", "", i) for i in ids]
        assert [c.row.ref for c in saver.checkpoints(refs)] == refs
        assert sorted(ref for ref, _ in saver.metadata(refs)) == refs
        assert [w.checkpoint_id for w in saver.writes("t", "", ids)] == ids
        assert saver.newest("t", "", 1)[0].checkpoint_id == ids[-1]

    def test_writes_in_canonical_order(self, make: Make) -> None:
        """Writes are sorted by checkpoint, task path, task id and index; texts sort as texts, numbers as numbers."""
        pull, push = "~__pregel_pull, a", "~__pregel_push, 0000000001, 0000000000"
        order = [
            ("0", "", "00000000-0000-0000-0000-000000000000", -4),
            ("0", "", "z", 0),
            ("1", pull, "b", -3),
            ("1", pull, "b", 1),
            ("1", pull, "b", 2),
            ("1", pull, "b", 10),
            ("1", pull, "c", 0),
            ("1", push, "a", 0),
        ]
        saver = make(
            [self.write("t", i, task, idx, path=path) for i, path, task, idx in reversed(order)]
            + [self.checkpoint("t", "1")]
        )
        assert [(w.checkpoint_id, w.task_path, w.task_id, w.idx) for w in saver.writes("t")] == order
        assert [w.idx for w in saver.writes("t", "", ["1"])] == [-3, 1, 2, 10, 0, 0]

    def test_writes_of_some_checkpoints(self, make: Make) -> None:
        """Only the writes of the listed checkpoints are read; an empty list gives none."""
        saver = make(
            [r for i in "1234" for r in (self.checkpoint("t", i), self.write("t", i), self.write("t", i, ns="s"))]
        )
        assert [w.ref for w in saver.writes("t", "", ["4", "2", "9"])] == [Ref("t", "", "2"), Ref("t", "", "4")]
        assert [w.ref for w in saver.writes("t", "s", {"3"})] == [Ref("t", "s", "3")]
        assert list(saver.writes("t", "", [])) == []
        assert list(saver.writes("t", "nowhere", ["1"])) == []

    def test_long_values_are_not_read(self, make: Make) -> None:
        """Payloads above the limit are not read, but the sizes of these payloads are."""
        sizes = [0, 1, 10, 11, 5000]
        saver = make(
            [
                self.checkpoint("t", "1"),
                *(self.write("t", "1", idx=n, payload=Payload("bytes", b"x" * n)) for n in sizes),
            ]
        )
        for limit, read in ((0, [0]), (10, [0, 1, 10]), (None, sizes)):
            writes = list(saver.writes("t", values=limit))
            assert [w.size for w in writes] == sizes
            assert [w.size for w in writes if w.payload is not None] == read

    def test_how_many_and_how_large(self, make: Make) -> None:
        """Threads are counted, and their sizes are larger for more checkpoints, if the engine has such queries."""
        many = [self.checkpoint("large", f"{n}") for n in range(9)]
        saver = make([*many, self.checkpoint("small", "1"), self.checkpoint("other", "2"), self.write("small", "1")])
        assert saver.count_threads() in (None, 3)
        sizes = saver.sizes(["small", "none", "large"])
        if sizes is not None:
            assert list(sizes) == ["small", "none", "large"]
            assert sizes["large"] > sizes["small"] > sizes["none"] == 0

    def test_a_moment_returns_what_its_function_returns(self, make: Make) -> None:
        """A moment returns the value of its function or raises the function's error, and may contain another moment."""
        saver = make([self.checkpoint("t", "1")])
        assert saver.moment(lambda: saver.moment(lambda: saver.count("t")) + saver.count("t")) == 2
        with pytest.raises(ZeroDivisionError):
            saver.moment(lambda: saver.count("t") // 0)
        assert saver.moment(lambda: saver.count("t")) == 1

    def test_close_twice(self, make: Make) -> None:
        """A saver may be closed twice."""
        saver = make([self.checkpoint("t", "1")])
        saver.close()
        saver.close()
