"""``ckpt show``: one checkpoint whole."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from ckpt_cli.commands.log import log
from ckpt_cli.commands.show import show
from ckpt_cli.errors import ChannelNotFound, CheckpointNotFound, KeyMissing, PayloadCorrupt, ThreadNotFound
from ckpt_cli.output.line import Page, plain
from ckpt_cli.output.text.show import render
from ckpt_cli.views.show import ShowView
from tests import golden
from tests.commands.asking import at
from tests.commands.listing import threads
from tests.commands.stored import broken_channel
from tests.databases import KEYS

Database = Callable[[str], Path]


def text(view: ShowView, width: int | None = 80) -> str:
    """The view as it is printed."""
    return "\n".join(plain(line) for line in render(view, Page(width, golden.NOW)))


LOOKS = {
    "chat": ("real", "chat-linear", {}),
    "types": ("real", "types-all", {"full": True}),
    "interrupts": ("real", "interrupt-multi", {}),
    "error": ("real", "error-sibling", {}),
    "delta": ("real", "delta", {}),
    "delta-raw": ("real", "delta", {"raw": True}),
    "functional": ("real", "functional", {}),
    "chinese": ("real", "线程-测试-😀", {"rev": "^"}),
    "subgraph": ("real", "subgraph-interrupted", {}),
    "fork-point": ("real", "forks", {"rev": "@^"}),
    "sends": ("real", "mapreduce-interrupted", {}),
    "js": ("js", "js-chat", {}),
    "first": ("legacy/py-0.0.26", "chat", {}),
    "input": ("js", "js-chat", {"rev": "step:-1"}),
    "one-channel": ("real", "chat-linear", {"channel": ["topic"]}),
}


@pytest.mark.parametrize("name", LOOKS)
def test_looks(name: str, database: Database) -> None:
    """Every kind of checkpoint on every kind of output."""
    source, thread, options = LOOKS[name]
    golden.check(f"show/{name}", at(database(source), show, thread, **options))


@pytest.mark.parametrize(
    ("thread", "rev", "answers"),
    [("interrupt-resumed", "step:1", ["yes"]), ("functional", "step:-1", [True]), ("interrupt-single", "@", [])],
)
def test_a_finished_question_shows_its_answer(thread: str, rev: str, answers: list[Any], database: Database) -> None:
    """Also one that a called task of the functional API asked; a question that waits has none."""
    [task] = at(database("real"), show, thread, rev).tasks
    assert (list(task.taken), len(task.asked), len(task.interrupts)) == (answers, len(answers), 1 - len(answers))


def test_control_channels_are_shown_with_full_or_by_name(database: Database) -> None:
    """They are hidden and counted, unless ``--full`` or ``--channel`` shows them."""
    path = database("real")
    plainly, fully = at(path, show, "chat-linear"), at(path, show, "chat-linear", full=True)
    assert plainly.hidden == 3
    assert {n for n, c in fully.channels.items() if c.control} == set(fully.channels) - set(plainly.channels)
    assert list(at(path, show, "chat-linear", channel=["__start__"]).channels) == ["__start__"]


@pytest.mark.parametrize("source", ["js", "legacy/py-0.0.48", "legacy/py-1.2.22"])
def test_what_was_given_is_shown_where_it_came_in(source: str, database: Database) -> None:
    """Only an input step shows its input, which is in no channel of the user's yet."""
    path = database(source)
    for thread in at(path, threads).threads:
        for step in at(path, log, thread.thread_id, everything=True, limit=0).steps:
            shown = at(path, show, thread.thread_id, step.checkpoint_id)
            assert (shown.given is not None) is (step.source == "input")


def test_what_changed_here_is_what_has_another_version_than_in_the_parent(database: Database) -> None:
    """Also where `updated_channels` was not recorded."""
    view = at(database("legacy/py-0.2.60"), show, "chat", "@")
    before = at(database("legacy/py-0.2.60"), show, "chat", "^")
    moved = {n for n, c in view.channels.items() if n not in before.channels or c.version != before.channels[n].version}
    assert {n for n, c in view.channels.items() if c.changed} == moved


def test_a_fork_point_names_its_children_and_a_root_has_no_parent(database: Database) -> None:
    """Neighbours are named by short ids that can be typed back."""
    path = database("real")
    view = at(path, show, "forks", "@^")
    assert "fork point" in view.marks
    assert len(view.children) > 1
    child = at(path, show, "forks", view.children[0].short)
    assert child.parent is not None and child.parent.checkpoint_id == view.checkpoint_id
    assert at(path, show, "chat-linear", "step:-1").parent is None


def test_all_branches_through_a_checkpoint_are_named(database: Database) -> None:
    """A checkpoint on several branches names each of them; if there are many, only their number."""
    path = database("real")
    assert at(path, show, "forks", "175f4e").marks == ["fork point", "branch:4", "branch:5"]
    assert at(path, show, "forks", "886312").marks == ["tip", "branch:5"]
    assert at(path, show, "forks", "0d60aa").marks == ["fork point", "on 6 branches"]


