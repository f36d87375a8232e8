"""Databases with more checkpoints than a search gives at once."""

from contextlib import closing

import pytest

from tests.savers.redis.kinds import Kind

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
