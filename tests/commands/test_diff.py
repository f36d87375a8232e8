"""``ckpt diff``: two checkpoints, or one step."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonpatch
import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph

from ckpt_cli.app import run
from ckpt_cli.commands.diff import diff
from ckpt_cli.commands.show import show
from ckpt_cli.errors import ChannelNotFound, CheckpointNotFound, ThreadNotFound, UsageError
from ckpt_cli.output.clean import clean_line
from ckpt_cli.output.json import document
from ckpt_cli.output.line import Page, plain
from ckpt_cli.output.text.diff import render
from ckpt_cli.views.base import View
from ckpt_cli.views.diff import DiffView
from tests import golden
from tests.commands.asking import at
from tests.commands.stored import database as stored

Database = Callable[[str], Path]

LOOKS = {
    "step": ("real", ("chat-linear",), {}),
    "far": ("real", ("chat-linear", "step:3..@"), {}),
    "stat": ("real", ("chat-linear", "step:3", "forks:@"), {"stat": True}),
    "meta": ("real", ("interrupt-single", "^"), {"meta": True}),
    "first": ("real", ("chat-linear", "step:-1"), {}),
    "same": ("real", ("chat-linear", "@", "@"), {}),
    "delta": ("real", ("delta",), {}),
    "js": ("js", ("js-chat", "step:0", "@"), {}),
    "full": ("real", ("types-all", "@"), {"full": True, "channel": ["everything"]}),
}


@pytest.mark.parametrize("name", LOOKS)
def test_looks(name: str, database: Database) -> None:
    """Every kind of difference on every kind of output."""
    source, words, options = LOOKS[name]
    golden.check(f"diff/{name}", at(database(source), diff, *words, **options))


REPORT = "All orders of the week were checked. " * 30
BEFORE = {
    "route": "refund",
    "files": {"invoice.pdf": {"status": "new", "size": 1200}, "old.txt": {}},
    "report": f"{REPORT}The total is 40 EUR.\n{REPORT}",
    "log": ["a", "b", "c", "d"],
    "budget": 1.0,
    "unchanged": [1, 2],
}
AFTER = {
    "route": "human",
    "files": {"invoice.pdf": {"status": "sent", "size": 1200}},
    "report": f"{REPORT}The total is 45 EUR, not 40.\n{REPORT}",
    "log": ["d", "a", "x", "c", "e"],
    "budget": 1,
    "unchanged": [1, 2],
    "note": "A colleague will look at it. " * 8,
}


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """One database with a thread of either state."""
    path = stored(tmp_path / "two.sqlite", "before", **BEFORE)
    other = stored(tmp_path / "other.sqlite", "after", **AFTER)
    import sqlite3

    with sqlite3.connect(path) as connection:
        connection.execute("ATTACH ? AS other", (str(other),))
        connection.execute("INSERT INTO checkpoints SELECT * FROM other.checkpoints")
    connection.close()
    return path


def test_structure_words_and_types_are_shown(two: Path) -> None:
    """Fields by their paths, list elements by content, words of long texts, numbers of another type."""
    golden.check("diff/structure", at(two, diff, "before", "@", "after:@"))


def patched(view: View, before: Any) -> Any:
    """A state in its JSON form with the view's patch applied."""
    return jsonpatch.apply_patch(copy.deepcopy(before), json.loads(document(view, None, reveal=False))["patch"])


def test_the_patch_turns_the_older_state_into_the_newer(two: Path) -> None:
    """As any implementation of RFC 6902 applies it."""
    view = at(two, diff, "before", "@", "after:@")
    assert json.dumps(patched(view, BEFORE), sort_keys=True) == json.dumps(AFTER, sort_keys=True)


@pytest.mark.parametrize("thread", ["chat-linear", "types-all", "delta", "forks", "commands", "线程-测试-😀"])
def test_patches_of_real_threads_apply(thread: str, database: Database) -> None:
    """The whole history of a thread in one patch, onto what `show --json` gave."""
    path = database("real")

    def state(rev: str) -> Any:
        channels = json.loads(document(at(path, show, thread, rev), None, reveal=False))["channels"]
        return {name: channel["value"] for name, channel in channels.items() if not channel["empty"]}

    view = at(path, diff, thread, "@~1", "@")
    assert patched(view, state("@~1")) == state("@")


def text(view: DiffView, width: int) -> list[str]:
    """The lines on a screen."""
    return [clean_line(line) for line in render(view, Page(width, golden.NOW))]


def test_huge_differences_are_summed_up(tmp_path: Path) -> None:
    """Without ``--full`` fewer than 60 lines are shown."""
    path = stored(tmp_path / "many.sqlite", many={f"key {n}": n for n in range(500)}, l=list(range(3000)))
    view = at(path, diff, "t", "@", channel=["many", "l"])
    assert len(text(view, 80)) < 60
    apart = DiffView(view.before, view.after, False, [part for one in view.channels for part in one.parts], 0)
    assert len(text(apart, 80)) < 60


