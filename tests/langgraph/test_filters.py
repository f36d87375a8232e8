"""A filter of ``list`` selects what LangGraph's own saver of that database selects, found by the engine itself."""

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import date
from itertools import islice
from random import Random
from typing import Any, ClassVar, NamedTuple

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.memory import InMemorySaver

from ckpt_cli.langgraph import CkptSaver
from ckpt_cli.savers.url import open_database
from tests.cross.backend import Backend
from tests.langgraph.generated_filters import Metadata, filters, metadata_of
from tests.langgraph.places import PLACES, places

FILTERS = int(os.environ.get("CKPT_FILTERS", "60"))
"""How many filters each kind of database gets; 500 take some minutes in all."""

TYPED = ("mongodb", "dynamodb")
"""Savers that serialize the values of metadata."""

IN_PYTHON = ("dynamodb", "valkey")
"""Savers whose own ``list`` compares metadata in Python."""

SPACES = ("", "sub:1")


class Filtered(NamedTuple):
    """One database with checkpoints, read by both savers."""

    kind: str
    mine: CkptSaver
    theirs: BaseCheckpointSaver[Any]
    stored: list[Metadata]
    ids: list[str]

    def configs(self) -> list[Any]:
        """What can be listed; not every own saver lists all threads, or all namespaces in one order."""
        spaces = [named(thread_id, ns) for thread_id in ("t", "T") for ns in SPACES]
        return spaces if self.kind in IN_PYTHON else [*spaces, named("t"), named("no such thread"), None]


def named(thread_id: str, ns: str | None = None) -> Any:
    return {"configurable": {"thread_id": thread_id} | ({} if ns is None else {"checkpoint_ns": ns})}


@pytest.fixture(params=PLACES)
def filtered(request: pytest.FixtureRequest) -> Iterator[Filtered]:
    """Each kind of database, with checkpoints that its own saver wrote."""
    kind: str = request.param
    place: Backend = places(request, kind)()
    with place.official() as theirs:
        stored, ids = fill(theirs, Random(12), typed=kind in TYPED)
        with CkptSaver(place.url) as mine:
            yield Filtered(kind, mine, theirs, stored, ids)


