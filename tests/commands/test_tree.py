"""``ckpt tree`` draws whole threads."""

import operator
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

from ckpt_cli.commands.tree import TreeFormat, tree
from ckpt_cli.errors import NotFound, ThreadNotFound, UsageError
from ckpt_cli.output.line import Page, plain
from ckpt_cli.output.printer import render
from ckpt_cli.queries import step_reads
from ckpt_cli.views.tree import TreeRow, TreeView
from tests import golden
from tests.commands.asking import look
from tests.databases import DATABASES, KEYS

Database = Callable[[str], Path]

LOOKS = [
    ("real", "forks"),
    ("real", "subgraph-interrupted"),
    ("real", "subgraph-stateful"),
    ("real", "interrupt-multi-partial"),
    ("real", "error-sibling"),
    ("real", "mapreduce"),
    ("real", "long-1000"),
    ("real", "线程-测试-😀"),
    ("js", "js-interrupt"),
    ("legacy/py-0.0.69", "fork"),
    ("legacy/py-0.2.60", "fork-copy"),
    ("legacy/js-1.4.17", "sub-intr"),
]


@pytest.mark.parametrize(("name", "thread"), LOOKS)
def test_looks(name: str, thread: str, database: Database) -> None:
    """Branches, subgraphs, questions, errors, Sends and long runs, of today and of older generations."""
    view, said = look(database(name), lambda session: tree(session, thread))
    golden.check(f"tree/{name.replace('/', '-')}-{thread if thread.isascii() else 'unicode'}", view)
    assert said == []


def test_everything_is_drawn_when_asked(database: Database) -> None:
    """``--full`` draws every checkpoint, those of subgraphs below the checkpoint that called them."""
    view, _ = look(database("real"), lambda session: tree(session, "subgraphs", full=True))
    golden.check("tree/full", view)


