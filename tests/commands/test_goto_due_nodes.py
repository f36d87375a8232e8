"""A Command's goto to a node that is due already: the node ran, though it saw a later version than the checkpoint's."""

import json
import operator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from ckpt_cli.app import run
from tests.graphs.building import on


class _State(TypedDict, total=False):
    n: Annotated[int, operator.add]


def _asked(fails: list[bool]) -> Any:
    if fails:
        raise ValueError(fails.pop())
    return {"n": interrupt("how many?")}


@pytest.mark.parametrize("kind", ["asked", "failed", "stopped"])
def test_its_writes_count(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whether it asked, failed or was stopped: `log` names it, `verify` and `update` know the reducer of all steps."""
    path, fails = str(tmp_path / "t.sqlite"), [True] if kind == "failed" else []
    builder = StateGraph(_State).add_node("load", lambda _: _asked(fails) if kind != "stopped" else {"n": 5})
    builder.add_node("beside", lambda _: {"n": 10}).add_edge(START, "load").add_edge(START, "beside")
    with SqliteSaver.from_conn_string(path) as saver:
        app = builder.compile(saver, interrupt_before=["load"] if kind == "stopped" else [])
        if kind == "failed":
            with pytest.raises(ValueError, match="True"):
                app.invoke({"n": 1}, on("t"))
            app.invoke(Command(goto="load"), on("t"))
        else:
            app.invoke({"n": 1}, on("t"))
        answer = {} if kind == "stopped" else {"resume": 5}
        assert app.invoke(Command(goto="load", **answer), on("t"))["n"] == 16
    assert run(["log", "t", "-n", "1", "--json", "-d", path]) == 0
    [row] = json.loads(capsys.readouterr().out)["steps"]
    assert row["nodes"] == {"load": 1, "beside": 1}
    assert run(["verify", "t", "--reducer", "n=sum", "--strict", "-d", path]) == 0
    assert "3 agrees\n" in capsys.readouterr().out
    assert run(["update", "t", "--as-node", "load", "--values", '{"n": 3}', "--dry-run", "-d", path]) == 0
    assert "n sum (2 of 2 steps)" in capsys.readouterr().out