def fill(saver: BaseCheckpointSaver[Any], random: Random, *, typed: bool) -> tuple[list[Metadata], list[str]]:
    """Checkpoints of two threads whose ids differ in case, and of two namespaces."""
    stored, ids = [], []
    for step in range(32):
        checkpoint: Any = {"v": 4, "id": str(uuid6(clock_seq=step)), "ts": "", "channel_values": {}}
        checkpoint |= {"channel_versions": {}, "versions_seen": {}, "updated_channels": None}
        metadata: Any = metadata_of(random, step, typed=typed)
        saver.put(named("tT"[step % 2], SPACES[step // 2 % 2]), checkpoint, metadata, {})
        stored.append(metadata)
        ids.append(checkpoint["id"])
    return stored, ids


def own_ids(one: Filtered, config: Any, wanted: Any, before: str | None, limit: int | None) -> list[str]:
    """What LangGraph's own saver lists, without its deviations from LangGraph's interface.

    Redis' takes the root's name for any namespace and ignores `before`; to Redis' and MySQL's, threads are the same if
    their ids differ in case only; Valkey's leaves out checkpoints behind a limit if a filter is given.
    """
    if one.kind not in ("redis", "valkey", "mysql"):
        return [id_of(item) for item in one.theirs.list(config, filter=wanted, **words(before, limit))]
    here = [item.config["configurable"] for item in one.theirs.list(config, filter=wanted)]
    asked = {} if config is None else config["configurable"]
    ids = [own["checkpoint_id"] for own in here if asked.items() <= own.items()]
    return [own for own in ids if before is None or own < before][:limit]


def words(before: str | None, limit: int | None) -> Any:
    return {"before": before and {"configurable": {"checkpoint_id": before}}, "limit": limit}


def id_of(item: Any) -> str:
    return str(item.config["configurable"]["checkpoint_id"])


def outcome(ids: Callable[[], list[str]], expected: type[Exception] = Exception) -> Any:
    """The ids, or the kind of error: a wrong type, or a key or value that is refused."""
    try:
        return ids()
    except TypeError:
        return "wrong type"
    except expected:
        return "refused"


def test_the_same_ids_or_error(filtered: Filtered) -> None:
    """Whatever the filter: the same ids in the same order as the own saver, or an error of the same kind."""
    random = Random(FILTERS)
    results: list[Any] = []
    different: list[Any] = []
    for wanted in islice(filters(random, filtered.stored), FILTERS):
        config, limit = random.choice(filtered.configs()), random.choice((None, None, 1, 2, 5))
        before = random.choice((None, None, random.choice(filtered.ids)))
        theirs = outcome(lambda: own_ids(filtered, config, wanted, before, limit))  # noqa: B023
        listed = lambda: filtered.mine.list(config, filter=wanted, **words(before, limit))  # noqa: B023, E731
        mine = outcome(lambda: [id_of(item) for item in listed()], ValueError)  # noqa: B023
        results.append(mine)
        if mine != theirs:
            different.append((wanted, config, before, limit, mine, theirs))
    assert different == []
    assert sum(bool(result) for result in results if isinstance(result, list)) > FILTERS // 20


def test_async(filtered: Filtered) -> None:
    """``alist`` gives what ``list`` gives."""

    async def ids() -> list[str]:
        listed = filtered.mine.alist(named("t", ""), filter={"source": "loop"}, limit=3)
        return [id_of(item) async for item in listed]

    mine = filtered.mine.list(named("t", ""), filter={"source": "loop"}, limit=3)
    assert asyncio.run(ids()) == [id_of(item) for item in mine] != []


def test_no_more_is_read_than_needed(filtered: Filtered, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the own saver's filter runs in the server, ours does: only checkpoints that are given are read."""
    if filtered.kind in IN_PYTHON:
        return
    saver = filtered.mine._saver
    read: list[Any] = []
    checkpoints = saver.checkpoints
    monkeypatch.setattr(saver, "checkpoints", lambda refs: checkpoints([read.append(ref) or ref for ref in refs]))
    monkeypatch.setattr(saver, "metadata", None)
    monkeypatch.setattr(saver, "rows", None)
    listed = filtered.mine.list(named("t"), filter={"source": "loop"}, **words(max(filtered.ids), 2))
    assert [id_of(item) for item in listed] == [ref.checkpoint_id for ref in read]
    assert len(read) == 2


@pytest.mark.parametrize("filtered", ["redis"], indirect=True)
def test_redis_without_its_index(filtered: Filtered, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Redis' index can't be used, the same fields are compared as the index compares them."""
    random = Random(FILTERS)
    chosen = list(islice(filters(random, filtered.stored), 5 * FILTERS))
    indexed = [outcome(lambda: ids_of_all(filtered, wanted)) for wanted in chosen]  # noqa: B023
    monkeypatch.setattr(filtered.mine._saver, "_index", None)
    assert [outcome(lambda: ids_of_all(filtered, wanted)) for wanted in chosen] == indexed  # noqa: B023
    assert sum(bool(result) and result != filtered.ids[::-1] for result in indexed if isinstance(result, list)) > 9


def ids_of_all(one: Filtered, wanted: Any) -> list[str]:
    return [id_of(item) for item in one.mine.list(None, filter=wanted)]


class Recorded(InMemorySaver):
    """A checkpointer of somebody's own, which records how it is asked."""

    asked: ClassVar[list[Any]] = []

    def list(self, config: Any, **words: Any) -> Any:
        self.asked.append((config, words))
        return super().list(config, **words)


own = Recorded()


def test_a_checkpointer_of_ones_own_filters_itself() -> None:
    """A checkpointer of the user's own gets the filter, `before` and the limit, and what it selects is listed."""
    stored, ids = fill(own, Random(3), typed=True)
    with closing(open_database(f"{__name__}:own", lambda _: None)) as saver:
        mine = CkptSaver(saver)
        wanted, before = {"source": "loop", "user": date(2026, 11, 22)}, {"configurable": {"checkpoint_id": ids[-1]}}
        assert list(mine.list(named("t", ""), filter=wanted, before=before, limit=4)) == []
        assert own.asked[-1] == (named("t", ""), {"filter": wanted, "before": before, "limit": 4})
        expected = [i for i, m in zip(ids, stored, strict=True) if m["source"] == "loop"][::-1]
        assert sorted(map(id_of, mine.list(None, filter={"source": "loop"})), reverse=True) == expected
