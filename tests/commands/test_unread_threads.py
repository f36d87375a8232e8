"""Threads that can't be read are said: an alarm whose key is missing isn't silent, nor is a choice of many threads."""

import json
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from ckpt_cli.app import run
from tests.graphs.building import on

KEY = b"0123456789abcdef"


class State(TypedDict, total=False):
    """What the node got for an answer."""

    said: str


def _waiting(folder: Path) -> Path:
    """An encrypted database with a thread that waits for an answer."""
    path = folder / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        saver.serde = EncryptedSerializer.from_pycryptodome_aes(key=KEY)
        builder: Any = StateGraph(State).add_node("ask", lambda _: {"said": interrupt("go on?")})
        builder.add_edge(START, "ask").compile(checkpointer=saver).invoke({"said": "hi"}, on("t"))
    return path


@pytest.mark.parametrize("key", [KEY.decode(), "", "f" * 16], ids=["the key", "no key", "another key"])
def test_a_waiting_thread_without_its_key(
    key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is counted as unreadable, and no condition that it may break holds."""
    path = _waiting(tmp_path)
    monkeypatch.setenv("LANGGRAPH_AES_KEY", key)
    checks = ["waiting == 0", "failed == 0", "oldest_waiting < 1h", "waiting >= 0", "unreadable == 0", "waiting == 1"]
    words = [word for check in checks for word in ("--check", check)]
    code = run(["stats", "-d", str(path), "--json", *words])
    found = json.loads(capsys.readouterr().out)
    is_read = key == KEY.decode()
    assert (found["waiting"], found["unreadable"]) == ((1, 0) if is_read else (0, 1))
    holds = {one["condition"] for one in found["checks"] if one["holds"]}
    readable = {"failed == 0", "oldest_waiting < 1h", "waiting >= 0", "unreadable == 0", "waiting == 1"}
    assert holds == (readable if is_read else {"waiting >= 0"})
    assert code == 1


@pytest.mark.parametrize("chosen", [["--status", "waiting"], ["--where", "said == 'hi'"]], ids=["status", "where"])
@pytest.mark.parametrize("verb", [["delete"], ["prune", "--keep-last", "1"], ["edit", "--set", "said=1"]], ids=str)
def test_many_threads_without_their_key(
    verb: list[str],
    chosen: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A thread whose head can't be read may be one of those that are meant: the command says so, with the reason."""
    monkeypatch.setenv("LANGGRAPH_AES_KEY", "")
    code = run([*verb, *chosen, "--dry-run", "-d", str(_waiting(tmp_path))])
    said = capsys.readouterr().err
    assert "the head of 1 thread can't be read, so some that fit may be left out" in said
    assert "encrypted, and no key was given" in said
    assert code == (4 if verb == ["delete"] else 0)
