"""Graphs whose step stopped half way because one task was given something wrong; each notes what it runs."""

from typing import Any, NamedTuple

from langgraph.graph import START, StateGraph
from langgraph.types import Send, interrupt

from tests.cross.pending import calls, flow
from tests.graphs import Graph
from tests.graphs.building import Bag
from tests.graphs.waiting import until_stored


class Corrected(NamedTuple):
    """A graph with its input, words of ckpt that correct an argument, and what the next run does.

    Attributes:
        ran: what the next run runs.
        asks: the questions that wait after it.
        first: words of an earlier correction, after which nothing ran.
        end: the values in the end, when each question was answered with "yes".
    """

    build: Any
    given: Any
    words: tuple[str, ...]
    ran: tuple[str, ...]
    asks: tuple[str, ...]
    end: Any
    first: tuple[str, ...] = ()


def documents(saver: Any, ran: list[str]) -> Graph:
    """Five documents, a task each: one can't be read, one asks, the others finish, and so does a node beside them."""

    def read(state: Bag) -> dict[str, Any]:
        n = state["n"]
        ran.append(f"read {n}")
        if n == 1:
            until_stored(saver, others=4)
            raise ValueError("can't be read")
        if n == 2:
            return {"log": [interrupt("which page?")]}
        return {"log": [n]}

    def beside(_: Bag) -> dict[str, Any]:
        ran.append("beside")
        return {"log": ["beside"]}

    builder = StateGraph(Bag)
    builder.add_node("split", lambda _: {"log": []})
    builder.add_node("read", read)
    builder.add_node("beside", beside)
    builder.add_node("end", lambda s: {"log": [len(s["log"])]})
    builder.add_edge(START, "split")
    builder.add_edge("split", "beside")
    builder.add_conditional_edges("split", lambda s: [Send("read", {"n": n, "log": []}) for n in range(4)], ["read"])
    builder.add_edge("read", "end")
    return builder.compile(checkpointer=saver)


def deciders(saver: Any, ran: list[str]) -> Graph:
    """Three tasks that ask twice each; one fails with the answer "bad"."""

    def decide(state: Bag) -> dict[str, Any]:
        n = state["n"]
        ran.append(f"decide {n}")
        answers = [interrupt(f"first {n}?"), interrupt(f"second {n}?")]
        if "bad" in answers:
            until_stored(saver, channel="log")
            raise ValueError("bad")
        ran.append(f"decided {n}")
        return {"log": [n, *answers]}

    builder = StateGraph(Bag)
    builder.add_node("split", lambda _: {"log": []})
    builder.add_node("decide", decide)
    builder.add_edge(START, "split")
    builder.add_conditional_edges(
        "split", lambda s: [Send("decide", {"n": n, "log": []}) for n in range(3)], ["decide"]
    )
    return builder.compile(checkpointer=saver)


CORRECTED = {
    "one of several": Corrected(
        documents,
        {"log": [], "n": 0},
        ("--task", "read[2]", "--set", "n=7"),
        ("read 2", "read 7"),  # a task that asks runs up to its question, as in any run
        ("which page?",),
        ["beside", 0, 7, "yes", 3],
    ),
    "the one that asks": Corrected(
        documents,
        {"log": [], "n": 0},
        ("--task", "read[3/4]", "--argument", '{"n": 9, "log": []}'),
        ("read 1", "read 9"),
        (),
        None,
    ),
    "the one in a subgraph": Corrected(
        calls, {"log": [], "n": 0}, ("--task", "child[3]", "--set", "n=5"), ("work 5",), (), ["split", 0, 1, 5, 3]
    ),
    "an input": Corrected(
        flow,
        3,
        ("--task", "main", "--argument", "10", "--rerun"),
        ("double 10", "double 11", "main"),
        ("go on?",),
        [20, 22, "yes"],
    ),
    "an input, with kept results": Corrected(
        flow, 3, ("--task", "main", "--argument", "10", "--keep-task", "double"), ("main",), ("go on?",), [6, 8, "yes"]
    ),
    "an input that was corrected before": Corrected(
        flow,
        3,
        ("--task", "main", "--argument", "10", "--keep-task", "double"),
        ("main",),
        ("go on?",),
        [6, 8, "yes"],
        ("--task", "main", "--argument", "7", "--keep-task", "double"),
    ),
}
