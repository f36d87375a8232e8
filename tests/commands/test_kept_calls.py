"""Results of ``@task`` calls that ``edit --task`` kept: they ran once, where they were called first."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.func import entrypoint, task

from ckpt_cli.app import run

ON: Any = {"configurable": {"thread_id": "t"}}
CALLED: list[str] = []
DOWN: set[str] = set()


@task
def split(text: str) -> list[str]:
    """The sentences."""
    CALLED.append("split")
    return text.split(". ")


@task
def translate(sentence: str) -> str:
    """One of them; some fail at first."""
    CALLED.append(sentence)
    if sentence in DOWN:
        raise ValueError(sentence)
    return sentence.upper()


def flow(saver: SqliteSaver) -> Any:
    """An entrypoint that calls one after the other."""

    @entrypoint(checkpointer=saver)
    def pipeline(given: dict[str, str]) -> list[str]:
        return [translate(sentence).result() for sentence in split(given["text"]).result()]

    return pipeline


def test_each_call_counts_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In `graph` and in `trace`, after the edit and after the run that goes on, as the functions count."""
    path = tmp_path / "t.sqlite"
    CALLED.clear()
    DOWN.update({"Two"})
    with SqliteSaver.from_conn_string(str(path)) as saver:
        with suppress(ValueError):
            flow(saver).invoke({"text": "One. Two. Three"}, ON)
        words = ["edit", "t", "--task", "pipeline", "--set", 'text="One. Two. Four"', "--keep-task", "split"]
        assert run([*words, "--keep-task", "translate", "--yes", "-d", str(path)]) == 0
        counts = []
        for is_last in (False, True):
            capsys.readouterr()
            assert run(["graph", "t", "-d", str(path), "--json"]) == 0
            (node,) = json.loads(capsys.readouterr().out)["graphs"][0]["nodes"]
            assert run(["trace", "t", "-d", str(path), "--json"]) == 0
            calls = [one for one in json.loads(capsys.readouterr().out)["nodes"] if one["kind"] == "call"]
            counts.append((node["calls"], sum(one["runs"] for one in calls), len(CALLED)))
            if not is_last:
                DOWN.clear()
                assert flow(saver).invoke(None, ON) == ["ONE", "TWO", "THREE"]
    assert counts == [(3, 3, 3), (5, 5, 5)]
