"""Prefetch changes nothing but the number of queries."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

import pytest

from ckpt_cli.commands import grep, info, threads
from ckpt_cli.conformance import Conformance, Make
from ckpt_cli.conformance.records import checkpoint, write
from ckpt_cli.history.search.pattern import Needle
from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Ref, Write
from ckpt_cli.operations.apply import basis_of_heads, verify
from ckpt_cli.parameters.selector import ThreadSelection
from ckpt_cli.queries import deletion_plan
from ckpt_cli.reading import Reader
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.memory import MemorySaver
from ckpt_cli.savers.passing import PassingSaver
from ckpt_cli.savers.prefetch import PrefetchingSaver
from ckpt_cli.serde.codec import Codec


class Far(MemorySaver):
    """A saver that counts the calls of its methods."""

    page = 10

    def __init__(self, records: Iterable[Checkpoint | Write] = ()) -> None:
        self.calls = Counter[str]()
        super().__init__(records)

    def rows_of(self, thread_ids: Collection[str]) -> Iterator[CheckpointRow]:
        self.calls["rows_of"] += 1
        yield from [row for thread_id in thread_ids for row in MemorySaver.rows(self, thread_id)]

    def writes_of(self, thread_ids: Collection[str], **how: Any) -> Iterator[Write]:
        self.calls["writes_of"] += 1
        yield from [w for thread_id in thread_ids for w in MemorySaver.writes(self, thread_id, **how)]

    def writes_on(self, refs: Collection[Ref], **how: Any) -> Iterator[Write]:
        self.calls["writes_on"] += 1
        yield from [w for r in refs for w in MemorySaver.writes(self, r.thread_id, r.ns, [r.checkpoint_id], **how)]


def _counted(name: str) -> Callable[..., Any]:
    def ask(self: Far, *args: Any, **how: Any) -> Any:
        self.calls[name] += 1
        return getattr(MemorySaver, name)(self, *args, **how)

    return ask


for _name in ("thread", "namespaces", "count", "rows", "newest", "row", "metadata", "checkpoints", "writes"):
    setattr(Far, _name, _counted(_name))


def _expecting(*expect: str) -> Callable[[Iterable[Checkpoint | Write]], Saver]:
    def make(records: Iterable[Checkpoint | Write]) -> Saver:
        saver = PrefetchingSaver(Far(records))
        listed = list(saver.threads())
        for name in expect:
            given = listed if name == "expect_threads" else [thread.thread_id for thread in listed]
            getattr(saver, name)(given)
        return saver

    return make


class TestHints(Conformance):
    """The contract holds with hints about all threads, and without."""

    @pytest.fixture(params=[(), ("expect_threads",), ("expect_whole",)], ids=["nothing", "heads", "all"])
    def make(self, request: pytest.FixtureRequest) -> Make:
        return _expecting(*request.param)


LOOKS: dict[str, Callable[[Reader], Any]] = {
    "threads": lambda reader: threads.run(reader, threads.ThreadsRequest(limit=0)),
    "threads by size": lambda reader: threads.run(reader, threads.ThreadsRequest(limit=0, order=threads.Order.SIZE)),
    "info": info.run,
    "delete": lambda reader: deletion_plan.plan_threads(reader, ThreadSelection(match="t*")),
    "delete of named ones": lambda reader: deletion_plan.plan_threads(
        reader, ThreadSelection(dict.fromkeys(_ids(reader), ""))
    ),
    "delete verified": lambda reader: verify(
        reader.saver, deletion_plan.plan_threads(reader, ThreadSelection(match="t*")).basis
    ),
    "grep": lambda reader: [
        grep._searched(reader, [t.thread_id for t in page], Needle("7"), grep.Scope())
        for page in _pages(list(reader.saver.threads()))
    ],
}


def _ids(reader: Reader) -> list[str]:
    return [thread.thread_id for thread in reader.saver.threads()]


def _pages(found: list[Any]) -> list[list[Any]]:
    return [found[at : at + Far.page] for at in range(0, len(found), Far.page)]


@pytest.mark.parametrize("name", LOOKS)
def test_calls_are_made_by_the_page(name: str) -> None:
    """Twice as many threads take at most twice as many calls: a few for each page, none for each thread."""
    totals = {}
    for count in (40, 80):
        saver = Far(
            _body(r)
            for n in range(count)
            for r in (checkpoint(f"t{n}", "1"), checkpoint(f"t{n}", "2", parent_id="1"), write(f"t{n}", "2"))
        )
        reader = Reader(saver, Codec())
        saver.calls.clear()
        reader.moment(lambda reader=reader: LOOKS[name](reader))
        totals[count] = saver.calls.total()
        assert totals[count] <= 7 * count / Far.page, saver.calls


def _body(record: Checkpoint | Write) -> Checkpoint | Write:
    from ckpt_cli.model import Payload

    if isinstance(record, Write):
        return record
    data = b'{"v": 4, "channel_values": {"a": 7}, "channel_versions": {"a": 1}, "versions_seen": {}}'
    return record._replace(body=Payload("json", data))


def test_every_method_is_passed_on() -> None:
    """Each method of the contract is passed on to the saver behind, also those with a default."""
    methods = {name for name, value in vars(Saver).items() if callable(value) and not name.startswith("_")}
    assert methods - vars(PrefetchingSaver).keys() - vars(PassingSaver).keys() == {"apply", "take_back"}


def test_a_hint_about_large_checkpoints_fetches_a_few_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a hint doesn't fetch is read when it is asked for: the same records, in the same order."""
    monkeypatch.setattr("ckpt_cli.savers.fetched_records._BYTES", 100)
    ids = [f"{n}" for n in range(9)]
    large = Payload("bytes", b"v" * 60)
    records = [checkpoint("t", i)._replace(body=large) for i in ids]
    records_and_writes = [*records, *(write("t", i)._replace(payload=large, size=60) for i in ids)]
    saver, refs = PrefetchingSaver(Far(records_and_writes)), [one.row.ref for one in records]
    saver.expect(refs)
    assert len(saver._fetched.checkpoints) == 2
    assert [one.row.ref for one in saver.checkpoints(refs)] == refs
    assert [one.row.ref for one in saver.checkpoints(refs[::-1])] == refs[::-1]
    assert [one.payload for i in ids for one in saver.writes("t", "", [i])] == [large] * len(ids)


