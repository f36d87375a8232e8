"""An agent whose server is stopped and started again gets clear errors, and then goes on with the same saver object."""

import asyncio
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from ckpt_cli.errors import CkptError, DatabaseUnreachable
from ckpt_cli.langgraph import CkptSaver
from tests.graphs.building import line, on
from tests.servers.restartable import (
    Restartable,
    restartable_mysql,
    restartable_postgres,
    restartable_redis,
    restartable_valkey,
)

AT_ONCE = 12
"""How many agents run while the server is stopped."""


SERVERS = {
    "postgres": restartable_postgres,
    "mysql": restartable_mysql,
    "redis": restartable_redis,
    "valkey": restartable_valkey,
}


@pytest.fixture(scope="module", params=SERVERS.values(), ids=SERVERS)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Restartable]:
    """A server of this module's own."""
    yield from request.param(request.config, tmp_path_factory.mktemp("restarted"))


CHECKPOINT: Any = {"v": 4, "id": "1", "ts": "", "channel_values": {}, "channel_versions": {}, "versions_seen": {}}
ONE: Any = {"configurable": {"thread_id": "other", "checkpoint_ns": "", "checkpoint_id": "1"}}


async def at_once(saver: CkptSaver) -> None:
    """Calls of several tasks in the same moment; each fails with an error of its own, or none does."""
    calls = [saver.aput_writes(ONE, [("a", 1)], f"task {number}") for number in range(5)]
    errors = [error for error in await asyncio.gather(*calls, return_exceptions=True) if error is not None]
    if errors:
        assert len({id(error) for error in errors}) == len(calls)
        assert len({(type(error), str(error)) for error in errors}) == 1
        raise errors[0]


CALLS: dict[str, Callable[[CkptSaver], Any]] = {
    "get_tuple": lambda saver: saver.get_tuple(on("calls")),
    "list": lambda saver: list(saver.list(on("calls"))),
    "list filtered": lambda saver: list(saver.list(on("calls"), filter={"step": 1})),
    "put": lambda saver: saver.put(ONE, CHECKPOINT, {"source": "loop", "step": 1}, {}),
    "put_writes": lambda saver: saver.put_writes(ONE, [("a", 1)], "task"),
    "aput_writes": lambda saver: asyncio.run(at_once(saver)),
    "get_delta_channel_history": lambda saver: saver.get_delta_channel_history(config=on("calls"), channels=["log"]),
    "delete_thread": lambda saver: saver.delete_thread("other"),
    "delete_for_runs": lambda saver: saver.delete_for_runs(["run"]),
    "prune": lambda saver: saver.prune(["calls"]),
    "copy_thread": lambda saver: saver.copy_thread("calls", "copy"),
    "invoke": lambda saver: line(saver, "a").invoke({"log": []}, on("calls")),
    "ainvoke": lambda saver: asyncio.run(line(saver, "a").ainvoke({"log": []}, on("calls"))),
}


def test_every_call(server: Restartable) -> None:
    """Without a server each call says that none answers, and after a restart each goes on, whichever comes first."""
    with CkptSaver(server.url) as saver:
        line(saver, "a").invoke({"log": []}, on("calls"))
        server.stop()
        for name, call in CALLS.items():
            with pytest.raises(DatabaseUnreachable, match=r"no server answers|the connection was lost") as caught:
                call(saver)
            assert caught.value.hint, name
        server.start()
        for call in CALLS.values():
            call(saver)
            server.restart()
        assert line(saver, "a").get_state(on("copy")).values["log"] == ["a"]
        assert line(saver, "a").get_state(on("calls")).values["log"] == ["a"] * 3


def test_while_agents_run(server: Restartable) -> None:
    """Agents that run meanwhile end, or fail with an error of ckpt's own; each then goes on from what it has stored."""
    with CkptSaver(server.url) as saver:
        names = [f"node {n}" for n in range(6)]
        graph = line(saver, *names)

        def live(number: int) -> Exception | None:
            try:
                graph.invoke({"log": []}, on(f"run {number}"), durability="sync")
            except CkptError as error:
                return error
            return None

        with ThreadPoolExecutor(AT_ONCE) as pool:
            running = [pool.submit(live, number) for number in range(AT_ONCE * 2)]
            server.restart()
            errors = [one.result() for one in running]
        told = [str(error) for error in errors if error is not None]
        assert told
        assert [
            text
            for text in told
            if not re.search(r"no server answers|the connection was lost|connection failed|isn't ready|loading", text)
        ] == []
        for number, error in enumerate(errors):
            config = on(f"run {number}")
            if error is not None:
                stored = saver.get_tuple(config)  # `next` is empty too where a finished task's checkpoint is missing
                graph.invoke({"log": []} if stored is None else None, config)
            assert graph.get_state(config).values["log"] == names
            assert len(list(graph.get_state_history(config))) == len(names) + 2
