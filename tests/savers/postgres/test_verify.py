"""``ckpt verify`` where each value is stored once, under its channel's version: values that are gone, or shared."""

import json
import operator
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, TypedDict, cast

import psycopg
import pytest
from langgraph.channels import EphemeralValue
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.app import run
from ckpt_cli.commands.replay import replay
from ckpt_cli.commands.verify import verify
from ckpt_cli.session import Session
from ckpt_cli.views.verify import Finding
from tests.commands.planted import ON, graph, record
from tests.servers.postgres import PostgresServer


def recorded(postgres: PostgresServer) -> str:
    """A new database with the history."""
    url = postgres.space()
    with PostgresSaver.from_conn_string(url) as saver:
        saver.setup()
        record(saver)
    return url


def found_in(url: str) -> list[Finding]:
    """What is found in the thread."""
    with closing(Session(url)) as session:
        [thread] = verify(session, ["t"]).threads
        return thread.findings


def history(url: str) -> list[Any]:
    """The checkpoints of the root graph, newest first."""
    with PostgresSaver.from_conn_string(url) as saver:
        return list(graph(saver).get_state_history(ON))


def test_a_value_that_is_gone(postgres: PostgresServer) -> None:
    """A deleted blob is found at the checkpoint that made it, and nowhere else is anything wrong."""
    url = recorded(postgres)
    made = next(one for one in history(url) if one.metadata["step"] == 26)  # a node appended to the list there
    with psycopg.connect(url) as connection:
        sql = (
            "DELETE FROM checkpoint_blobs b USING checkpoints c WHERE c.checkpoint_id = %s AND b.channel = 'log'"
            " AND b.version = c.checkpoint->'channel_versions'->>'log'"
        )
        assert connection.execute(sql, (made.config["configurable"]["checkpoint_id"],)).rowcount == 1
    found = found_in(url)
    assert {(one.kind, one.verdict) for one in found} == {("blob-gone", "differs")}, found
    gone = [one for one in found if one.kind == "blob-gone"]
    assert [(one.verdict, one.channel, one.count) for one in gone] == [("differs", "log", 1)]
    assert gone[0].checkpoints[0].checkpoint_id == made.config["configurable"]["checkpoint_id"]


def test_every_look_says_that_a_value_is_lost(postgres: PostgresServer, capsys: pytest.CaptureFixture[str]) -> None:
    """At the step that made it and later under the same version, a lost value isn't an empty one."""
    url = recorded(postgres)
    with psycopg.connect(url) as connection:
        sql = "SELECT checkpoint->'channel_versions'->>'log' FROM checkpoints WHERE metadata->>'step' = '26'"
        [version] = connection.execute(sql + " AND checkpoint_ns = ''").fetchone() or [None]
        connection.execute("DELETE FROM checkpoint_blobs WHERE channel = 'log' AND version = %s", [version])
        same = "SELECT max((metadata->>'step')::int) FROM checkpoints WHERE checkpoint->'channel_versions'->>'log' = %s"
        [last] = connection.execute(same, [version]).fetchone() or [26]
    for step in {26, last}:
        assert run(["get", "t", "log", "--at", f"step:{step}", "-d", url]) == 5
        assert "lost" in capsys.readouterr().err
        assert run(["show", "t", f"step:{step}", "-d", url, "--json"]) in (0, 5)
        log = json.loads(capsys.readouterr().out)["channels"]["log"]
        assert (log["empty"], "lost" in log["problem"]) == (False, True)
    assert run(["diff", "t", "step:25", "step:26", "--stat", "-d", url]) in (0, 5)
    assert "removed" not in capsys.readouterr().out
    assert run(["show", "t", "step:25", "-d", url, "--json"]) == 0
    assert all(not channel["problem"] for channel in json.loads(capsys.readouterr().out)["channels"].values())


