"""The demo database is what the real LangGraph would have written, and the real LangGraph carries on from it."""

import importlib.util
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command

from ckpt_cli import app
from ckpt_cli.commands.demo import run
from ckpt_cli.demo.story import plan
from ckpt_cli.errors import Refused
from ckpt_cli.model import Checkpoint, Plan
from ckpt_cli.session import Session
from ckpt_cli.views.demo import DemoView
from tests import golden
from tests.commands.same_database import listing_of

NOW = golden.NOW
APPROVED = Command(resume={"approved": True, "by": "dana"})


@pytest.fixture(scope="module")
def agent() -> Iterator[ModuleType]:
    """The agent's own module, under the name that its dataclass carries in the database."""
    spec = importlib.util.spec_from_file_location("support_agent", Path(__file__).parent / "support_agent.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules["support_agent"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules["support_agent"]


class Real:
    """The real graph on a database."""

    def __init__(self, agent: ModuleType, path: Path) -> None:
        self._opened = SqliteSaver.from_conn_string(str(path))
        saver = self._opened.__enter__()
        saver.serde = JsonPlusSerializer(allowed_msgpack_modules=[("support_agent", "Order")])
        self.graph = agent.build(saver)

    def __enter__(self) -> Any:
        return self.graph

    def __exit__(self, *exc: Any) -> None:
        self._opened.__exit__(*exc)


def config(thread_id: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": thread_id}}


def make(path: Path, now: float = NOW) -> DemoView:
    return run(Session(None, clock=lambda: now), path, plan(now))


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    make(tmp_path / "demo.sqlite")
    return tmp_path / "demo.sqlite"


def test_every_row_is_what_langgraph_writes(agent: ModuleType, demo: Path, tmp_path: Path) -> None:
    """Keys, their order, parents, metadata, versions, seen, writes and encodings are those of the real run."""
    with Real(agent, tmp_path / "real.sqlite") as graph:
        agent.play(graph)
    assert listing_of(demo).splitlines() == listing_of(tmp_path / "real.sqlite").splitlines()


def test_langgraph_sees_the_same_status_of_each_thread(agent: ModuleType, demo: Path) -> None:
    """The next nodes, the question and the error are those of the real get_state."""
    with Real(agent, demo) as graph:
        states = {n: graph.get_state(config(f"support-{n}")) for n in (39, 40, 41, 42)}
    assert {n: state.next for n, state in states.items()} == {39: (), 40: (), 41: ("audit",), 42: ("approve_refund",)}
    assert [i.value["question"] for i in states[42].interrupts] == ["Refund 40.00 EUR for order 1043?"]
    assert {task.name: task.error for task in states[41].tasks} == {"audit": "TimeoutError('crm')", "notify": None}
    assert states[42].values["order"] == agent.ORDERS["1043"]


def test_langgraph_sees_the_whole_history(agent: ModuleType, demo: Path) -> None:
    """Each checkpoint of the forked thread has the next node and the route it had when it was saved."""
    with Real(agent, demo) as graph:
        history = list(graph.get_state_history(config("support-42")))
    seen = [(s.metadata["step"], s.metadata["source"], *s.next, s.values.get("route")) for s in reversed(history)]
    assert seen == [
        (-1, "input", "__start__", None),
        (0, "loop", "agent", None),
        (1, "loop", "tools", None),
        (2, "loop", "triage", None),
        (3, "loop", "answer", "tracking"),
        (4, "loop", "tracking"),
        (5, "input", "__start__", "tracking"),
        (6, "loop", "agent", "tracking"),
        (7, "loop", "tools", "tracking"),
        (8, "loop", "triage", "tracking"),
        (9, "loop", "answer", "tracking"),
        (10, "loop", "tracking"),
        (10, "update", "orders", "refund"),
        (11, "loop", "approve_refund", "refund"),
    ]


def test_langgraph_takes_the_answer_and_goes_on_to_the_end(agent: ModuleType, demo: Path) -> None:
    """The waiting thread, resumed, pays, writes the mail, books it and answers."""
    with Real(agent, demo) as graph:
        values = graph.invoke(APPROVED, config("support-42"))
        assert graph.get_state(config("support-42")).next == ()
    assert values["log"] == ["refund approved by dana", "booked in the crm", "mail sent"]
    assert values["messages"][-1].text == "We refund 40.00 EUR to your card."


def test_langgraph_runs_only_the_failed_node_again(agent: ModuleType, demo: Path) -> None:
    """The failed thread continues from the pending writes of the node that had finished."""
    with Real(agent, demo) as graph:
        agent.RAN.clear()
        values = graph.invoke(None, config("support-41"))
    assert agent.RAN == ["audit", "answer"]
    assert values["log"] == ["refund approved by dana", "booked in the crm", "mail sent"]


def test_nothing_is_overwritten(demo: Path) -> None:
    """A second demo at the same place is refused and the file stays as it was."""
    before = demo.read_bytes()
    with pytest.raises(Refused) as refused:
        make(demo)
    assert refused.value.exit_code == 7 and refused.value.hint
    assert demo.read_bytes() == before


def test_the_same_moment_gives_the_same_database() -> None:
    """Ids and versions come from a fixed seed."""
    assert plan(NOW) == plan(NOW)


def test_short_ids_do_not_depend_on_the_time() -> None:
    """The last group of every checkpoint id is the same whenever the demo is made, so that it can be written about."""

    def ids(now: float) -> list[str]:
        return [record.row.checkpoint_id for record in plan(now).add if isinstance(record, Checkpoint)]

    later = NOW + 3 * 86400 + 0.123456
    assert [i[-12:] for i in ids(NOW)] == [i[-12:] for i in ids(later)]
    assert not set(ids(NOW)) & set(ids(later))


def test_it_says_where_it_is_draws_it_and_names_what_to_try(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `ckpt demo` prints, at every width and as JSON."""
    monkeypatch.chdir(tmp_path)
    golden.check("demo/demo", make(Path("ckpt-demo.sqlite")))


def test_what_it_says_to_try_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each of the five commands, copied, answers; a path with a space in it is quoted."""
    view = make(tmp_path / "my demo.sqlite")
    assert len(view.next) == 5
    for suggestion in view.next:
        program, *words = shlex.split(suggestion.command)
        assert (program, app.run(words)) == ("ckpt", 0)
        assert capsys.readouterr().out.strip()


def test_a_failure_leaves_no_file_behind(tmp_path: Path) -> None:
    """Where the plan can't be written, the file that was made for it goes again."""
    twice = plan(NOW).add[0]
    with pytest.raises(Refused):
        run(Session(None), tmp_path / "demo.sqlite", Plan("the same row twice", (twice, twice)))
    assert list(tmp_path.iterdir()) == []
