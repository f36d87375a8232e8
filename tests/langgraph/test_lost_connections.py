"""An agent whose server ends its sessions goes on: each of its statements may run twice with the effect of once."""

from typing import Any

import pytest

from ckpt_cli.errors import CkptError
from ckpt_cli.langgraph import CkptSaver
from tests.graphs.building import line, on

_SESSIONS = {
    "postgres": "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '{}'",
    "mysql": "SELECT id FROM information_schema.processlist WHERE db = '{}'",
}


def end_sessions(server: Any, kind: str, name: str) -> None:
    """End every session on a database."""
    rows = server.run(_SESSIONS[kind].format(name))
    assert rows
    if kind == "mysql":
        server.run(*(f"KILL {number}" for (number,) in rows))


@pytest.mark.parametrize("kind", _SESSIONS)
def test_it_goes_on(request: pytest.FixtureRequest, kind: str) -> None:
    """Reads and writes connect again, also where the session is lost in the middle of a run."""
    server = request.getfixturevalue(kind)
    name = server.fresh()
    with CkptSaver(server.url(name)) as saver:
        graph = line(saver, "a", "b")
        for turn in range(3):
            assert graph.invoke({"log": []}, on("t"))["log"] == ["a", "b"] * (turn + 1)
            end_sessions(server, kind, name)
        assert graph.get_state(on("t")).values["log"] == ["a", "b"] * 3
        end_sessions(server, kind, name)
        for _ in graph.stream({"log": []}, on("t"), stream_mode="values", durability="sync"):
            end_sessions(server, kind, name)
        assert graph.get_state(on("t")).values["log"] == ["a", "b"] * 4
        assert len(list(graph.get_state_history(on("t")))) == 16


@pytest.mark.parametrize("kind", _SESSIONS)
def test_a_server_that_is_gone(request: pytest.FixtureRequest, kind: str) -> None:
    """A database that was dropped is an error of ckpt's own, for reads and for writes."""
    server = request.getfixturevalue(kind)
    name = server.fresh()
    with CkptSaver(server.url(name)) as saver:
        graph = line(saver, "a")
        graph.invoke({"log": []}, on("t"))
        server.run(f"DROP DATABASE {name}" + (" WITH (FORCE)" if kind == "postgres" else ""))
        with pytest.raises(CkptError, match=name):
            saver.get_tuple(on("t"))
        config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "1"}}
        with pytest.raises(CkptError, match=name):
            saver.put_writes(config, [("a", 1)], "task")