def test_a_value_that_two_branches_share(postgres: PostgresServer) -> None:
    """A branch whose version is that of another branch has the other one's value, as LangGraph.js leaves it."""
    url = recorded(postgres)
    fork = next(one for one in history(url) if one.metadata["step"] == 28)
    with PostgresSaver.from_conn_string(url) as saver:
        graph(saver).invoke({"log": ["another branch"], "n": 3}, fork.config)
        head, *_ = states = history(url)
        other = next(one for one in states[1:] if one.metadata["step"] == head.metadata["step"])
        own, others = (saver.get_tuple(one.config).checkpoint["channel_versions"]["log"] for one in (head, other))
    assert found_in(url) == []
    with psycopg.connect(url) as connection:
        sql = (
            "UPDATE checkpoints SET checkpoint = jsonb_set(checkpoint, '{channel_versions,log}', to_jsonb(%s::text))"
            " WHERE checkpoint->'channel_versions'->>'log' = %s"
        )
        assert connection.execute(sql, (others, own)).rowcount == 3
    [one] = found_in(url)
    assert (one.kind, one.verdict, one.channel, one.count) == ("blob-shared", "suspect", "log", 1)
    assert one.checkpoints[0].step == head.metadata["step"] - 2


def test_a_pruned_thread_is_told_so(postgres: PostgresServer) -> None:
    """What the official saver's prune leaves is no fault: the survivors have no parents, and that is said."""
    url = postgres.space()
    with PostgresSaver.from_conn_string(url) as saver:
        saver.setup()
        app = _plain(saver)
        for turn in range(4):
            app.invoke({"n": turn}, ON)
        saver.prune(["t"], strategy="keep_latest")
        assert len(list(app.get_state_history(ON))) == 1
    findings = found_in(url)
    assert {one.verdict for one in findings} == {"unknown"}
    assert "no-parent" in {one.kind for one in findings}


def _plain(saver: Any) -> Any:
    from tests.graphs.building import line

    return line(saver, "a", "b", nodes={"a": lambda s: {"n": s["n"] + 1}, "b": lambda _: {}})


def test_a_channel_that_a_deployment_lacked_keeps_its_value(postgres: PostgresServer, tmp_path: Path) -> None:
    """Even a channel that steps empty: a run of a graph without it doesn't, so that nothing is proved by its value."""

    class Brief(TypedDict, total=False):
        log: Annotated[list[str], operator.add]
        said: Annotated[dict[str, str], EphemeralValue(dict)]

    class Without(TypedDict, total=False):
        log: Annotated[list[str], operator.add]

    with PostgresSaver.from_conn_string(url := postgres.space()) as saver:
        saver.setup()
        for state, wrote in ((Brief, {"said": {"k": "x"}}), (Without, {"log": ["b"]}), (Brief, {"said": {"k": "y"}})):
            node = cast("Any", lambda _, wrote=wrote: wrote)
            builder = StateGraph(state).add_node("first", lambda _: {"log": ["a"]}).add_node("second", node)
            builder.add_edge(START, "first").add_edge("first", "second")
            app = builder.compile(checkpointer=saver)
            app.invoke({"log": []}, cast("Any", ON))
        values = [state.values.get("said") for state in app.get_state_history(cast("Any", ON))]
        assert values.count({"k": "x"}) > 1
    bundle = str(tmp_path / "t.ckpt")
    assert run(["export", "t", "-o", bundle, "-d", url]) == 0
    for place in (url, bundle):
        with closing(Session(place)) as session:
            view = verify(session, ["t"], reducer=["said=ephemeral"])
            [thread] = view.threads
            found = {(one.channel, one.verdict) for one in thread.findings if "kept its value" in one.why}
            assert found == {("said", "unknown")} and view.exit_code == 0
            played = replay(session, "t", "step:1", to="@", reducer=["said=ephemeral"])
            assert {str(one.verdict) for one in played.steps} == {"agrees", "unknown"}