def checkpoints(rows: list[TreeRow]) -> Iterator[int]:
    """How many checkpoints each row represents, with those of its subgraphs."""
    for row in rows:
        yield (row.step is not None) + (row.fold.checkpoints + row.fold.subgraphs if row.fold else 0)
        yield row.aside.checkpoints if row.aside else 0
        for subgraph in row.subgraphs:
            inner = sum(checkpoints(subgraph.rows))
            yield inner or subgraph.checkpoints + subgraph.nested


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("name", DATABASES)
def test_every_checkpoint_is_drawn_or_counted(
    name: str, full: bool, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In every thread of every database each checkpoint of each namespace is drawn or counted exactly once."""
    if name in KEYS:
        monkeypatch.setenv("LANGGRAPH_AES_KEY", KEYS[name].decode())

    def every(view: TreeView) -> int:
        return sum(checkpoints(view.rows))

    def drawn(session) -> list[TreeView]:  # type: ignore[no-untyped-def]
        threads = [thread.thread_id for thread in session.reader.saver.threads()]
        return [tree(session, thread, full=full) for thread in threads if not thread.startswith("small-")]

    views, _ = look(database(name), drawn)
    assert [view.thread_id for view in views if every(view) != view.checkpoints + view.subgraph_checkpoints] == []
    assert not any(row.fold for view in views for row in view.rows if full)


def test_a_namespace_is_drawn_by_itself(database: Database) -> None:
    """``--ns`` takes a namespace, or as much of it as no other begins with; others are named."""
    path = database("real")
    view, _ = look(path, lambda session: tree(session, "subgraphs", ns="child:b39"))
    assert (view.ns, view.checkpoints) == ("child:b3902032-38df-3bdb-ce8b-26e76d0157d8", 4)
    with pytest.raises(UsageError, match="begins 2 namespaces"):
        look(path, lambda session: tree(session, "subgraphs", ns="child"))
    with pytest.raises(NotFound, match="no namespace 'nobody'"):
        look(path, lambda session: tree(session, "subgraphs", ns="nobody"))
    with pytest.raises(ThreadNotFound):
        look(path, lambda session: tree(session, "no such thread"))


def test_an_encrypted_head_is_drawn_and_says_so(database: Database) -> None:
    """Without the key the tree is still drawn; only status and values are missing."""
    view, _ = look(database("encrypted"), lambda session: tree(session, "forks"))
    assert (view.status, len(view.branches), view.checkpoints) == (None, 6, 32)
    assert "key" in (view.problem or "")


@pytest.mark.parametrize("name", [name for name in DATABASES if name not in KEYS])
def test_sources_for_drawings_hold_no_data_outside_labels(name: str, database: Database) -> None:
    """Mermaid and Graphviz get our own ids, quoted labels without quotes in them, and arrows between known boxes."""

    def drawn(session, form: TreeFormat) -> list[TreeView]:  # type: ignore[no-untyped-def]
        threads = [thread.thread_id for thread in session.reader.saver.threads()]
        return [tree(session, thread, form=form, full=True) for thread in threads[:40]]

    path = database(name)
    for view in look(path, lambda session: drawn(session, TreeFormat.MERMAID))[0]:
        assert [line for line in lines(view) if not re.fullmatch(_MERMAID, line)] == []
        assert arrows(view, " -->", "-.->") <= boxes(view)
    for view in look(path, lambda session: drawn(session, TreeFormat.DOT))[0]:
        assert [line for line in lines(view) if not re.fullmatch(_DOT, line)] == []
        assert arrows(view, " -> ") <= boxes(view)


_MERMAID = (
    r"flowchart TD"
    r"|  c\d+(\[\"[^\"]*\"\]|\(\[\"[^\"]*\"\]\))(:::\w+)?"
    r"|  c\d+ (-->|-\.->) c\d+"
    r"|  classDef \w+ [\w:#,-]+"
)
_DOT = (
    r'digraph "(?:[^"\\]|\\.)*" \{|\}'
    r"|  node \[.*\]"
    r'|  c\d+ \[label="(?:[^"\\]|\\.)*", fillcolor="[#\w]+", color="[#\w]+"(?:, shape=plaintext, style="")?\]'
    r"|  c\d+ -> c\d+( \[style=dashed\])?"
)


def lines(view: TreeView) -> list[str]:
    """The program."""
    return [plain(line) for line in render(view, Page(None, golden.NOW))]


def boxes(view: TreeView) -> set[str]:
    """The names of all boxes."""
    return {
        found[1] for line in lines(view) if (found := re.match(r"  (c\d+)[ \[(](?!-)", line)) and "->" not in line[:14]
    }


def arrows(view: TreeView, *signs: str) -> set[str]:
    """The names at both ends of all arrows."""
    return {name for line in lines(view) for sign in signs if sign in line[:14] for name in re.findall(r"c\d+", line)}


class Rounds(TypedDict, total=False):
    """A state that goes round."""

    done: Annotated[list[str], operator.add]
    n: int


@pytest.mark.parametrize("length", [10, 6000])
@pytest.mark.parametrize("at_once", [1, 200])
def test_nodes_that_only_sends_call_are_named_in_folds(
    length: int, at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the number of their tasks; also of long Sends, and where there are more than are read at once."""
    monkeypatch.setattr(step_reads, "_SENDS", at_once)
    names = ("left", "right")
    graph = StateGraph(Rounds)
    graph.add_node("plan", lambda state: {"n": state.get("n", 0) + 1})
    for name in names:
        graph.add_node(name, lambda state, name=name: {"done": [name]})
    graph.add_node("gather", lambda state: {})
    graph.add_edge(START, "plan")
    graph.add_conditional_edges(
        "plan", lambda state: [Send(names[state["n"] % 2], {"text": "x" * length})] * 2, list(names)
    )
    for name in names:
        graph.add_edge(name, "gather")
    graph.add_conditional_edges("gather", lambda state: "plan" if state["n"] < 5 else END, ["plan", END])
    path = tmp_path / "sends.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph.compile(checkpointer=saver).invoke({"n": 0}, {"configurable": {"thread_id": "t"}})
    view, _ = look(path, lambda session: tree(session, "t"))
    (fold,) = [row.fold for row in view.rows if row.fold is not None]
    assert fold.nodes == {"__start__": 1, "plan": 5, "right": 6, "left": 4, "gather": 4}