@pytest.mark.parametrize("whole", [False, True])
def test_a_closer_look_at_threads_reads_what_is_missing(whole: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows, heads and, if the engine reads them anyway, writes of `head_reads` aren't read again, even after a hint."""
    monkeypatch.setattr(Far, "reads_whole_writes", whole)
    ids = [f"t{n}" for n in range(10)]
    records = [checkpoint(i, "1") for i in ids] + [write(i, "1") for i in ids[::2]]
    far = Far(records)
    saver = PrefetchingSaver(far)

    def look() -> None:
        listed = list(saver.threads())
        assert {read.writes is None for read in saver.head_reads([one.head for one in listed])} == {not whole, False}
        far.calls.clear()
        saver.expect_threads(listed)
        assert far.calls == ({} if whole else {"writes_on": 1})
        for one in listed:
            assert [*saver.rows(one.thread_id)] == [*MemorySaver.rows(far, one.thread_id)]
            assert [*saver.checkpoints([one.head])] == [*MemorySaver.checkpoints(far, [one.head])]
            assert [*saver.writes_on([one.head])] == [*MemorySaver.writes_on(far, [one.head])]

    saver.moment(look)
    far.calls.clear()
    saver.moment(lambda: saver.expect_threads(list(saver.threads())))
    assert far.calls.keys() == {"rows_of", "checkpoints", "writes_on"}, "the next moment reads all again"


class Busy(Far):
    """A server without moments: after each read of rows or of a head, the application stores a further checkpoint."""

    def _goes_on(self) -> None:
        last = max(row.checkpoint_id for row in MemorySaver.rows(self, "t"))
        new = _body(checkpoint("t", f"{int(last) + 1}", parent_id=last))
        self._checkpoints |= MemorySaver([new])._checkpoints

    def rows(self, thread_id: str, ns: str | None = None) -> Iterator[CheckpointRow]:
        yield from list(MemorySaver.rows(self, thread_id, ns))
        self._goes_on()

    def rows_of(self, thread_ids: Collection[str]) -> Iterator[CheckpointRow]:
        for thread_id in thread_ids:
            yield from self.rows(thread_id)

    def newest(self, thread_id: str, ns: str, limit: int) -> list[CheckpointRow]:
        found = MemorySaver.newest(self, thread_id, ns, limit)
        self._goes_on()
        return found


@pytest.mark.parametrize("first", ["rows", "head", "hint"])
def test_a_moment_has_one_head(first: str) -> None:
    """An application writes between two reads: the head is on the tree, and the basis has the head that was used."""
    saver = Busy([_body(checkpoint("t", "1"))])
    reader = Reader(saver, Codec())

    def look() -> str:
        if first == "hint":
            reader.saver.expect_whole(["t"])
        if first == "rows":
            reader.lineage("t")
        head = reader.head("t")
        assert list(reader.lineage("t").line(head.checkpoint_id))
        assert reader.head("t") == head
        assert basis_of_heads(reader.saver, "t") != basis_of_heads(saver, "t"), "verify refuses"
        return head.checkpoint_id

    assert reader.moment(look) < reader.moment(look), "the next moment sees the next head"
