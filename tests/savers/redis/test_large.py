"""Databases with more checkpoints than a search gives at once."""

from contextlib import closing

import pytest

from ckpt_cli.model import Payload
from tests.savers.redis.kinds import Kind
from tests.work import peak

COUNT = 10_100  # of RediSearch's own accord, FT.SEARCH ends at 10,000


@pytest.mark.parametrize("kind", ["redis"], indirect=True)
def test_nothing_ends_at_ten_thousand(kind: Kind) -> None:
    """More than 10,000 threads are counted, listed and found completely by the index."""
    ids = [f"t{n}" for n in range(COUNT)]
    with closing(kind.open_url(kind.filled(kind.samples.checkpoint(thread_id, "1") for thread_id in ids))) as saver:
        totals = saver.totals()
        assert (totals.threads, totals.checkpoints) == (COUNT, COUNT)
        assert sorted(thread.thread_id for thread in saver.threads()) == sorted(ids)
        assert [row.thread_id for row in saver.rows_of(ids)] == sorted(ids)


@pytest.mark.parametrize("kind", ["redis"], indirect=True)
def test_large_writes_are_read_a_few_at_a_time(kind: Kind) -> None:
    """The writes of a thread come in order, and only some megabytes of their values are in memory."""
    sizes = [10, 1_000_000, 20, *[500_000] * 60]
    payloads = [Payload("bytes", bytes([65 + n % 26]) * size) for n, size in enumerate(sizes)]
    records = [kind.samples.checkpoint("t", "1")]
    records += [kind.samples.write("t", "1", task_id=f"{n:04}", payload=payload) for n, payload in enumerate(payloads)]
    with closing(kind.open_url(kind.filled(records))) as saver:
        assert [write.payload for write in saver.writes("t", "")] == payloads
        total = 0

        def read() -> None:
            nonlocal total
            total = sum(write.size for write in saver.writes("t", ""))

        assert peak(read) < sum(sizes) / 1.2
        assert total == sum(sizes)


def test_large_writes_of_many_checkpoints_are_read_a_few_at_a_time(kind: Kind) -> None:
    """Of a thread that wrote much at each of its checkpoints, only some megabytes are in memory."""
    size, ids = 400_000, [f"{n:03}" for n in range(80)]
    records = [kind.samples.checkpoint("t", one) for one in ids]
    records += [kind.samples.write("t", one, payload=Payload("bytes", b"x" * size)) for one in ids]
    with closing(kind.open_url(kind.filled(records))) as saver:
        assert [write.size for write in saver.writes("t", "")] == [size] * len(ids)
        assert peak(lambda: sum(write.size for write in saver.writes("t", ""))) < size * len(ids) / 1.5
