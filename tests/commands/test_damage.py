"""Of a damaged checkpoint everything readable is shown, the rest is named, and nothing is guessed."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from ckpt_cli.commands.log import log
from ckpt_cli.commands.show import show
from ckpt_cli.commands.tree import tree
from ckpt_cli.commands.writes import writes
from ckpt_cli.output.line import Page, plain
from ckpt_cli.output.printer import render
from ckpt_cli.views.base import View
from tests import golden
from tests.commands.asking import at, look
from tests.commands.listing import threads

Database = Callable[[str], Path]


@pytest.fixture
def cut(database: Database) -> Path:
    """Of the thread ``forks``, the head without its end, another tip without anything, and the first one cut."""
    path = database("real")
    connection = sqlite3.connect(path)
    for end, harm in (("c65df1c8b6a3", 0.86), ("8863124e0486", 0), ("895f068b331b", 0.5)):
        query = "SELECT rowid, checkpoint FROM checkpoints WHERE thread_id = 'forks' AND checkpoint_id LIKE ?"
        ((row, body),) = connection.execute(query, (f"%{end}",)).fetchall()
        connection.execute(
            "UPDATE checkpoints SET checkpoint = ? WHERE rowid = ?", (body[: int(len(body) * harm)], row)
        )
    connection.commit()
    connection.close()
    return path


def text(view: View) -> str:
    """A view on a screen."""
    return "\n".join(plain(line) for line in render(view, Page(120, golden.NOW)))


def test_lines_of_damaged_checkpoints_are_marked(cut: Path) -> None:
    """A log and a tree mark those that they decode; stderr names the head's problem."""
    view, said = look(cut, lambda session: log(session, "forks", everything=True))
    assert [step.short for step in view.steps if step.problem] == ["c65df1", "886312", "895f06"]
    assert text(view).count("⚠ unreadable") == 3
    assert len(said) == 1 and said[0].startswith("not all of c65df1 (and 2 more) can be read: ")
    view, said = look(cut, lambda session: tree(session, "forks"))
    assert [row.step.short for row in view.rows if row.step is not None and row.step.problem] == [
        "895f06",
        "886312",
        "c65df1",
    ]
    assert "truncated" in (view.problem or "") and said == [view.problem]


def test_what_is_next_is_unknown_where_a_checkpoint_is_damaged(cut: Path) -> None:
    """Without versions the next nodes are unknown, neither "nothing" nor "done", before a child and at the head."""
    head, first = at(cut, show, "forks"), at(cut, show, "forks", "895f06")
    assert (head.next, head.consumed, first.next, first.consumed) == (None, False, None, True)
    assert "truncated" in head.problem and "truncated" in first.problem
    assert "next  unknown: the checkpoint is damaged" in text(head)
    assert "was next  unknown: the checkpoint is damaged" in text(first)


def test_writes_of_a_damaged_checkpoint_are_shown_and_doubted(cut: Path) -> None:
    """The writes are rows of their own; only the names of their nodes may be missing."""
    view, said = look(cut, lambda session: writes(session, "forks", "895f06"))
    assert [write.channel for task in view.tasks for write in task.writes if write.kind == "value"] == ["messages"]
    assert view.problem is not None and len(said) == 1


def test_threads_count_the_unreadable_among_those_shown(database: Database) -> None:
    """Without a filter no other thread is read, so nothing is claimed about the rest."""
    view, said = look(database("encrypted"), lambda session: threads(session, limit=3))
    assert (len(view.threads), view.unreadable, view.more) == (3, 3, True)
    assert said[0].startswith("3 threads of those shown can't be read: ")
