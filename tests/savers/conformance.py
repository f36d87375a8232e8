"""What every saver must do, whatever its engine: subclass `Conformance` and give it a `make` fixture.

`make` turns records into an open saver that holds exactly these. The tests take nothing but `make`, so that they can
also be run against savers that are broken on purpose.
"""

from collections.abc import Callable, Iterable

import pytest

from ckpt_cli.errors import NotSupported, Refused
from ckpt_cli.model import NULL, Checkpoint, Payload, Plan, Ref, Thread, Write, WriteKey
from ckpt_cli.savers.contract import Ability, Saver, Totals
from tests.savers.records import checkpoint, write

Make = Callable[[Iterable[Checkpoint | Write]], Saver]

ODD_IDS = [
    "a@b",
    "@",
    "x:y/z",
    " spaced ",
    "spaced",
    "a|b#c",
    "中文",
    "🙂",
    "it's",
    'say "hi"',
    "100%",
    "100_",
    "1000",
    "%",
    "_",
    "*",
    "A",
    "a",
    "7",
    "07",
    "line\nbreak",
    "\\back",
    "'; DROP TABLE checkpoints; --",
]

PAYLOADS = [
    Payload("msgpack", b"\x81\xa1a\x01"),
    Payload("json", '{"ä": "中文"}'.encode()),
    NULL,
    Payload("bytes", bytes(range(256))),
    Payload("msgpack+aes", b"\x00" * 32),
    Payload("json", b"\xff\xfe not UTF-8 \x00"),
    Payload("some other tag", b"\r\n"),
    Payload("msgpack", b"long" * 5000),
]


def everything(saver: Saver) -> tuple[list[Thread], list[Checkpoint], list[Write]]:
    """All that a saver holds, read through the contract."""

    def look() -> tuple[list[Thread], list[Checkpoint], list[Write]]:
        threads = list(saver.threads())
        rows = [row for thread in threads for row in saver.rows(thread.thread_id)]
        writes = [found for thread in threads for found in saver.writes(thread.thread_id)]
        return threads, list(saver.checkpoints(row.ref for row in rows)), writes

    return saver.moment(look)


