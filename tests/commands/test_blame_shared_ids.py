"""``ckpt blame`` and ``diff`` of lists in which several elements share an id, as the events of an order have its id."""

import random
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.commands.blame import blame
from ckpt_cli.commands.diff import diff
from ckpt_cli.values.difference import Counts
from tests.commands.asking import at
from tests.graphs.building import on

Events = list[Any]

REDUCERS: dict[str, Callable[[Events, Events], Events]] = {
    "reverse": lambda old, new: [*old, *new][::-1],
    "rotate": lambda old, new: [*old, *new][1:] + [*old, *new][:1],
    "newest": lambda old, new: [*new, *old][:5],
    "sorted": lambda old, new: sorted([*old, *new], key=_number)[-6:],
}


def _number(event: Any) -> int:
    return int(event["number"] if isinstance(event, dict) else event.content)


def _event(order: str, number: int) -> Any:
    return {"id": order, "number": number}


def _message(order: str, number: int) -> Any:
    return AIMessage(str(number), id=order)


def _play(path: Path, reducer: Any, writes: list[dict[str, Events]]) -> list[tuple[str, Events]]:
    """A turn for each dict of writes, in which its nodes write side by side; the states, oldest first."""
    with SqliteSaver.from_conn_string(str(path)) as saver:
        for written in writes:
            builder = StateGraph(TypedDict("State", {"events": Annotated[list, reducer]}))  # type: ignore[operator]
            for name, events in written.items():
                builder.add_node(name, lambda _, events=events: {"events": events})
                builder.add_edge(START, name)
            graph = builder.compile(checkpointer=saver)
            graph.invoke({"events": []}, on("t"))
        states = [*graph.get_state_history(on("t"))][::-1]
    return [(one.config["configurable"]["checkpoint_id"], one.values.get("events", [])) for one in states]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("make", [_event, _message])
@pytest.mark.parametrize("name", REDUCERS)
def test_each_stands_since_it_came_and_went_when_it_did(name: str, make: Any, seed: int, tmp_path: Path) -> None:
    """Each has a number of its own, which says who wrote it; the ids are those of two orders."""
    dice = random.Random(seed)
    count = iter(dice.sample(range(100), 100))
    writes = [
        {f"n{turn}": [make(dice.choice("pq"), next(count)) for _ in range(dice.choice([1, 1, 2]))]} for turn in range(7)
    ]
    states = _play(tmp_path / "t.sqlite", REDUCERS[name], writes)
    for line in at(tmp_path / "t.sqlite", blame, "t", "events").lines:
        event = states[-1][1][int(line.path[7:-1])]
        came = next(place for place in range(len(states)) if all(event in values for _, values in states[place:]))
        assert (line.since.checkpoint_id, [*line.since.or_at]) == (states[came][0], [])
        assert line.since.node == next(node for one in writes for node, events in one.items() if event in events)
    gone = at(tmp_path / "t.sqlite", blame, "t", "events", reverse=True).lines
    went = [one for (_, old), (one, new) in pairwise(states) for event in old if event not in new]
    assert sorted(line.gone.checkpoint_id for line in gone) == went


def test_a_move_is_no_change(tmp_path: Path) -> None:
    """Events of one order change places, and one of another order comes."""
    writes = [{"a": [_event("p", 1), _event("p", 2)]}, {"b": [_event("q", 3)]}]
    _play(tmp_path / "t.sqlite", REDUCERS["reverse"], writes)
    [channel] = at(tmp_path / "t.sqlite", diff, "t", "@^", "@").channels
    assert channel.counts == Counts(kept=1, changed=0, added=1, removed=0, moved=1)


def test_whoever_gave_the_other_one_need_not_have_taken_it(tmp_path: Path) -> None:
    """The element at the place has the same id as before, and others have it too; two nodes wrote."""
    old, new = [_event("p", 1), _event("p", 2)], _event("p", 3)

    def reducer(events: Events, more: Events) -> Events:
        taken = [one["takes"] for one in more if "takes" in one]
        return [one for one in [*more, *events] if one.get("number") not in (None, *taken)]

    _play(tmp_path / "t.sqlite", reducer, [{"first": old}, {"gives": [new], "takes": [{"takes": 1}]}])
    [line] = at(tmp_path / "t.sqlite", blame, "t", "events", reverse=True).lines
    assert (line.value, line.gone.by, {*line.gone.candidates}) == (old[0], "", {"gives", "takes"})
