"""Every kind of database but SQLite: anything in any field of any row, and every command still reads the rest."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.damage.kinds import COUNT, Kind
from tests.damage.looking import SOME, ask, must_answer
from tests.damage.of_items import OnDynamo
from tests.damage.of_keys import OnAgentCore, OnRedis, OnRedisScanned, OnValkey
from tests.damage.of_pickles import OnPickles
from tests.damage.of_tables import OnMySQL, OnPostgres

SETTINGS = settings(
    max_examples=COUNT,
    deadline=None,
    derandomize=True,
    database=None,
    phases=(Phase.generate,),  # each example is a second of commands: too long to look for a smaller one
    suppress_health_check=list(HealthCheck),
)

_MAKE: dict[str, Callable[[Callable[[str], Any], Path], Kind]] = {
    "redis": lambda fixture, _: OnRedis(fixture("redis_server")),
    "redis, scanned": lambda fixture, _: OnRedisScanned(fixture("redis_server")),
    "valkey": lambda fixture, _: OnValkey(fixture("valkey_server")),
    "agentcore": lambda fixture, _: OnAgentCore(fixture("valkey_server")),
    "dynamodb": lambda fixture, _: OnDynamo(fixture("dynamo"), fixture("table")()),
    "postgres": lambda fixture, _: OnPostgres(fixture("postgres")),
    "postgres, javascript": lambda fixture, _: OnPostgres(fixture("postgres"), "pg-js"),
    "postgres, 0.2": lambda fixture, _: OnPostgres(fixture("postgres"), "old/pg-oldv02"),
    "postgres, shallow": lambda fixture, _: OnPostgres(fixture("postgres"), "pg-shallow"),
    "mysql": lambda fixture, _: OnMySQL(fixture("mysql")),
    "langgraph dev": lambda _, folder: OnPickles(folder),
}


@pytest.fixture(scope="module", params=_MAKE)
def kind(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kind]:
    """Each kind of database, sound."""
    found = _MAKE[request.param](request.getfixturevalue, tmp_path_factory.mktemp("damage"))
    yield found
    found.close()


@pytest.fixture(autouse=True)
def tracebacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug comes with its traceback."""
    monkeypatch.setenv("CKPT_TRACEBACK", "1")


def threads(kind: Kind) -> dict[str, Any]:
    """The line of `ckpt threads` for each thread."""
    answer = ask(kind.url, "threads", "--limit", "0", "--json")
    assert answer.code in (0, 5), answer.err
    return {thread["thread_id"]: thread for thread in json.loads(answer.out)["threads"]}


@SETTINGS
@given(data=st.data(), asked=SOME)
def test_one_row_stops_nothing(kind: Kind, data: st.DataObject, asked: list[tuple[str, ...]]) -> None:
    """No command has a bug, the other threads are listed as before, and the damaged one is deleted and comes back."""
    kind.left -= 1
    if kind.left < 0:
        return
    kind.restore()
    before = threads(kind)
    owner = kind.harm(data.draw)
    after = threads(kind)
    assert {i: said for i, said in before.items() if i != owner} == {i: after.get(i) for i in before if i != owner}
    odd = sorted({owner, *(after.keys() - before.keys())})
    for thread in odd:
        must_answer(kind.url, asked, thread)
    stored = kind.dump()
    for thread in [thread for thread in odd if thread in after and kind.written]:
        gone = ask(kind.url, "delete", "--yes", "--", thread)
        assert gone.code == 0, gone.err
        assert threads(kind).keys() == after.keys() - {thread}
        back = ask(kind.url, "undo", "--yes")
        assert back.code == 0, back.err
        assert kind.dump() == stored
