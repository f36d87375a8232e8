"""The first number of a channel: LangGraph begins with the value of the channel's type, which is stored nowhere."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.app import run
from ckpt_cli.commands.replay import replay
from ckpt_cli.commands.verify import verify
from ckpt_cli.session import Session
from tests.commands.asking import at

ON: Any = {"configurable": {"thread_id": "t"}}
NUMBERS = ((0, 0, 1, 0.5, 2, 2.0, 1, 3), (-1, -2, 0, 1), (0.0, 0, 1, 1.0, 0.5, 2.5), (3, 1, 2))
CHOICES: dict[str, tuple[str, type, Callable[[Any, Any], Any]]] = {
    "max of floats": ("max", float, lambda a, b: max(a, b)),
    "max of integers": ("max", int, lambda a, b: max(a, b)),
    "max, the later of equals": ("max", float, lambda a, b: max(b, a)),
    "min of floats": ("min", float, lambda a, b: min(a, b)),
    "sum of floats": ("sum", float, lambda a, b: a + b),
    "max of maybe": ("max", float | None, lambda a, b: b if a is None else max(a, b)),  # type: ignore[dict-item]
}


@pytest.mark.parametrize("numbers", NUMBERS)
@pytest.mark.parametrize("choice", CHOICES)
def test_no_honest_step_differs_from_the_named_reducer(tmp_path: Path, choice: str, numbers: tuple[float, ...]) -> None:
    """`replay --to` and `verify` with the reducer that the graph has agree with each step of any first numbers."""
    name, of, reducer = CHOICES[choice]

    class State(TypedDict, total=False):
        n: Annotated[of, reducer]  # type: ignore[valid-type]
        turn: int

    left = list(numbers)
    graph = StateGraph(State)
    graph.add_node("work", lambda _: {"n": left.pop(0)})
    graph.add_edge(START, "work")
    with SqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
        app = graph.compile(checkpointer=saver)
        for turn in range(len(numbers)):
            app.invoke({"turn": turn}, ON)
    named = at(tmp_path / "t.sqlite", replay, "t", to="@", reducer=[f"n={name}"])
    assert {str(step.verdict) for step in named.steps} == {"agrees"}
    assert verified(tmp_path / "t.sqlite", reducer=[f"n={name}"]) == {"agrees"}
    learned = at(tmp_path / "t.sqlite", replay, "t", to="@")
    assert {str(step.verdict) for step in learned.steps} <= {"agrees", "unknown"}
    assert verified(tmp_path / "t.sqlite") <= {"agrees", "unknown"}


def verified(path: Path, **options: Any) -> set[str]:
    """The verdicts of `verify` on the steps of all threads."""
    with closing(Session(str(path))) as session:
        return {verdict for thread in verify(session, **options).threads for verdict in thread.verdicts}


def test_an_update_does_not_say_what_an_unknown_beginning_decides(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """-1 given to an empty `max` is 0 in LangGraph if the channel begins with 0, so ckpt refuses to name the value."""
    graph = StateGraph(TypedDict("State", {"n": Annotated[int, lambda a, b: max(a, b)], "turn": int}, total=False))  # type: ignore[operator]
    graph.add_node("work", lambda _: {"turn": 1})
    graph.add_edge(START, "work")
    with SqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
        graph.compile(checkpointer=saver).invoke({"turn": 0}, ON)
    words = ["update", "t", "--as-node", "work", "-d", str(tmp_path / "t.sqlite"), "--dry-run", "--reducer", "n=max"]
    assert run([*words, "--values", '{"n": -1}']) != 0
    assert "begins with 0" in capsys.readouterr().err
    assert run([*words, "--values", '{"n": 2}']) == 0
