"""Threads whose heads have a write: found from head to head, or by one pass over all writes."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ckpt_cli.savers.sqlite import open_file, statements, thread_methods
from ckpt_cli.savers.sqlite.saver import SqliteSaver

_IDS = ["a", "ä", "c", "d", "e", "f", 7, 7.5, b"a", None]
_TABLES = """
    CREATE TABLE checkpoints (
        thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata,
        PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id)
    );
    CREATE TABLE writes (
        thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, value,
        PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
    );
"""


@pytest.mark.parametrize("seed", range(20))
def test_both_ways_find_the_same_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """In the same order, whatever is stored as a name; also threads without a root graph and writes without a head."""
    _make(tmp_path / "x.sqlite", random.Random(seed))
    with closing(open_file(tmp_path / "x.sqlite")) as saver:
        monkeypatch.setattr(thread_methods, "_FEW_WRITES", 0.1)
        one_by_one = [*saver.threads_with(["__error__", "__interrupt__"])]
        monkeypatch.setattr(thread_methods, "_FEW_WRITES", 10**6)
        assert _statements(saver, monkeypatch) == [statements.WRITES_OF_FIRST_THREADS, statements.MARKED_HEADS]
        assert [*saver.threads_with(["__error__", "__interrupt__"])] == one_by_one


def _make(path: Path, dice: random.Random) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(_TABLES)
        for thread_id in _IDS:
            spaces = dice.choice([[""], ["", "sub"], ["sub"], [b"x", ""], [7]])
            for ns in spaces:
                for own in dice.sample(["1", "2", "3", b"2", 4], dice.randrange(1, 4)):
                    row = (thread_id, ns, own, None, "json", b"{}", b"{}")
                    connection.execute("INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            for idx in range(dice.randrange(5)):
                where = (thread_id, dice.choice([*spaces, ""]), dice.choice(["1", "2", "3", b"2", 4]))
                channel = dice.choice(["x", "__error__", "__interrupt__", b"__error__"])
                row = (*where, "task", idx, channel, "json", b"1")
                connection.execute("INSERT INTO writes VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        row = ("a", "other", "1", "task", 0, "x", "json", b"1")
        connection.execute("INSERT INTO writes VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        connection.commit()


def _statements(saver: SqliteSaver, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The templates of the statements that find threads."""
    with monkeypatch.context() as patched:
        rows, templates = saver._rows, list[str]()

        def noted(template: str, *args: object, **parts: str) -> object:
            templates.append(template)
            return rows(template, *args, **parts)  # type: ignore[arg-type]

        patched.setattr(saver, "_rows", noted)
        list(saver.threads_with(["__error__"]))
    return [one for one in templates if "writes" in one]
