"""``ckpt log`` lists checkpoints, newest first."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ckpt_cli.commands.log import log
from ckpt_cli.errors import CheckpointNotFound, UsageError
from ckpt_cli.output.line import Page, plain
from ckpt_cli.output.printer import render
from ckpt_cli.views.log import LogView
from tests import golden
from tests.commands.asking import look

Database = Callable[[str], Path]


@pytest.mark.parametrize(
    ("name", "thread"),
    [
        ("real", "chat-linear"),
        ("real", "mapreduce"),
        ("real", "interrupt-multi"),
        ("real", "commands"),
        ("legacy/py-0.0.48", "chat"),
        ("legacy/py-0.2.60", "err-retried"),
        ("js", "js-chat"),
    ],
)
def test_looks(name: str, thread: str, database: Database) -> None:
    """Turns of a chat, Sends, questions, overwrites, and older generations."""
    view, _ = look(database(name), lambda session: log(session, thread))
    golden.check(f"log/{name.replace('/', '-')}-{thread}", view)


def test_branches_are_drawn_beside(database: Database) -> None:
    """``--graph`` takes in all branches and shows where they part."""
    view, _ = look(database("real"), lambda session: log(session, "forks", graph=True))
    golden.check("log/graph", view)


def test_oneline_is_short(database: Database) -> None:
    """``--oneline``: id, node, changes."""
    view, _ = look(database("real"), lambda session: log(session, "forks", "branch:1", oneline=True))
    golden.check("log/oneline", view)


@pytest.fixture
def forks(database: Database) -> Callable[..., list[str]]:
    """The short ids that a log of the thread ``forks`` lists."""
    path = database("real")

    def give(*words: str, **options: object) -> list[str]:
        view: LogView = look(path, lambda session: log(session, "forks", *words, **options))[0]  # type: ignore[arg-type]
        return [step.short for step in view.steps]

    return give


def test_it_follows_the_heads_own_line(forks: Callable[..., list[str]]) -> None:
    """By default only the head and its ancestors are listed; another revision starts elsewhere."""
    assert forks() == ["c65df1", "0d60aa"]
    assert forks("branch:4")[:3] == ["2a9299", "175f4e", "f13d23"]
    assert len(forks(everything=True)) == 32


def test_ranges_are_what_came_after(forks: Callable[..., list[str]]) -> None:
    """``A..B`` leaves out A and all before it; a missing end is the head."""
    assert forks("branch:4~2..branch:4") == ["2a9299", "175f4e"]
    assert forks("0d60aa..") == ["c65df1"]
    with pytest.raises(CheckpointNotFound):
        forks("nothing..@")


def test_filters_choose_steps(forks: Callable[..., list[str]]) -> None:
    """By source, by channel changed, by age, and only so many."""
    assert forks(everything=True, source=["update"]) == ["886312", "f352f7"]
    assert forks(everything=True, source=["fork"]) == ["c65df1", "b9979a"]
    assert forks(everything=True, channel=["topic"]) == ["886312"]
    assert forks("branch:1", limit=2) == ["17bac9", "92bbef"]
    assert forks(everything=True, since="2025-06-02T00:00:00.032+00:00") == ["c65df1", "886312"]
    assert forks(everything=True, since="1m") == []
    with pytest.raises(UsageError, match="no source 'tool'"):
        forks(source=["tool"])


def test_what_is_left_out_is_told(database: Database) -> None:
    """On a terminal the last line counts what the limit cut and the branches that were not followed."""
    view, _ = look(database("real"), lambda session: log(session, "forks", "branch:1", limit=3))
    assert (view.omitted, view.other_branches) == (13, 5)
    last = [plain(line) for line in render(view, Page(80, golden.NOW))][-1]
    assert last == "13 more · 5 other branches: --all, --graph · 2025-06-02"


def test_a_subgraph_has_a_log_of_its_own(database: Database) -> None:
    """``--ns`` lists a namespace."""
    ns = "child:b3902032-38df-3bdb-ce8b-26e76d0157d8"
    view, _ = look(database("real"), lambda session: log(session, "subgraphs", ns=ns))
    assert [(step.step, list(step.nodes)) for step in view.steps] == [
        (2, ["grand"]),
        (1, ["pre"]),
        (0, ["__start__"]),
        (-1, []),
    ]
