"""One saver object works in one event loop after the other, with each async method: it belongs to no loop."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command
from psycopg_pool import ConnectionPool

from ckpt_cli.langgraph import CkptSaver
from tests.graphs.building import on
from tests.graphs.lines import asking
from tests.langgraph.places import places

_ASYNC_SAVER = """
from contextlib import asynccontextmanager
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

@asynccontextmanager
async def checkpointer():
    async with AsyncSqliteSaver.from_conn_string({path!r}) as saver:
        yield saver
"""


@pytest.fixture(params=["sqlite", "postgres", "pool", "redis"])
def saver(request: pytest.FixtureRequest) -> Iterator[CkptSaver]:
    """A saver of each way to connect: a file, a server, a pool, a client."""
    if request.param == "pool":
        with ConnectionPool(places(request, "postgres")().url, open=True) as pool, CkptSaver(pool) as saver:
            yield saver
    else:
        with CkptSaver(places(request, request.param)().url) as saver:
            yield saver


def test_each_method_in_several_loops(saver: CkptSaver) -> None:
    """Calls, and a list that was begun, go on in another loop after the first is closed."""
    graph = asking(saver)
    asyncio.run(graph.ainvoke({"log": []}, on("t")))
    listed = saver.alist(on("t"))
    with asyncio.Runner() as runner:
        first = runner.run(anext(listed))  # type: ignore[arg-type]
    assert asyncio.run(saver.aget_tuple(on("t"))) == first
    assert asyncio.run(_rest(listed)) == [*saver.list(on("t"))][1:]
    state: Any = asyncio.run(graph.ainvoke(Command(resume="yes"), on("t")))
    assert state["log"] == ["write", "yes", None, "send"]
    assert len(asyncio.run(_rest(saver.alist(on("t"))))) == 5
    config: Any = first.config
    asyncio.run(saver.aput_writes(config, [("a", 1)], "another task"))
    assert ("another task", "a", 1) in (asyncio.run(saver.aget_tuple(config)).pending_writes or [])  # type: ignore[union-attr]
    asyncio.run(saver.aget_delta_channel_history(config=config, channels=["log"]))
    asyncio.run(saver.acopy_thread("t", "copy"))
    asyncio.run(saver.aprune(["copy"]))
    assert len(asyncio.run(_rest(saver.alist(on("copy"))))) == 1
    asyncio.run(saver.adelete_for_runs(["no such run"]))
    asyncio.run(saver.adelete_thread("t"))
    assert asyncio.run(saver.aget_tuple(on("t"))) is None


def test_an_async_saver_of_langgraph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An async saver of LangGraph's own, which belongs to one loop, is read from several."""
    path = str(tmp_path / "own.sqlite")
    (tmp_path / "own_async_saver.py").write_text(_ASYNC_SAVER.format(path=path))
    monkeypatch.syspath_prepend(tmp_path)

    async def fill() -> None:
        async with AsyncSqliteSaver.from_conn_string(path) as own:
            await asking(own).ainvoke({"log": []}, on("t"))

    asyncio.run(fill())
    with CkptSaver("own_async_saver:checkpointer") as saver:
        found = [asyncio.run(saver.aget_tuple(on("t"))) for _ in range(2)]
        listed = [asyncio.run(_rest(saver.alist(on("t")))) for _ in range(2)]
    assert found[0] == found[1] == listed[0][0]
    assert listed[0] == listed[1]
    assert len(listed[0]) == 3


async def _rest(listed: Any) -> list[Any]:
    return [item async for item in listed]
