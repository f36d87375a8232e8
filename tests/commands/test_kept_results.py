"""What ``edit --task`` kept counts once: its graph counts what its nodes did, and `graph`, `trace`, `log` agree."""

import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START
from langgraph.types import Command, Send, interrupt

from ckpt_cli.app import run as ckpt
from ckpt_cli.commands.log import log
from ckpt_cli.commands.trace import trace
from ckpt_cli.views.trace import TraceView
from tests.commands.asking import at
from tests.commands.test_graph import agree
from tests.commands.test_graph import look as graph_of
from tests.graphs.building import on
from tests.graphs.traced import Traced
from tests.graphs.traced_kinds import State, says

_PATIENCE = 1_000  # looks at the database
_OTHERS = 3  # tasks beside the one that can't be read


def joined(before: list[str], writes: list[list[str]]) -> list[str]:
    return [*before, *(one for write in writes for one in write)]


class Deltas(TypedDict, total=False):
    log: Annotated[list[str], DeltaChannel(joined, list)]
    n: int


class OftenStored(TypedDict, total=False):
    log: Annotated[list[str], DeltaChannel(joined, list, snapshot_frequency=2)]
    n: int


Make = Callable[..., "Documents"]


class Documents:
    """Three documents, a task each, and a node beside them; one can't be read, and about one it asks."""

    def __init__(
        self, file: Path, saver: Any, *, bad: int | None = None, asks: int | None = None, schema: type = State
    ) -> None:
        self.file, self.bad, self.asks, self.before = file, bad, asks, 0
        self.one = Traced(schema)
        self.one.node("plan", says("plan"))
        self.one.node("read", self._read)
        self.one.node("beside", says("beside"))
        self.one.node("end", says("end"))
        self.one.edge(START, "plan")
        self.one.edge("plan", "beside")
        self.one.route("plan", lambda _: [Send("read", {"n": n}) for n in range(3)], ["read"])
        self.one.edge("read", "end")
        self.one.edge("beside", END)
        self.graph = self.one.builder.compile(checkpointer=saver)

    def _read(self, state: Any) -> dict[str, Any]:
        n = state["n"]
        if n == self.bad:
            self._wait_for_others()
            raise ValueError(f"{n} can't be read")
        if n == self.asks:
            return {"log": [interrupt("which page?")]}
        return {"log": [str(n % 10)]}

    def _wait_for_others(self) -> None:
        """Wait until the tasks beside it have stored what they leave, which a failure may cancel."""
        for _ in range(_PATIENCE):
            if self._stored() >= self.before + _OTHERS:
                return
            time.sleep(0.01)

    def _stored(self) -> int:
        stored = "select count(distinct task_id) from writes where task_path like '%push%' or task_path like '%beside'"
        with closing(sqlite3.connect(self.file)) as plain:
            return int(plain.execute(stored).fetchone()[0])

    def start(self) -> None:
        self.before = self._stored()
        self.one.start()
        self.go({"log": []})

    def go(self, given: Any = None) -> None:
        with contextlib.suppress(ValueError):
            self.graph.invoke(given, on("t"), durability="sync")

    def edit(self, *words: str) -> None:
        assert ckpt(["edit", "t", *words, "--yes", "-d", str(self.file)]) == 0

    @property
    def trace(self) -> TraceView:
        view: TraceView = at(self.file, trace, "t")
        return view


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    file = tmp_path / "kept.sqlite"
    with SqliteSaver.from_conn_string(str(file)) as saver:
        saver.setup()
        yield lambda **options: Documents(file, saver, **options)


def another_argument(make: Make) -> Documents:
    run = make(bad=1, asks=2)
    run.start()
    run.edit("--task", "read[2]", "--set", "n=11")
    run.go(Command(resume="the last"))
    return run


def another_start(make: Make) -> Documents:
    run = make(bad=1)
    run.start()
    run.edit("--task", "read[2]", "--again")
    run.bad = None
    run.go()
    return run


def deltas_that_nothing_proves(make: Make) -> Documents:
    return _play_deltas(make(bad=1, asks=2, schema=Deltas))


def deltas_stored_whole(make: Make) -> Documents:
    run = make(schema=OftenStored)
    for _ in range(3):
        run.start()
    run.bad, run.asks = 1, 2
    return _play_deltas(run)


def _play_deltas(run: Documents) -> Documents:
    run.start()
    run.edit("--task", "read[2]", "--set", "n=11")
    run.go(Command(resume="the last"))
    return run


def an_edit_that_nothing_has_continued(make: Make) -> Documents:
    run = make(bad=1, asks=2)
    run.start()
    run.edit("--task", "read[1]", "--set", "n=10")
    return run


def two_edits(make: Make) -> Documents:
    run = an_edit_that_nothing_has_continued(make)
    run.edit("--task", "read[2]", "--set", "n=11")
    run.go(Command(resume="the last"))
    return run


def the_same_result_of_another_argument(make: Make) -> Documents:
    run = make(bad=1)
    run.start()
    run.edit("--task", "read[1]", "--set", "n=10")
    run.bad = None
    run.go()
    return run