def test_the_config_names_the_checkpoint(database: Database) -> None:
    """It is what the library's own configs hold."""
    view = at(database("real"), show, "subgraph-interrupted", "@", "child:0d8a6c2f-acfc-f5a2-f769-35c33f5275b6")
    assert view.config == {
        "configurable": {
            "thread_id": "subgraph-interrupted",
            "checkpoint_ns": "child:0d8a6c2f-acfc-f5a2-f769-35c33f5275b6",
            "checkpoint_id": view.checkpoint_id,
        }
    }


def test_an_encrypted_checkpoint_is_shown_with_the_key_only(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the key nothing of the checkpoint can be read: an error with exit code 5."""
    path = database("encrypted")
    with pytest.raises(KeyMissing) as caught:
        at(path, show, "chat-linear")
    assert caught.value.exit_code == 5
    monkeypatch.setenv("LANGGRAPH_AES_KEY", KEYS["encrypted"].decode())
    assert "topic" in at(path, show, "chat-linear").channels


def test_one_bad_channel_among_good_ones_is_marked(tmp_path: Path) -> None:
    """Asked for alone it is exit code 5; --raw shows it all the same."""
    path = broken_channel(tmp_path)
    view = at(path, show, "t")
    assert (view.channels["good"].problem, view.channels["good"].value) == (None, "fine")
    assert "can't be decoded" in text(view)
    with pytest.raises(PayloadCorrupt, match="bad") as caught:
        at(path, show, "t", channel=["bad"])
    assert caught.value.exit_code == 5
    assert at(path, show, "t", channel=["bad"], raw=True).channels["bad"].problem


@pytest.mark.parametrize(
    ("words", "options", "error", "hint"),
    [
        (("chat-liner",), {}, ThreadNotFound, "did you mean chat-linear?"),
        (("chat-linear", "step:99"), {}, CheckpointNotFound, "its steps are -1 to 42"),
        (("chat-linear",), {"channel": ["topics"]}, ChannelNotFound, "did you mean topic?"),
    ],
)
def test_what_is_not_there_is_exit_code_4(
    words: tuple[str, ...], options: dict[str, list[str]], error: type[ThreadNotFound], hint: str, database: Database
) -> None:
    """With the nearest thing that is."""
    with pytest.raises(error) as caught:
        at(database("real"), show, *words, **options)
    assert (caught.value.exit_code, caught.value.hint) == (4, hint)


def test_a_namespace_that_is_not_there_names_those_that_are(database: Database) -> None:
    """Also where the name is wrong from its first letter on."""
    with pytest.raises(CheckpointNotFound) as caught:
        at(database("real"), show, "subgraph-interrupted", ns="kind")
    assert [name.partition(":")[0] for name in caught.value.candidates] == ["child", "child"]


@pytest.mark.parametrize("thread", ["线程-测试-😀"])
def test_every_revision_of_an_odd_thread_is_found_by_its_short_id(thread: str, database: Database) -> None:
    """Short ids are found whatever the thread is called."""
    path = database("real")
    head = at(path, show, thread)
    assert at(path, show, thread, head.short).checkpoint_id == head.checkpoint_id


def test_what_a_command_wrote_is_beside_the_state(tmp_path: Path) -> None:
    """Until a step has applied it, LangGraph's `get_state` has values that no channel has."""

    class Count(TypedDict):
        n: int

    def ask(state: Count) -> Count:
        raise ValueError(interrupt("go on?"))

    path = tmp_path / "a.sqlite"
    config: Any = {"configurable": {"thread_id": "t"}}
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = StateGraph(Count).add_node(ask).add_edge(START, "ask").compile(checkpointer=saver)
        graph.invoke({"n": 2}, config)
        assert not at(path, show, "t").command
        with pytest.raises(ValueError, match="yes"):
            graph.invoke(Command(resume="yes", update={"n": 1}), config)
        assert graph.get_state(config).values == {"n": 1}
    view = at(path, show, "t")
    assert view.channels["n"].value == 2
    assert [(write.channel, write.value) for write in view.command] == [("n", 1)]
    assert "  n  1" in text(view).splitlines()
    assert "no channel has" in text(view)


def test_a_task_id_that_is_computed_is_not_shown(tmp_path: Path) -> None:
    """LangGraph's id depends on joins that nobody has written to, which are stored nowhere; ids of writes are shown."""

    class Notes(TypedDict):
        n: int

    def note(_: Notes) -> Notes:
        return {"n": 1}

    builder = StateGraph(Notes)
    for node in ("start", "left", "right", "decide"):
        builder.add_node(node, note)
    builder.add_edge(START, "start").add_edge(["left", "right"], "decide")
    builder.add_conditional_edges("start", lambda _: "decide", ["decide", "left", "right"])
    path, config = tmp_path / "a.sqlite", {"configurable": {"thread_id": "t"}}
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph: Any = builder.compile(checkpointer=saver, interrupt_before=["decide"])
        graph.invoke({"n": 0}, config)
        (task,) = graph.get_state(config).tasks
        due = at(path, show, "t")
        assert due.tasks[0].id not in (task.id, None)  # so it must not be printed
        assert str(due.tasks[0].id) not in text(due)
        (task,) = list(graph.get_state_history(config))[1].tasks
    finished = at(path, show, "t", "^")
    assert finished.tasks[0].id == task.id and task.id in text(finished)
