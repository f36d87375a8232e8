"""SQLite: any value of any storage class in any column of any row, and every command still reads the rest."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.sqlite import SqliteSaver

from ckpt_cli.savers.sqlite import open_file
from tests.damage.databases import NAMES, Damage, damages, harm, loosened
from tests.damage.kinds import talk
from tests.damage.looking import SOME, ask, must_answer
from tests.databases import KEYS
from tests.operations.databases import dump

COUNT = 8
"""Damaged rows that are looked at by every command; thousands were, once."""
SETTINGS = settings(
    max_examples=COUNT, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)


@pytest.fixture(autouse=True)
def tracebacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug comes with its traceback."""
    monkeypatch.setenv("CKPT_TRACEBACK", "1")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where each damaged database is."""
    return tmp_path_factory.mktemp("damage") / "x.sqlite"


def threads(path: Path) -> dict[str, Any]:
    """The line of `ckpt threads` for each thread."""
    answer = ask(str(path), "threads", "--limit", "0", "--json")
    assert answer.code in (0, 5), answer.err
    return {thread["thread_id"]: thread for thread in json.loads(answer.out)["threads"]}


@pytest.fixture(scope="module")
def sound(path: Path) -> Callable[[str], dict[str, Any]]:
    """The lines of `ckpt threads` before the database is damaged."""

    @cache
    def list_sound(name: str) -> dict[str, Any]:
        path.write_bytes(loosened(name))
        return threads(path)

    return list_sound


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Sets the key of a database that has one."""

    def give(name: str) -> None:
        monkeypatch.delenv("LANGGRAPH_AES_KEY", raising=False)
        if name in KEYS:
            monkeypatch.setenv("LANGGRAPH_AES_KEY", KEYS[name].decode())

    return give


@SETTINGS
@given(name=st.sampled_from(NAMES), damage=damages(), asked=SOME)
def test_one_row_stops_nothing(
    name: str,
    damage: Damage,
    asked: list[tuple[str, ...]],
    path: Path,
    sound: Callable[[str], dict[str, Any]],
    key: Callable[[str], None],
) -> None:
    """No command has a bug, each other thread is listed as before, and the damaged one is listed too."""
    key(name)
    before = sound(name)
    path.write_bytes(loosened(name))
    owner = harm(path, damage)
    after = threads(path)
    assert {i: thread for i, thread in before.items() if i != owner} == {i: after[i] for i in before if i != owner}
    assert after.keys() - before.keys() or owner in after
    for thread in sorted({owner, *(after.keys() - before.keys())}):
        must_answer(path, asked, thread)


@settings(SETTINGS, max_examples=3 * COUNT)
@given(name=st.sampled_from([name for name in NAMES if name != "legacy/py-0.0.26"]), damage=damages())
def test_a_damaged_thread_is_deleted_and_comes_back(
    name: str, damage: Damage, path: Path, sound: Callable[[str], dict[str, Any]], key: Callable[[str], None]
) -> None:
    """Deleting a thread by its name leaves no row of it, and undo brings every byte back."""
    key(name)
    others = sound(name).keys()
    path.write_bytes(loosened(name))
    owner = harm(path, damage)
    before = dump(path)
    with closing(open_file(path)) as saver:
        known = {thread.thread_id for thread in saver.threads()}
        assert saver.totals().threads == len(known)
    for thread in sorted(known - (others - {owner})):
        gone = ask(str(path), "delete", "--yes", "--", thread)
        assert gone.code == 0, gone.err
        with closing(open_file(path)) as saver:
            assert {thread.thread_id for thread in saver.threads()} == known - {thread}
        back = ask(str(path), "undo", "--yes")
        assert back.code == 0, back.err
        assert dump(path) == before


def test_names_that_look_alike(path: Path) -> None:
    """A number, NULL or a blob is never taken for the thread of text that is called like it, nor the other way."""
    alike = [(7, "7"), (None, "%null"), (b"x", "b'x'"), (1.5, "%1.5")]
    path.write_bytes(loosened("real"))
    with closing(sqlite3.connect(path)) as db, db:
        (row,) = db.execute("SELECT rowid FROM checkpoints LIMIT 1").fetchone()
        columns = "checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata"
        for raw in (one for pair in alike for one in pair):
            mark = f"{type(raw).__name__}"
            db.execute(
                f"INSERT INTO checkpoints (thread_id, {columns}) SELECT ?, {columns} FROM checkpoints WHERE rowid = ?",
                (raw, row),
            )
            db.execute("UPDATE checkpoints SET checkpoint_ns = ? WHERE thread_id IS ?", (mark, raw))
    with closing(open_file(path)) as saver:
        names = [thread.thread_id for thread in saver.threads()]
        assert len(names) == len(set(names)) == saver.totals().threads
        assert [saver.namespaces(text) for _, text in alike] == [["str"]] * len(alike)
        kinds = {"int": "%7", "NoneType": "%%null", "bytes": "%b'x'", "float": "%%1.5"}
        assert {kind: saver.namespaces(name) for kind, name in kinds.items()} == {kind: [kind] for kind in kinds}


def test_a_subgraph_without_the_checkpoint_that_asked(path: Path) -> None:
    """Where that checkpoint is lost, an answer is refused or recorded, and no command has a bug."""
    path.unlink(missing_ok=True)
    with SqliteSaver.from_conn_string(str(path)) as saver:
        talk(saver)
    with closing(sqlite3.connect(path)) as db, db:
        lost = (
            "SELECT thread_id, checkpoint_ns, max(checkpoint_id) FROM checkpoints WHERE checkpoint_ns != '' GROUP BY 2"
        )
        for row in db.execute(lost).fetchall():
            db.execute("DELETE FROM checkpoints WHERE (thread_id, checkpoint_ns, checkpoint_id) = (?, ?, ?)", row)
    answer = ask(str(path), "resume", "sub", "--value", "true", "--dry-run")
    assert answer.code in (0, 7), answer.err
