"""``ckpt blame`` on known histories: what it names, what it calls unknown, ranges, errors, how it looks."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver

from ckpt_cli.app import run
from ckpt_cli.commands.blame import blame
from ckpt_cli.errors import ChannelNotFound, KeyMissing, PathNotFound, UsageError
from tests import golden
from tests.commands.asking import at
from tests.graphs.building import line, on

Database = Callable[[str], Path]
CHAT = "chat-linear"


def origins(view: Any) -> list[tuple[str, int | None, str, str | None]]:
    """Path, step, by and node of each line."""
    return [(one.path, one.since.step, one.since.by, one.since.node) for one in view.lines]


def test_messages_keys_and_values_look_so(database: Database) -> None:
    """On terminals, in a pipe and as JSON."""
    path = database("real")
    golden.check("blame/messages", at(path, blame, CHAT, "messages[:6]", at="step:12"))
    golden.check("blame/history", at(path, blame, CHAT, "topic", history=True))
    golden.check("blame/gone", at(path, blame, CHAT, "messages", reverse=True))
    golden.check("blame/still", at(path, blame, CHAT, "messages[:2]", reverse=True, at="step:6"))
    golden.check("blame/candidates", at(path, blame, "durability-exit", "messages"))


def test_a_range_is_the_same_behind_the_path_and_as_an_option(database: Database) -> None:
    """Three ways to write it; an open end is the list's."""
    path = database("real")
    whole = origins(at(path, blame, CHAT, "messages"))
    for words, options in (
        (["messages[3:6]"], {}),
        ([], {"lines": "messages[3:6]"}),
        (["messages"], {"lines": "3:6"}),
    ):
        assert origins(at(path, blame, CHAT, *words, **options)) == whole[3:6]
    assert origins(at(path, blame, CHAT, "messages[-2:]")) == whole[-2:]
    assert origins(at(path, blame, CHAT, "messages[-1]")) == whole[-1:]


def test_a_part_inside_a_message_is_followed_with_the_message(database: Database) -> None:
    """The head's update removed a message before it, so its position changed."""
    path = database("real")
    [content] = at(path, blame, CHAT, "messages[-1].content").lines
    [message] = at(path, blame, CHAT, "messages[-1]").lines
    assert content.since == message.since


def test_who_removed_a_message_is_the_update_that_did(database: Database) -> None:
    """With ``--at``, its other parts still stand."""
    path = database("real")
    [gone] = at(path, blame, CHAT, "messages", reverse=True).lines
    assert (gone.gone.by, gone.gone.step, gone.replaced) == ("update", 42, False)
    lines = at(path, blame, CHAT, "messages", reverse=True, at="step:8").lines
    assert [one.gone and one.gone.step for one in lines] == [42, *[None] * (len(lines) - 1)]


def test_turns_count_the_inputs_only_where_all_are_stored(database: Database) -> None:
    """A run with ``durability="exit"`` stores none of its inputs."""
    path = database("real")
    turns = [one.since.turn for one in at(path, blame, CHAT, "messages").lines]
    assert (turns[-1], turns) == (11, sorted(turns))
    assert {one.since.turn for one in at(path, blame, "durability-exit", "messages").lines} == {None}


def test_of_several_steps_in_one_checkpoint_candidates_are_named(database: Database) -> None:
    """Nobody is credited, and the reason is given."""
    lines = at(database("real"), blame, "durability-exit", "messages").lines
    assert {one.since.by for one in lines} == {""}
    assert all("several steps" in one.since.why and one.since.candidates for one in lines)


def test_nothing_is_credited_across_a_lost_parent(database: Database) -> None:
    """The writes of an ancestor say nothing about a step that isn't stored."""
    path = database("real")
    with closing(sqlite3.connect(path)) as db, db:
        sql = "DELETE FROM checkpoints WHERE thread_id = ? AND json_extract(CAST(metadata AS TEXT), '$.step') = 8"
        assert db.execute(sql, [CHAT]).rowcount == 1
    lines = at(path, blame, CHAT, "messages").lines
    lost = [one for one in lines if one.since.step == 9]
    assert len(lost) == 7
    assert {(one.since.by, one.since.node) for one in lost} == {("", None)}
    assert all("isn't stored" in one.since.why for one in lost)
    assert {one.since.by for one in lines[7:]} == {"node", "input"}


def test_a_checkpoint_that_cannot_be_read_is_a_gap(database: Database) -> None:
    """What is new behind it is unknown, a part that is older and is still there is marked."""
    path = database("real")
    with closing(sqlite3.connect(path)) as db, db:
        sql = (
            "UPDATE checkpoints SET checkpoint = X'c1' WHERE thread_id = ?"
            " AND json_extract(CAST(metadata AS TEXT), '$.step') = 8"
        )
        assert db.execute(sql, [CHAT]).rowcount == 1
    view = at(path, blame, CHAT, "messages", at="step:12")
    assert [one.short for one in view.unread] == [view.unread[0].short]
    assert [one.unread for one in view.lines][:6] == [1] * 6
    behind = [one.since for one in view.lines if one.since.step == 9]
    assert {one.by for one in behind} == {""}
    assert all("is unknown" in one.why for one in behind)


def test_an_edit_by_ckpt_is_an_update(database: Database) -> None:
    """As `log` calls it."""
    path = database("real")
    assert run(["edit", CHAT, "--set", 'topic="mine"', "--yes", "-d", str(path)]) == 0
    [now] = at(path, blame, CHAT, "topic").lines
    assert (now.since.by, now.value) == ("update", "mine")