class Conformance:
    """The contract of `savers.contract.Saver`, as tests."""

    def test_empty(self, make: Make) -> None:
        """A saver without records has no threads and finds nothing, without raising."""
        saver = make([])
        assert saver.totals() == Totals(0, 0, 0)
        assert everything(saver) == ([], [], [])
        assert saver.thread("t") is None
        assert saver.row(Ref("t", "", "1")) is None
        assert (saver.namespaces("t"), saver.count("t"), saver.newest("t", "", 5)) == ([], 0, [])
        assert list(saver.metadata([Ref("t", "", "1")])) == []
        assert list(saver.writes("t", "", ["1"])) == []

    def test_about(self, make: Make) -> None:
        """A saver says what it is and declares its abilities."""
        saver = make([])
        about = saver.about()
        assert about.backend and about.generation and about.layout
        assert all(isinstance(ability, Ability) for ability in saver.abilities)

    def test_threads_newest_first(self, make: Make) -> None:
        """Threads come in the order of their heads, the highest id first, each with its own head."""
        saver = make([checkpoint("a", "3"), checkpoint("b", "5"), checkpoint("c", "4"), checkpoint("a", "1")])
        assert list(saver.threads()) == [Thread(t, Ref(t, "", i)) for t, i in (("b", "5"), ("c", "4"), ("a", "3"))]

    def test_head_is_of_the_root(self, make: Make) -> None:
        """A subgraph's later checkpoint is not the thread's head; without a root the highest id of any namespace is."""
        saver = make(
            [
                checkpoint("rooted", "1"),
                checkpoint("rooted", "9", ns="sub:1"),
                checkpoint("rootless", "2", ns="z"),
                checkpoint("rootless", "8", ns="m"),
                checkpoint("rootless", "4", ns="a"),
                checkpoint("late", "9"),
                checkpoint("old", "0", ns="x"),
            ]
        )
        heads = [Ref("late", "", "9"), Ref("rootless", "m", "8"), Ref("rooted", "", "1"), Ref("old", "x", "0")]
        assert [thread.head for thread in saver.threads()] == heads
        assert [saver.thread(head.thread_id) for head in heads] == [Thread(head.thread_id, head) for head in heads]

    def test_odd_thread_ids(self, make: Make) -> None:
        """A thread id may hold any character, and finds its own records and nobody else's."""
        records = [r for i in ODD_IDS for r in (checkpoint(i, "1"), checkpoint(i, "2", ns=i), write(i, "1"))]
        saver = make(records)
        assert sorted(thread.thread_id for thread in saver.threads()) == sorted(ODD_IDS)
        for odd in ODD_IDS:
            assert saver.thread(odd) == Thread(odd, Ref(odd, "", "1"))
            assert [row.ref for row in saver.rows(odd)] == [Ref(odd, "", "1"), Ref(odd, odd, "2")]
            assert saver.namespaces(odd) == ["", odd]
            (body,) = (c.body.data for c in saver.checkpoints([Ref(odd, odd, "2")]))
            assert body == f"body of {odd}|{odd}|2".encode()
            assert [w.ref for w in saver.writes(odd)] == [Ref(odd, "", "1")]
            assert [ref for ref, _ in saver.metadata([Ref(odd, "", "1")])] == [Ref(odd, "", "1")]

    def test_threads_are_apart(self, make: Make) -> None:
        """Equal namespaces, checkpoint and task ids of two threads stay two records everywhere."""
        saver = make([r for t in ("a", "b") for r in (checkpoint(t, "1"), checkpoint(t, "2"), write(t, "1"))])
        assert saver.totals() == Totals(2, 4, 2, "1", "2")
        for thread_id in ("a", "b"):
            assert saver.count(thread_id) == 2
            assert {row.thread_id for row in saver.rows(thread_id)} == {thread_id}
            assert {row.thread_id for row in saver.newest(thread_id, "", 9)} == {thread_id}
            (value,) = (w.payload for w in saver.writes(thread_id))
            assert value == Payload("msgpack", f"value of {thread_id}||1|task|0".encode())
            ((ref, metadata),) = saver.metadata([Ref(thread_id, "", "1")])
            assert (ref.thread_id, metadata.data) == (thread_id, f'{{"of": "{thread_id}||1"}}'.encode())

    def test_namespaces_are_apart(self, make: Make) -> None:
        """A namespace, also one that begins like another, has its own rows and writes."""
        spaces = ["", "s", "s:1", "s:10", "s:1|t:2"]
        saver = make([r for ns in reversed(spaces) for r in (checkpoint("t", "1", ns=ns), write("t", "1", ns=ns))])
        assert saver.namespaces("t") == spaces
        assert [row.ns for row in saver.rows("t")] == spaces
        assert [w.ns for w in saver.writes("t")] == spaces
        for ns in spaces:
            assert [row.ns for row in saver.rows("t", ns)] == [ns]
            assert [row.ns for row in saver.newest("t", ns, 9)] == [ns]
            assert [w.ns for w in saver.writes("t", ns)] == [ns]
            assert [c.row.ns for c in saver.checkpoints([Ref("t", ns, "1")])] == [ns]

    def test_rows_ascend(self, make: Make) -> None:
        """Rows come in text order of namespace and id, whatever order they were saved in, with parent and size."""
        ids = ["10", "2", "1", "a", "B", "ä"]
        saver = make([checkpoint("t", i, parent_id=f"before {i}" if i > "2" else None) for i in ids])
        rows = list(saver.rows("t", ""))
        assert [row.checkpoint_id for row in rows] == sorted(ids)
        assert [row.parent_id for row in rows] == [f"before {i}" if i > "2" else None for i in sorted(ids)]
        assert all(row.size in (None, len(f"body of t||{row.checkpoint_id}".encode())) for row in rows)
        assert [saver.row(row.ref) for row in rows] == rows
        assert saver.newest("t", "", 99) == rows[::-1]
        assert saver.newest("t", "", 2) == rows[:-3:-1]

    def test_checkpoints_in_the_order_asked(self, make: Make) -> None:
        """Checkpoints come in the order asked, also from several threads; missing ones are left out."""
        saver = make([checkpoint(t, i) for t in ("a", "b") for i in ("1", "2", "3")])
        asked = [Ref("b", "", "2"), Ref("a", "", "3"), Ref("a", "", "4"), Ref("c", "", "1"), Ref("b", "", "1")]
        assert [c.row.ref for c in saver.checkpoints(iter(asked))] == [asked[0], asked[1], asked[4]]

    def test_payloads_are_untouched(self, make: Make) -> None:
        """Type tags and bytes of bodies, metadata and writes come back as they went in."""
        metadata = Payload("json", '{"step": -1, "n": "ä\\u0000"}'.encode())
        records = [checkpoint("t", str(i), body=p, metadata=metadata) for i, p in enumerate(PAYLOADS)]
        saver = make([*records, *(write("t", "0", idx=i, payload=p) for i, p in enumerate(PAYLOADS))])
        refs = [record.row.ref for record in records]
        assert [c.body for c in saver.checkpoints(refs)] == PAYLOADS
        assert [c.metadata for c in saver.checkpoints(refs)] == [metadata] * len(PAYLOADS)
        assert dict(saver.metadata(refs)) == dict.fromkeys(refs, metadata)
        writes = list(saver.writes("t"))
        assert [w.payload for w in writes] == PAYLOADS
        assert [w.size for w in writes] == [len(p.data) for p in PAYLOADS]

    def test_many_at_once(self, make: Make) -> None:
        """More names than one statement of any engine takes are found, each once."""
        ids = [f"{n:04}" for n in range(1203)]
        saver = make([r for i in ids for r in (checkpoint("t", i), write("t", i))])
        refs = [Ref("t", "", i) for i in ids]
        assert [c.row.ref for c in saver.checkpoints(refs)] == refs
        assert sorted(ref for ref, _ in saver.metadata(refs)) == refs
        assert [w.checkpoint_id for w in saver.writes("t", "", ids)] == ids
        assert saver.newest("t", "", 1)[0].checkpoint_id == ids[-1]

    def test_writes_in_canonical_order(self, make: Make) -> None:
        """Writes come by checkpoint, then by task path, task id and index, each as its type sorts."""
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
            [write("t", i, task, idx, path=path) for i, path, task, idx in reversed(order)] + [checkpoint("t", "1")]
        )
        assert [(w.checkpoint_id, w.task_path, w.task_id, w.idx) for w in saver.writes("t")] == order
        assert [w.idx for w in saver.writes("t", "", ["1"])] == [-3, 1, 2, 10, 0, 0]

    def test_writes_of_some_checkpoints(self, make: Make) -> None:
        """Only the writes of the checkpoints asked for come; none are asked for with an empty list."""
        saver = make([r for i in "1234" for r in (checkpoint("t", i), write("t", i), write("t", i, ns="s"))])
        assert [w.ref for w in saver.writes("t", "", ["4", "2", "9"])] == [Ref("t", "", "2"), Ref("t", "", "4")]
        assert [w.ref for w in saver.writes("t", "s", {"3"})] == [Ref("t", "s", "3")]
        assert list(saver.writes("t", "", [])) == []
        assert list(saver.writes("t", "nowhere", ["1"])) == []

    def test_long_values_stay_where_they_are(self, make: Make) -> None:
        """Payloads above the limit are not read, and their size is told all the same."""
        sizes = [0, 1, 10, 11, 5000]
        saver = make(
            [checkpoint("t", "1"), *(write("t", "1", idx=n, payload=Payload("bytes", b"x" * n)) for n in sizes)]
        )
        for limit, read in ((0, [0]), (10, [0, 1, 10]), (None, sizes)):
            writes = list(saver.writes("t", values=limit))
            assert [w.size for w in writes] == sizes
            assert [w.size for w in writes if w.payload is not None] == read

    def test_a_moment_gives_what_was_found(self, make: Make) -> None:
        """A moment gives its look's value, may hold another, and lets its look's error through."""
        saver = make([checkpoint("t", "1")])
        assert saver.moment(lambda: saver.moment(lambda: saver.count("t")) + saver.count("t")) == 2
        with pytest.raises(ZeroDivisionError):
            saver.moment(lambda: saver.count("t") // 0)
        assert saver.moment(lambda: saver.count("t")) == 1

    def test_apply_adds(self, make: Make) -> None:
        """A plan's records are there after `apply`, beside those that were; one who can't write says so."""
        saver = make([checkpoint("t", "1"), write("t", "1")])
        plan = Plan(
            "add", (checkpoint("t", "2", parent_id="1"), write("t", "2"), write("t", "1", idx=1), checkpoint("u", "1"))
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
        saver = make([checkpoint("t", "1"), write("t", "1")])
        if Ability.WRITE not in saver.abilities:
            return
        before = everything(saver)
        fresh = (checkpoint("u", "1"), write("u", "1"), checkpoint("t", "5"))
        for again in (
            checkpoint("t", "1", body=Payload("bytes", b"other")),
            write("t", "1", payload=Payload("bytes", b"other")),
            write("t", "1", path="another path"),
            checkpoint("u", "1"),
            write("u", "1"),
        ):
            with pytest.raises(Refused):
                saver.apply(Plan("twice", (*fresh, again)))
            assert everything(saver) == before
        saver.apply(Plan("once", fresh))
        assert saver.totals() == Totals(2, 3, 2, "1", "5")

    def test_a_plan_replaces_and_removes(self, make: Make) -> None:
        """Records become others or go, each alone; one that doesn't exist refuses the whole plan."""
        saver = make(
            [checkpoint("t", "1"), checkpoint("t", "2", parent_id="1"), write("t", "1"), write("t", "1", idx=1)]
        )
        if Ability.WRITE not in saver.abilities:
            return
        other = checkpoint("t", "1", parent_id="0", body=Payload("bytes", b"other"), metadata=Payload("json", b"{}"))
        told = write("t", "1", channel="told", payload=Payload("bytes", b"told"))
        gone = (Ref("t", "", "2"), WriteKey(Ref("t", "", "1"), "task", 1))
        before = everything(saver)
        for missing in (
            Plan("", replace=(other, checkpoint("t", "9"))),
            Plan("", replace=(told, write("t", "9"))),
            Plan("", remove=(*gone, Ref("t", "sub", "2"))),
            Plan("", remove=(*gone, WriteKey(Ref("t", "", "1"), "task", 7))),
        ):
            with pytest.raises(Refused):
                saver.apply(missing)
            assert everything(saver) == before
        saver.apply(Plan("", replace=(other, told), remove=gone))
        _, [found], writes = everything(saver)
        assert (found.row.parent_id, found.body, found.metadata) == ("0", other.body, other.metadata)
        assert [(w.idx, w.channel, w.payload) for w in writes] == [(0, "told", told.payload)]

    def test_rows_of_a_plan(self, make: Make) -> None:
        """Expanded, a plan tells each row before and after, and what it is; taken back, the rows are what they were."""
        saver = make([checkpoint("t", "1"), write("t", "1"), checkpoint("t", "2")])
        if Ability.WRITE not in saver.abilities:
            return
        before, changed = everything(saver), checkpoint("t", "2", body=Payload("bytes", b"other"))
        key = WriteKey(Ref("t", "", "1"), "task", 0)
        plan = Plan("", (write("t", "2", path="a path"),), (changed,), (Ref("t", "", "1"), key))
        rows = saver.moment(lambda: list(saver.expand(plan)))
        assert everything(saver) == before
        named = {saver.record_of(row.relation, row.key): (row.before is None, row.after is None) for row in rows}
        assert named == {
            Ref("t", "", "1"): (False, True),
            key: (False, True),
            Ref("t", "", "2"): (False, False),
            WriteKey(Ref("t", "", "2"), "task", 0): (True, False),
        }
        saver.apply(plan)
        assert saver.moment(lambda: [saver.current(row.relation, row.key) for row in rows]) == [r.after for r in rows]
        saver.transaction(lambda: saver.change(row.inverse for row in reversed(rows)))
        assert everything(saver) == before

    def test_a_transaction_is_kept_only_if_it_returns(self, make: Make) -> None:
        """What was changed inside is seen inside, and gone after an error; rows that don't fit are refused."""
        saver = make([checkpoint("t", "1")])
        if Ability.WRITE not in saver.abilities:
            return
        added = saver.moment(lambda: list(saver.expand(Plan("", (checkpoint("t", "2"),)))))

        def work() -> None:
            saver.change(added)
            assert [row.checkpoint_id for row in saver.rows("t")] == ["1", "2"]
            raise ArithmeticError

        with pytest.raises(ArithmeticError):
            saver.transaction(work)
        assert [row.checkpoint_id for row in saver.rows("t")] == ["1"]
        with pytest.raises(Refused):
            saver.transaction(lambda: saver.change(row.inverse for row in added))
        saver.transaction(lambda: saver.change(added))
        with pytest.raises(Refused):
            saver.transaction(lambda: saver.change(added))
        assert [row.checkpoint_id for row in saver.rows("t")] == ["1", "2"]

    def test_close_twice(self, make: Make) -> None:
        """A saver may be closed again."""
        saver = make([checkpoint("t", "1")])
        saver.close()
        saver.close()
