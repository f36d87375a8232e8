"""Makes the databases that are measured, with the real LangGraph and SqliteSaver, and keeps them for the next run.

``python data.py FOLDER [NAME…]``.
"""

import operator
import random
import sqlite3
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from subject import LONG, NEEDLE

LONG_STEPS = 1198  # and the input and step 0: 1,200 checkpoints
THREADS = 5000
_PAYLOAD = 800  # bytes of a tool's answer: about 150 MB in all
_FILE = 3_000_000
_RUNS = 46  # of three states
_QUIET = ("rank", "check", "note", "decide")


class _State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    rounds: Annotated[int, operator.add]
    phase: str


def make(folder: Path, names: Sequence[str] = ("long", "many", "small")) -> None:
    """The databases with these names, where they are missing."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        path = folder / f"{name}.sqlite"
        if not path.exists():
            print(f"making {path} …", file=sys.stderr, flush=True)
            unfinished = folder / f"{name}.unfinished"
            unfinished.unlink(missing_ok=True)
            _write(unfinished, _FILLS[name])
            unfinished.rename(path)


def _write(path: Path, fill: Any) -> None:
    connection = sqlite3.connect(path, check_same_thread=False)
    saver = SqliteSaver(connection)
    saver.setup()
    connection.execute("PRAGMA synchronous = OFF")
    fill(saver)
    connection.close()


def _long(saver: SqliteSaver) -> None:
    """One thread: an agent that calls a tool, and four steps of bookkeeping after each call."""
    dice = random.Random(1)

    def agent(state: _State) -> dict[str, Any]:
        n = state.get("rounds", 0)
        call = {"name": "search", "args": {"query": f"part {n}", "page": n}, "id": f"call_{n}"}
        return {"messages": [AIMessage(f"Searching for part {n}.", tool_calls=[call])], "rounds": 1}

    def tools(state: _State) -> dict[str, Any]:
        text = " ".join(f"{dice.getrandbits(40):x}" for _ in range(_PAYLOAD // 11))
        found = NEEDLE if state["rounds"] == 90 else ""
        return {"messages": [ToolMessage(text + found, tool_call_id=state["messages"][-1].tool_calls[0]["id"])]}

    graph = StateGraph(_State)
    ring = ["agent", "tools", *_QUIET]
    graph.add_node("agent", agent)
    graph.add_node("tools", tools)
    for name in _QUIET:
        graph.add_node(name, lambda state, name=name: {"phase": f"{name} {state['rounds']}"})
    graph.add_edge(START, "agent")
    for name, after in pairwise(ring):
        graph.add_edge(name, after)
    graph.add_edge(ring[-1], "agent")
    _run_steps(graph.compile(checkpointer=saver), LONG_STEPS)


def _run_steps(app: Any, steps: int) -> None:
    config = {"configurable": {"thread_id": LONG}, "recursion_limit": steps + 10}
    for _ in app.stream({"messages": [HumanMessage("Compare all parts.")]}, config, stream_mode="checkpoints"):
        steps -= 1
        if steps < -1:
            return


def _many(saver: SqliteSaver) -> None:
    """Many short threads, as a chat application has them."""
    app = _chat(saver)
    for n in range(THREADS):
        app.invoke({"messages": [HumanMessage(f"Question {n}: where is my order?")]}, _thread(f"customer-{n:05}"))


def _small(saver: SqliteSaver) -> None:
    """One thread of three checkpoints."""
    _chat(saver).invoke({"messages": [HumanMessage("Hello")]}, _thread("small"))


def _files(saver: SqliteSaver) -> None:
    """One thread: random text that grows, and a file that can't be compressed in every state."""
    dice = random.Random(2)
    file = dice.randbytes(_FILE)
    graph = StateGraph(dict)
    graph.add_node("write", lambda state: {**state, "text": state["text"] + dice.randbytes(800).hex()})
    graph.add_edge(START, "write")
    app = graph.compile(checkpointer=saver)
    for _ in range(_RUNS):
        app.invoke({"file": file, "text": dice.randbytes(800).hex()}, _thread(LONG))


def _chat(saver: SqliteSaver) -> Any:
    graph = StateGraph(_State)
    graph.add_node("reply", lambda state: {"messages": [AIMessage("On its way. " * 20)], "phase": "answered"})
    graph.add_edge(START, "reply")
    graph.add_edge("reply", END)
    return graph.compile(checkpointer=saver)


def _thread(thread_id: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": thread_id}}


_FILLS = {"long": _long, "many": _many, "small": _small, "files": _files}


if __name__ == "__main__":
    make(Path(sys.argv[1]), sys.argv[2:] or ("long", "many", "small"))