def test_of_two_writers_the_one_whose_write_has_the_value_is_named(tmp_path: Path) -> None:
    """If both wrote equal values, both are candidates."""
    from langgraph.graph import START, StateGraph

    from tests.graphs.building import Log

    path = tmp_path / "two.sqlite"
    builder = StateGraph(Log)
    for name, items in (("left", ["l", "same"]), ("right", ["r", "same"])):
        builder.add_node(name, lambda _, items=items: {"log": items})
        builder.add_edge(START, name)
    with SqliteSaver.from_conn_string(str(path)) as saver:
        builder.compile(checkpointer=saver).invoke({"log": ["in"]}, on("t"))
    lines = at(path, blame, "t", "log").lines
    named = {one.value: (one.since.by, one.since.node, tuple(one.since.candidates)) for one in lines}
    assert named == {
        "in": ("input", None, ()),
        "l": ("node", "left", ()),
        "r": ("node", "right", ()),
        "same": ("", None, ("left", "right")),
    }


def test_a_value_inside_a_subgraph_is_blamed_on_the_node_there(tmp_path: Path) -> None:
    """In the root graph the node that called the subgraph is named."""
    path = tmp_path / "sub.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        inner = line(None, "deep", "deeper")
        line(saver, "outer", nodes={"outer": inner}).invoke({"log": ["in"]}, on("t"))
        spaces = {row[0] for row in saver.conn.execute("SELECT DISTINCT checkpoint_ns FROM checkpoints")}
    [ns] = spaces - {""}
    inside = [one.since.node for one in at(path, blame, "t", "log", ns=ns).lines]
    assert inside == [None, "deep", "deeper"]
    assert {one.since.node for one in at(path, blame, "t", "log").lines} <= {None, "outer"}


@pytest.mark.parametrize(
    ("words", "options", "error", "message"),
    [
        (["mesages"], {}, ChannelNotFound, "no channel 'mesages'"),
        (["messages[99]"], {}, PathNotFound, r"no messages\[99\]"),
        (["messages[0].nope"], {}, PathNotFound, "nope"),
        ([], {}, UsageError, "which value"),
        (["messages"], {"reverse": True, "history": True}, UsageError, "two questions"),
        (["messages[1]"], {"reverse": True}, UsageError, "which position"),
        (["messages[1:3]"], {"history": True}, UsageError, "not a range"),
        (["messages"], {"lines": "three"}, UsageError, "no range"),
        (["topic"], {"lines": "messages[1:2]"}, UsageError, "two paths"),
        (["topic.x"], {"history": True}, PathNotFound, "topic"),
        (["topic.x"], {"reverse": True}, PathNotFound, "topic"),
    ],
)
def test_what_is_not_there_is_an_error_with_a_hint(
    words: list[str], options: Any, error: type[Exception], message: str, database: Database
) -> None:
    """Never an empty answer."""
    with pytest.raises(error, match=message):
        at(database("real"), blame, CHAT, *words, **options)


def test_a_missing_key_is_said(database: Database) -> None:
    """As `get` says it."""
    with pytest.raises(KeyMissing):
        at(database("encrypted"), blame, "small-009", "i")


@pytest.mark.parametrize("name", ["legacy/py-0.2.28", "legacy/py-0.1.19", "legacy/js-0.2.3", "old/sqlite-v00"])
def test_old_generations_name_a_node_or_say_why_not(name: str, database: Database) -> None:
    """Their metadata has the outputs of nodes; where nothing is stored, the nodes that ran are candidates."""
    path = database(name)
    seen = set()
    with closing(sqlite3.connect(path)) as db:
        threads = [row[0] for row in db.execute("SELECT DISTINCT thread_id FROM checkpoints")]
    for thread in threads:
        try:
            lines = at(path, blame, thread, "messages").lines
        except ChannelNotFound:
            continue
        assert all(bool(one.since.by) != bool(one.since.why) for one in lines)
        seen |= {one.since.by for one in lines}
    assert seen


def test_json_lines_are_streamed(database: Database, capsys: pytest.CaptureFixture[str]) -> None:
    """One object for each part, value and removal."""
    words = ["-d", str(database("real")), "--jsonl"]
    assert run(["blame", CHAT, "messages", *words]) == 0
    assert run(["blame", CHAT, "topic", "--history", *words]) == 0
    assert run(["blame", CHAT, "messages", "--reverse", *words]) == 0
    rows = [json.loads(row) for row in capsys.readouterr().out.splitlines()]
    assert {tuple(row) for row in rows} == {
        ("path", "value", "since", "unread", "unread_before"),
        ("path", "value", "since", "version"),
        ("path", "value", "gone", "replaced", "after", "elsewhere"),
    }


def test_a_copys_value_is_credited_to_the_node_of_the_original(tmp_path: Path) -> None:
    """The copy is a sibling of the original, so on its own line the value begins with the copy."""
    path = tmp_path / "copy.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = line(saver, "a", "b")
        graph.invoke({"log": ["in"]}, on("t"))
        head = graph.get_state(on("t")).config
        copy = graph.update_state(head, None, as_node="__copy__")["configurable"]["checkpoint_id"]
    origin = at(path, blame, "t", "log[-1]", at=copy).lines[0].since
    assert (origin.by, origin.node, origin.checkpoint_id) == ("fork", "b", copy)
    assert origin.copied_from == head["configurable"]["checkpoint_id"]
    first = at(path, blame, "t", "log[1]", at=copy).lines[0].since
    assert (first.by, first.node) == ("node", "a")