def test_a_delta_channel_is_never_shown_as_removed(database: Database) -> None:
    """It is stored only now and then, and rebuilt in between."""
    path = database("real")
    kinds = [
        (one.path, str(one.kind))
        for step in range(19)
        for one in at(path, diff, "delta", f"@~{step}").channels
        if one.path == "log"
    ]
    assert kinds
    assert {kind for _, kind in kinds} <= {"changed", "added"}


def test_two_threads_and_two_namespaces_can_be_compared(database: Database) -> None:
    """OTHER:REV names another thread; --ns-b another namespace."""
    path = database("real")
    view = at(path, diff, "chat-linear", "@", "线程-测试-😀:@^")
    assert (view.before.thread_id, view.after.thread_id) == ("chat-linear", "线程-测试-😀")
    child = "child:0d8a6c2f-acfc-f5a2-f769-35c33f5275b6"
    assert at(path, diff, "subgraph-interrupted", ns_b=child).after.ns == child


@pytest.mark.parametrize(
    ("options", "code"), [({"exit_code": True}, 1), ({}, 0), ({"exit_code": True, "channel": ["topic"]}, 0)]
)
def test_exit_code_1_needs_its_option(options: dict[str, Any], code: int, database: Database) -> None:
    """Without ``--exit-code`` it is 0; only compared channels count."""
    assert at(database("real"), diff, "chat-linear", **options).exit_code == code


@pytest.mark.parametrize(
    ("words", "options", "error"),
    [
        (("chat-linear", "step:0", "nobody:@"), {}, ThreadNotFound),
        (("chat-linear", "step:0", "no revision"), {}, UsageError),
        (("chat-linear", "step:77"), {}, CheckpointNotFound),
        (("nobody",), {}, ThreadNotFound),
        (("chat-linear",), {"channel": ["nothing"]}, ChannelNotFound),
    ],
)
def test_an_unknown_name_is_an_error(
    words: tuple[str, ...], options: dict[str, Any], error: type[UsageError], database: Database
) -> None:
    """On either side."""
    with pytest.raises(error):
        at(database("real"), diff, *words, **options)


ODD = ("a", "a:b", "step:5", "@", "x..y", "deadbeef", "用户:会话", "a b~1^")


def test_thread_ids_of_any_characters_can_be_named_before_a_revision(tmp_path: Path) -> None:
    """Every colon is tried, and the one existing thread that fits is taken."""
    path = stored(tmp_path / "odd.sqlite", *ODD, x=1)
    for thread in ODD:
        for other in ODD:
            view = at(path, diff, thread, "@", f"{other}:step:-1")
            assert (view.before.thread_id, view.after.thread_id) == (thread, other)


def test_of_several_threads_the_one_that_has_the_revision_is_taken(tmp_path: Path) -> None:
    """Where none of them has it, both ways to read it are listed: exit code 2."""
    path = stored(tmp_path / "more.sqlite", "a", "a:1f1e5786", "a:tag", x=1)
    assert at(path, diff, "a", "@", "a:1f1e5786:@").after.thread_id == "a:1f1e5786"
    assert at(path, diff, "a", "@", "a:1f1e5786").after.thread_id == "a"
    with pytest.raises(UsageError) as caught:
        at(path, diff, "a", "@", "a:tag:deadbeef")
    assert (caught.value.exit_code, len(caught.value.candidates)) == (2, 2)


def test_a_field_that_one_message_lost_has_its_mark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On the one line for a message, removed, added and changed fields look different, in a plan as in a diff."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        builder = StateGraph(MessagesState)
        call = {"name": "f", "args": {}, "id": "c1"}
        builder.add_node("a", lambda _: {"messages": [AIMessage("hm", id="a1", tool_calls=[call])]})
        builder.add_edge(START, "a")
        builder.compile(checkpointer=saver).invoke({"messages": []}, {"configurable": {"thread_id": "t"}})
    for change, shown in (
        (["--unset", "messages[0].tool_calls"], "~ [0] ai a1  - tool_calls"),
        (["--set", 'messages[0].name="bob"'], "~ [0] ai a1  name"),
        (["--set", "messages[0].additional_kwargs.x=1"], "~ [0] ai a1  + additional_kwargs.x  1"),
    ):
        assert run(["edit", "t", *change, "-d", str(path), "--yes"]) == 0
        assert shown in capsys.readouterr().out
        assert shown in "\n".join(plain(line) for line in render(at(path, diff, "t"), Page(100, golden.NOW)))
