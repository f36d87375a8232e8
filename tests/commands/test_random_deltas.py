"""Random delta channels: no value of ``get`` or ``export --format`` that has no note is another than the library's."""

import json
import os
from collections import Counter
from pathlib import Path
from random import Random
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

from ckpt_cli.app import run
from ckpt_cli.history.state.channels import missing
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import Ref
from ckpt_cli.reading import Reader
from ckpt_cli.session import Session
from ckpt_cli.values.jsonform import to_json
from tests.graphs.building import on

SEEDS = int(os.environ.get("CKPT_RANDOM_GRAPHS", "16"))
CHANNELS = ("one", "two", "tally")
Items = list[Any]


def joined(current: Items, writes: list[Items]) -> Items:
    """All items."""
    return [*current, *(item for write in writes for item in write)]


def without_doubles(current: Items, writes: list[Items]) -> Items:
    """Each item where it came first."""
    return [*dict.fromkeys(joined(current, writes))]


def moved(current: Items, writes: list[Items]) -> Items:
    """Each item where it came last."""
    return [*dict.fromkeys(joined(current, writes)[::-1])][::-1]


def counted(current: dict[str, int], writes: list[dict[str, int]]) -> dict[str, int]:
    """A sum for each key."""
    total = Counter(current)
    for write in writes:
        total.update(write)
    return dict(total)


def merged(current: dict[str, int], writes: list[dict[str, int]]) -> dict[str, int]:
    """The newest value of each key."""
    return {key: value for part in (current, *writes) for key, value in part.items()}


LISTS = [
    joined,
    without_doubles,
    moved,
    lambda current, writes: joined(current, writes)[-4:],
    lambda current, writes: joined(current, writes)[:4],
    lambda current, writes: sorted(joined(current, writes)),
    lambda current, writes: joined(writes[-1], [current, *writes[:-1]]) if writes else current,
]
DICTS = [counted, merged, lambda current, writes: {k: v for k, v in merged(current, writes).items() if v}]


def built(random: Random) -> StateGraph[Any]:
    """A loop of a node, which two others follow side by side now and then."""
    first, second, third = random.choice(LISTS), random.choice(LISTS), random.choice(DICTS)
    every = random.randint(2, 6)

    class State(TypedDict, total=False):
        one: Annotated[list, DeltaChannel(first, snapshot_frequency=every)]
        two: Annotated[list, DeltaChannel(second, snapshot_frequency=every)]
        tally: Annotated[dict, DeltaChannel(third, snapshot_frequency=every)]
        n: int

    def write(state: State, *, alone: bool = True) -> dict[str, Any]:
        made = {"one": random.choices(range(6), k=random.randint(0, 2)), "tally": {random.choice("xyz"): 1}}
        made |= {"two": random.choices("abcdefgh", k=random.randint(1, 3))}
        kept = {key: value for key, value in made.items() if random.random() < 0.6}
        return {**kept, "n": state.get("n", 0) + 1} if alone else kept

    graph = StateGraph(State).add_node("work", write)
    for name in ("left", "right"):
        graph.add_node(name, lambda state: write(state, alone=False)).add_edge(name, "work")
    ways = {"on": "work", "left": "left", "right": "right", END: END}
    graph.add_edge(START, "work")
    graph.add_conditional_edges(
        "work", lambda s: END if s.get("n", 7) % 7 == 0 else random.choice(["on", "on", ["left", "right"]]), ways
    )
    return graph


def played(random: Random, app: Any) -> None:
    """Some turns, updates and forks."""
    for _ in range(random.randint(1, 4)):
        app.invoke({"n": 0, "one": [9]}, on("t"), durability=random.choice(["sync", "sync", "exit"]))
        at = random.choice(list(app.get_state_history(on("t"))))
        if random.random() < 0.4:
            app.update_state(random.choice([at.config, on("t")]), {"one": [7, 1], "two": ["a"]}, as_node="work")
        if at.parent_config and random.random() < 0.3:
            app.invoke(None, at.config)


def values_of_get(path: Path, states: dict[str, Any]) -> dict[tuple[str, str], Any]:
    """Checkpoint and channel to what ``get`` gives, of those values that aren't stored and have no note."""
    session, found = Session(str(path)), dict[tuple[str, str], Any]()

    def look(reader: Reader) -> None:
        for checkpoint_id in states:
            ref = Ref("t", "", checkpoint_id)
            deltas, unstored = Inspection(reader, ref).deltas(), missing(reader.state(ref))
            own = {c: one for c, one in deltas.items() if c in unstored and not one.is_larger}
            found.update({(checkpoint_id, c): to_json(one.value, False) for c, one in own.items()})

    session.read(look)
    session.close()
    return found


def values_of_export(path: Path) -> dict[tuple[str, str], Any]:
    """The same of the rows of ``export``."""
    rows = path.with_suffix(".jsonl")
    assert run(["export", "t", "-o", str(rows), "--format", "jsonl", "-d", str(path)]) == 0
    return {
        (row["checkpoint_id"], channel): value
        for row in map(json.loads, rows.read_text().splitlines())
        for channel, value in row["values"].items()
        if not any(note.startswith(f"{channel} at") for note in row["notes"])
    }


@pytest.mark.parametrize("seed", range(SEEDS))
def test_no_value_is_another_than_the_librarys(seed: int, tmp_path: Path) -> None:
    """Reducers that ckpt knows and others that look like them: a value is the library's, or is said to be unproven."""
    random, path = Random(seed), tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = built(random).compile(checkpointer=saver)
        played(random, app)
        states = {one.config["configurable"]["checkpoint_id"]: one.values for one in app.get_state_history(on("t"))}
    for said in (values_of_get(path, states), values_of_export(path)):
        false = {key: value for key, value in said.items() if is_false(key, value, states)}
        assert {key: (value, states[key[0]].get(key[1])) for key, value in false.items()} == {}


def is_false(key: tuple[str, str], said: Any, states: dict[str, Any]) -> bool:
    """Whether a value is stated and the library has another one; a channel that was never written is empty."""
    if key[1] not in CHANNELS or (isinstance(said, dict) and "$type" in said):
        return False
    return bool((said or None) != (states[key[0]].get(key[1]) or None))
