"""`operations` says what was answered and which channels changed, and keeps no text that the database hides."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import interrupt

from ckpt_cli.app import run
from ckpt_cli.commands import operations
from ckpt_cli.operations.log_paths import default_path
from ckpt_cli.output.cells import cell_len
from ckpt_cli.output.line import Page, plain
from ckpt_cli.output.printer import render
from tests.commands.asking import at
from tests.graphs.building import Log, line, on
from tests.graphs.human_in_the_loop import DELETE, agent
from tests.operations.old_logs import take_back_to

Ckpt = Callable[..., Any]
KEY = "0123456789abcdef"
ANSWER = {"plan": "the sesame plan", "seats": [1, 2, 3]}


def ask(state: Any) -> Any:
    """Ask which plan."""
    return {"log": [interrupt("which plan?")]}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Threads that wait: in the real middleware, in a plain node, in a subgraph; the last in an encrypted database."""
    for name in ("plain", "secret"):
        with closing(sqlite3.connect(tmp_path / name, check_same_thread=False)) as connection:
            serde = {"serde": EncryptedSerializer.from_pycryptodome_aes(key=KEY.encode())} if name == "secret" else {}
            saver = SqliteSaver(connection, **serde)
            agent(saver, "batched", {"delete_user": True}, [DELETE]).invoke({"messages": [("user", "go")]}, on("hitl"))
            desk = line(None, "ask", schema=Log, nodes={"ask": ask})
            line(saver, "desk", schema=Log, nodes={"desk": desk}).invoke({"log": ["hi"]}, on("nested"))
            line(saver, "agent", schema=Log).invoke({"log": ["hi"]}, on("done"))
    return tmp_path / "plain"


def ckpt(path: Path, *words: str) -> None:
    """Run a change."""
    assert run([*words, "-d", str(path), "--yes"]) == 0


def test_each_operation_says_what_was_answered_or_changed(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The decision and its tool call, the answer, the channels; in JSON, in a pipe, and whole with a number."""
    ckpt(path, "resume", "hitl", "--reject", "ask first")
    ckpt(path, "resume", "nested", "--value", json.dumps(ANSWER))
    ckpt(path, "update", "done", "--values", '{"log": ["more"]}')
    view = at(path, operations.operations)
    spelled = json.dumps(ANSWER)
    said = [("changed: log",), (f"ask: {spelled}",), ('reject delete_user {"name": "bob"}: “ask first”',)]
    assert [one.details for one in view.operations] == said
    assert [plain(part).split("\t")[-1] for part in render(view, Page(None, 0))] == [details[0] for details in said]
    for width in (24, 40, 80):
        lines = [plain(part) for part in render(at(path, operations.operations, [2]), Page(width, 0))]
        assert spelled.replace(" ", "") in "".join("".join(lines).split())
        assert all(cell_len(part) <= max(width, 31) or "plan:" in part or "(" in part for part in lines)


def test_many_threads_have_their_answers(path: Path) -> None:
    """The operation on many has a line for each thread, with what it was answered."""
    ckpt(path, "resume", "--match", "nested", "--value", '"sesame"')
    (part,) = at(path, operations.operations, [1]).threads
    assert (part.thread_id, part.details) == ("nested", ('ask: "sesame"',))


def test_an_answer_of_an_encrypted_database_is_no_plain_text(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The log keeps the encrypted rows, and says nothing that they hide."""
    monkeypatch.setenv("LANGGRAPH_AES_KEY", KEY)
    secret = path.with_name("secret")
    ckpt(secret, "resume", "nested", "--value", json.dumps(ANSWER))
    assert at(secret, operations.operations).operations[0].details == ("the answer is encrypted",)
    log = default_path(f"sqlite:{secret.resolve()}")
    assert not any(b"sesame" in file.read_bytes() for file in log.parent.iterdir() if file.is_file())


def test_forgetting_a_thread_wipes_what_it_was_answered(path: Path) -> None:
    """No byte of the answer is left in the log."""
    ckpt(path, "resume", "nested", "--value", json.dumps(ANSWER))
    log = default_path(f"sqlite:{path.resolve()}").parent
    assert any(b"sesame" in file.read_bytes() for file in log.iterdir() if file.is_file())
    ckpt(path, "delete", "nested", "--forget")
    assert not any(b"sesame" in file.read_bytes() for file in log.iterdir() if file.is_file())
    assert [one.details for one in at(path, operations.operations).operations] == [(), ()]


def test_a_log_of_an_earlier_ckpt_has_no_details(path: Path) -> None:
    """It is read as it is, and the next change adds the column."""
    ckpt(path, "resume", "nested", "--value", "1")
    take_back_to(5, default_path(f"sqlite:{path.resolve()}"))
    assert [one.details for one in at(path, operations.operations).operations] == [()]
    ckpt(path, "update", "done", "--values", '{"log": ["more"]}')
    assert [one.details for one in at(path, operations.operations).operations] == [("changed: log",), ()]


def test_an_offered_fork_keeps_the_metadata_that_was_typed(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Pasted, it makes the thread that was asked for under a free name."""
    words = [
        "fork",
        "nested",
        "@",
        "--to",
        "done",
        "--metadata",
        "user=ann b",
        "--metadata",
        "n:=3",
        "--metadata",
        "x=",
    ]
    assert run([*words, "-d", str(path)]) == 7
    hint = " ".join(capsys.readouterr().err.split())
    assert "--to done-2 --metadata 'user=ann b' --metadata n:=3 --metadata x=`" in hint
