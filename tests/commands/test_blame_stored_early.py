"""``ckpt blame`` of a value that is stored before any write of it."""

import operator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import Topic
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.commands.blame import blame
from tests.commands.asking import at
from tests.commands.planted import ON, Tables


class State(TypedDict, total=False):
    topic: Annotated[list[str], Topic(str, accumulate=True)]
    n: Annotated[int, operator.add]


@pytest.mark.parametrize("writes", [["work"], ["quiet", "work"]])
def test_who_wrote_it_in_the_next_step_is_among_the_candidates(writes: list[str], tmp_path: Path) -> None:
    """The topic is stored as if it was encoded while the next step extended its list, which does happen."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        builder = StateGraph(State)
        for name in ("quiet", "work"):
            written: Any = {"n": 1, **({"topic": name} if name in writes else {})}
            builder.add_node(name, lambda _, written=written: written)
        builder.add_edge(START, "quiet").add_edge("quiet", "work").compile(checkpointer=saver).invoke({"n": 0}, ON)
    tables = Tables(path)
    quiet = next(one for one in tables.steps() if one.metadata["step"] == 1)
    quiet.body["channel_values"]["topic"] = writes
    tables.put(quiet)
    tables.close()
    line = at(path, blame, "t", "topic").lines[-1]
    assert (line.value, line.since.step, line.since.by) == ("work", 1, "")
    assert "work" in line.since.candidates
    assert "the next step wrote it" in line.since.why