def the_same_results_after_an_update(make: Make) -> Documents:
    run = make(bad=1)
    run.start()
    with run.one.updating():
        run.graph.update_state(on("t"), {"log": ["by hand"]}, as_node="plan")
    run.one.updated_as("plan")
    run.bad = None
    run.go()
    return run


def the_same_results_after_a_copy(make: Make) -> Documents:
    run = make(bad=1)
    run.start()
    run.graph.update_state(on("t"), None, as_node="__copy__")
    run.bad = None
    run.go()
    return run


def the_same_results_after_another_edit(make: Make) -> Documents:
    run = make(bad=1)
    run.start()
    run.edit("--set", 'log=["other"]', "--rerun")
    run.bad = None
    run.go()
    return run


LINES = [
    another_argument,
    another_start,
    deltas_stored_whole,
    an_edit_that_nothing_has_continued,
    two_edits,
    the_same_result_of_another_argument,
    the_same_results_after_an_update,
    the_same_results_after_another_edit,
]


BESIDE = [deltas_that_nothing_proves, the_same_results_after_a_copy]  # not on the line of what they were made of


@pytest.mark.parametrize("play", [*LINES, *BESIDE], ids=lambda play: play.__name__)
def test_the_graph_counts_what_ran(play: Callable[[Make], Documents], make: Make) -> None:
    """Nodes and edges have the counts of the graph's own functions, and an edit of a task leads nowhere."""
    run = play(make)
    if play is the_same_results_after_another_edit:
        drawn = {node.name: (node.runs, node.failed) for node in graph_of(run.file).graphs[0].nodes}
        assert {name: n for name, (n, _) in drawn.items() if name != START} == run.one.runs and drawn["read"][1] == 1
        return
    agree(graph_of(run.file), run.one)


@pytest.mark.parametrize("play", [another_argument, another_start, deltas_stored_whole], ids=lambda play: play.__name__)
def test_without_paths(play: Callable[[Make], Documents], make: Make, tmp_path: Path) -> None:
    """A database without task paths (checkpoint-sqlite before 3.1.2) shows what is kept as well: ids show the tasks."""
    run, pathless = play(make), tmp_path / "pathless.sqlite"
    with closing(sqlite3.connect(run.file)) as stored, closing(sqlite3.connect(pathless)) as copy:
        stored.backup(copy)
        copy.execute("update writes set task_path = ''")
        copy.commit()
        copy.execute("pragma journal_mode = delete")
    [drawn] = graph_of(pathless).graphs
    known = {node.name: node for node in drawn.nodes if node.name != START}
    unnamed = sum(edge.count for edge in drawn.edges if edge.source is None)  # the Sends of an edit aren't written
    assert {name: node.runs for name, node in known.items()} | {"read": known["read"].runs + unnamed} == run.one.runs
    assert {name: node.failed for name, node in known.items() if node.failed} == run.one.failed


@pytest.mark.parametrize("play", LINES, ids=lambda play: play.__name__)
def test_the_trace_counts_what_ran(play: Callable[[Make], Documents], make: Make) -> None:
    """The sums are those of the graph's own functions; the rows of writes are all counted, the kept ones too."""
    run = play(make)
    view = run.trace
    nodes = {one.node: one for one in view.nodes if one.kind == "task" and one.node != START}
    for name, counter in (("finished", run.one.runs), ("asked", run.one.asked), ("failed", run.one.failed)):
        assert {node: getattr(one, name) for node, one in nodes.items() if getattr(one, name)} == counter, name
    with closing(sqlite3.connect(run.file)) as plain:
        assert view.sums.writes == plain.execute("select count(*) from writes").fetchone()[0]


def test_another_branch_has_what_is_kept(make: Make) -> None:
    """A branch that began with an edit counts the tasks whose results it kept: its line has them nowhere else."""
    run = make()
    run.start()
    run.edit("step:1", "--task", "read[1]", "--set", "n=10")
    run.go()
    agree(graph_of(run.file), run.one)
    assert run.one.runs == {"plan": 1, "read": 4, "beside": 1, "end": 2}
    sums = {one.node: (one.runs, one.finished) for one in run.trace.nodes if one.kind == "task" and one.node != START}
    assert sums == {"plan": (1, 1), "read": (3, 3), "beside": (1, 1), "end": (1, 1)}


def test_no_task_failed_where_the_failure_was_kept(make: Make) -> None:
    """`log` names the failure where it happened, and at the tip, where it is due again; the steps name what is kept."""
    run = an_edit_that_nothing_has_continued(make)
    asked_and_failed = {("loop", "read", "error"), ("loop", "read", "interrupt")}
    assert _halts(run) == asked_and_failed | {("update", node, kind) for _, node, kind in asked_and_failed}
    run.bad = None
    run.go(Command(resume="the last"))
    assert _halts(run) == asked_and_failed
    [kept] = [step for step in run.trace.steps if any(task.kept for task in step.tasks)]
    assert sorted(task.node or "" for task in kept.tasks if task.kept) == ["beside"]
    assert kept.spent == "waiting"


def _halts(run: Documents) -> set[tuple[str, str | None, str]]:
    return {(step.source, halt.node, halt.kind) for step in at(run.file, log, "t").steps for halt in step.halts}
