"""``ckpt log`` lists checkpoints, newest first."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ckpt_cli.app import run
from ckpt_cli.commands.log import log
from ckpt_cli.commands.tree import run as tree_run
from ckpt_cli.errors import ChannelNotFound, CheckpointNotFound, UsageError
from ckpt_cli.output.line import Page, plain
from ckpt_cli.output.printer import render
from ckpt_cli.queries.checkpoint_list import LogRequest
from ckpt_cli.queries.checkpoint_list import run as log_run
from ckpt_cli.reading import Reader
from ckpt_cli.savers.url import open_database
from ckpt_cli.serde.codec import Codec
from ckpt_cli.views.log import LogView
from tests import golden
from tests.commands.asking import look
from tests.databases import DATABASES, KEYS

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


def test_an_input_shares_the_row_of_the_step_that_took_it_in(database: Database) -> None:
    """On a terminal, unless ``--all-steps``; a pipe has every checkpoint; an input that ran twice keeps its row."""
    path = database("real")

    def rows(*words: str, width: int | None = 80, **options: Any) -> list[str]:
        view, _ = look(path, lambda session: log(session, *words, **options))
        return [plain(line) for line in render(view, Page(width, golden.NOW)) if len(line) > 1]

    whole, calm = rows("chat-linear", all_steps=True), rows("chat-linear")
    starts = [row for row in whole if " __start__ " in row]
    assert len(starts) == 11 and len(calm) == len(whole) - 11 and not any(" __start__ " in row for row in calm)
    assert [row.split()[0] for row in calm if " input " in row] == [row.split()[0] for row in starts]
    assert rows("chat-linear", width=None) == rows("chat-linear", width=None, all_steps=True)
    assert [row.split()[2] for row in rows("forks", "895f06")] == ["__start__", "input"]
    cut = rows("chat-linear", "@~1", limit=5)
    assert cut[-1].split()[:3] == ["31d464", "38", "input"]
    assert rows("chat-linear", source=["loop"])[3].split()[:3] == ["31d464", "38", "__start__"]


def test_left_out_checkpoints_are_counted(database: Database) -> None:
    """On a terminal the last line counts what the limit cut and the branches that were not followed."""
    view, _ = look(database("real"), lambda session: log(session, "forks", "branch:1", limit=3))
    assert (view.omitted, view.other_branches) == (13, 5)
    last = [plain(line) for line in render(view, Page(80, golden.NOW))][-1]
    assert last == "13 more · 5 other branches: --all, --graph · 2025-06-02 UTC"


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


def rows_of(reader: Reader, thread: str, ns: str, **wanted: Any) -> dict[str, tuple[object, object]]:
    """The nodes and changes that a log shows of each checkpoint."""
    steps = log_run(reader, thread, LogRequest(**wanted), ns).steps
    return {s.checkpoint_id: (s.nodes, s.changes and [change.text for change in s.changes]) for s in steps}


@pytest.mark.parametrize("name", DATABASES)
def test_a_row_reads_the_same_wherever_the_list_is_cut(name: str, database: Database) -> None:
    """The nodes and changes of a checkpoint have the same words alone, among a few, in a tree, or among all."""
    saver = open_database(str(database(name)), print)
    differing = []

    def fresh() -> Reader:
        return Reader(saver, Codec(KEYS.get(name)))

    for thread in sorted(saver.threads(), key=lambda t: -saver.count(t.thread_id))[:8]:
        for ns in saver.namespaces(thread.thread_id)[:2]:
            whole = rows_of(fresh(), thread.thread_id, ns, everything=True)
            for checkpoint_id in sorted(whole)[:: max(len(whole) // 5, 1)]:
                for limit in (1, 4):
                    found = rows_of(fresh(), thread.thread_id, ns, rev=checkpoint_id, limit=limit)
                    differing += [(thread.thread_id, ns, i) for i, line in found.items() if line != whole[i]]
            drawn = [row.step for row in tree_run(fresh(), thread.thread_id, ns).rows if row.step is not None]
            texts = {s.checkpoint_id: (s.nodes, s.changes and [change.text for change in s.changes]) for s in drawn}
            differing += [(thread.thread_id, ns, i) for i, line in texts.items() if line != whole[i]]
    saver.close()
    assert differing == []


def test_what_is_written_anew_and_stays_the_same_is_no_change(database: Database) -> None:
    """The topic comes in with every question; its step shows it as the same, and ``--channel`` counts no change."""
    path = database("real")
    view: LogView = look(path, lambda session: log(session, "chat-linear"))[0]
    kinds = [change.kind for step in view.steps for change in step.changes or () if change.channel == "topic"]
    assert (kinds.count("given"), kinds.count("same"), kinds.count("changed")) == (11, 8, 2)
    view = look(path, lambda session: log(session, "chat-linear", channel=["topic"]))[0]
    assert len(view.steps) == len(kinds) - 8


def test_only_the_chosen_channels_are_shown(database: Database) -> None:
    """Other changes of the same step are left out; several channels may be asked for."""
    every: LogView = look(database("real"), lambda session: log(session, "commands"))[0]
    for names in (["k"], ["seen"], ["k", "seen"]):
        view: LogView = look(database("real"), lambda session, names=names: log(session, "commands", channel=names))[0]
        texts_by_id = {
            step.checkpoint_id: [c.text for c in step.changes or () if c.channel in names] for step in every.steps
        }
        assert {s.checkpoint_id: [c.text for c in s.changes or ()] for s in view.steps} == {
            checkpoint_id: texts for checkpoint_id, texts in texts_by_id.items() if texts
        }


def test_what_is_written_to_a_delta_channel_is_shown_as_written(database: Database) -> None:
    """The checkpoint doesn't hold the channel's value, so nothing is said of what its reducer made of the write."""
    view: LogView = look(database("real"), lambda session: log(session, "delta", limit=3))[0]
    assert [change.text for change in view.steps[0].changes or ()] == ['log wrote ["two-5"]']


def test_an_unknown_channel_is_no_empty_answer(forks: Callable[..., list[str]]) -> None:
    """One that was never changed on this line is just empty."""
    with pytest.raises(ChannelNotFound) as caught:
        forks(channel=["mesages"])
    assert caught.value.hint == "did you mean messages?"
    assert forks("branch:1", channel=["branch:to:model"]) == []
    with pytest.raises(ChannelNotFound) as caught:
        forks(channel=["zzz"])
    assert caught.value.hint.startswith("there are messages, turn, __start__, ")


@pytest.mark.parametrize("namespace", ["nowhere", "outer"])
def test_an_unknown_namespace_is_no_empty_answer(namespace: str, forks: Callable[..., list[str]]) -> None:
    """Also with ``--all``."""
    with pytest.raises(CheckpointNotFound):
        forks(everything=True, ns=namespace)


@pytest.mark.parametrize(("rev", "others"), [("@", 5), ("branch:1", 5), ("branch:1~3", 5), ("0d60aa", 5), ("@^", 5)])
def test_the_line_that_is_followed_is_no_other_branch(rev: str, others: int, database: Database) -> None:
    """Wherever on it a log starts."""
    view: LogView = look(database("real"), lambda session: log(session, "forks", rev))[0]
    assert view.other_branches == others


def test_tips_bear_their_branch_where_there_are_several(database: Database) -> None:
    """``--all`` leaves out no branch, so it counts no others; tips still have their numbers."""
    view: LogView = look(database("real"), lambda session: log(session, "forks", everything=True))[0]
    shown = "\n".join(plain(line) for line in render(view, Page(120, golden.NOW)))
    assert all(f"branch:{number}" in shown for number in range(1, 7))


def test_a_row_says_that_there_are_other_changes(tmp_path: Path) -> None:
    """At any width, a row of several changes names them all, or ends its changes with a mark that there are more."""
    assert run(["demo", str(tmp_path / "demo.sqlite")]) == 0
    view, _ = look(tmp_path / "demo.sqlite", lambda session: log(session, "support-42", all_steps=True))
    several = [step for step in view.steps if len({one.channel for one in step.changes or ()}) > 1]
    assert several
    for width in range(60, 120):
        rows = {row.split()[0]: row for row in map(plain, render(view, Page(width, golden.NOW)))}
        for step in several:
            names = {one.channel for one in step.changes or () if one.kind != "same"}
            row = rows[step.short].partition("  @ ")[0]
            assert all(f" {name} " in f"{row} " for name in names) or row.endswith((" …", "  also …")), (width, row)
            assert width < 90 or row.endswith("  also …") or all(name in row for name in names), (width, row)
