"""``ckpt verify`` of threads whose reducers ckpt doesn't know: it suspects one honest step in a thousand at most."""

import os
from collections import Counter
from contextlib import closing
from operator import add
from pathlib import Path
from random import Random
from typing import Annotated, Any, TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Overwrite

from ckpt_cli.commands.verify import verify
from ckpt_cli.session import Session
from tests.commands.honest_writes import Channel, channel

FLEETS = int(os.environ.get("CKPT_RANDOM_FLEETS", "8"))
_OF_OWN = 7  # channels of which ckpt doesn't know the reducer; one more is a list that grows


def _graph(random: Random, channels: list[Channel], saver: Any) -> Any:
    """Two nodes in a loop, and one beside the second; each writes to some of the channels."""
    fields = {one.name: Annotated[one.kind, one.reducer] for one in channels}
    state: Any = TypedDict("State", {"n": int, "log": Annotated[list[str], add], **fields}, total=False)  # type: ignore[misc]
    beside, often, replaces = random.random() < 0.3, random.choice([0.2, 0.5, 0.9]), random.random() < 0.2

    def written(name: str) -> dict[str, Any]:
        values = {one.name: one.make() for one in channels if random.random() < often}
        if replaces and random.random() < 0.05:
            values |= {one.name: Overwrite(one.make()) for one in random.sample(channels, 1)}
        return {"log": [f"{name} {random.randrange(100)}"], **values}

    def write_beside(_: Any) -> dict[str, Any]:
        values = written("side")
        return {name: value for name, value in values.items() if not isinstance(value, Overwrite)}

    builder = StateGraph(state)
    builder.add_node("first", lambda state: {**written("first"), "n": state.get("n", 0) + 1})
    builder.add_node("second", lambda _: written("second"))
    builder.add_node("side", write_beside)
    builder.add_edge(START, "first")
    builder.add_conditional_edges("first", lambda _: ["second", "side"] if beside else ["second"], ["second", "side"])
    builder.add_conditional_edges("second", lambda state: "first" if state.get("n", 0) % 3 else END, ["first", END])
    return builder.compile(checkpointer=saver)


def _run(random: Random, path: Path) -> None:
    """A few threads, some of them long; now and then a person updates one."""
    channels = [channel(random, f"c{number}") for number in range(_OF_OWN)]
    with SqliteSaver.from_conn_string(str(path)) as saver:
        saver.conn.execute("PRAGMA synchronous = OFF")
        app = _graph(random, channels, saver)
        for number in range(random.randint(1, 6)):
            on: Any = {"configurable": {"thread_id": f"t{number}"}, "recursion_limit": 100}
            for _ in range(random.choice([1, 3, 6])):
                app.invoke({"log": ["in"]}, on, durability="sync")
                if random.random() < 0.1:
                    app.update_state(on, {one.name: one.make() for one in random.sample(channels, 3)}, as_node="second")


def test_honest_steps_are_not_suspect(tmp_path: Path) -> None:
    """Whether or not other threads count as evidence, and whatever the reducer is."""
    total: Counter[str] = Counter()
    found = []
    for seed in range(FLEETS):
        path = tmp_path / f"{seed}.sqlite"
        _run(Random(seed), path)
        with closing(Session(str(path))) as session:
            for thread_id in [one.thread_id for one in verify(session).threads]:
                [thread] = verify(session, [thread_id]).threads
                total += Counter(thread.verdicts)
                found += [(seed, thread_id, one) for one in thread.findings if one.verdict in ("suspect", "differs")]
        path.unlink()
    assert not [one for *_, one in found if one.verdict == "differs"]
    assert total["suspect"] <= max(1, total.total() // 1000), found
    assert total.total() > 100 * FLEETS
