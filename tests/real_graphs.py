"""Real graphs of the installed LangGraph, one of every kind that leaves its own traces in a database.

A scenario runs graphs on a saver and gives the threads it made with the graph that can read each.
"""

import contextlib
import operator
from collections.abc import Callable, Iterator
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.channels import DeltaChannel, EphemeralValue, LastValue
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import _messages_delta_reducer, add_messages
from langgraph.pregel import NodeBuilder, Pregel
from langgraph.types import Command, Overwrite, Send, StateUpdate, interrupt

Graph = Any
Threads = Iterator[tuple[str, Graph]]
Scenario = Callable[[BaseCheckpointSaver[Any]], Threads]

SCENARIOS: dict[str, Scenario] = {}


def scenario(run: Scenario) -> Scenario:
    """Register a scenario under its name."""
    SCENARIOS[run.__name__] = run
    return run


def on(thread_id: str, **metadata: Any) -> dict[str, Any]:
    """The config of a thread."""
    return {"configurable": {"thread_id": thread_id}, "metadata": metadata, "recursion_limit": 100}


class Bag(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]
    n: int
    fail: bool


class Log(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]


class Chat(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    topic: str | None


def says(name: str) -> Callable[[Any], dict[str, Any]]:
    """A node that logs its name."""
    return lambda state: {"log": [name]}


def line(saver: Any, *names: str, schema: type = Bag, nodes: dict[str, Any] | None = None, **options: Any) -> Graph:
    """A graph of nodes in a row; `nodes` gives those that do more than log their name."""
    builder = StateGraph(schema)
    for before, name in zip((START, *names), names, strict=False):
        builder.add_node(name, (nodes or {}).get(name) or says(name))
        builder.add_edge(before, name)
    return builder.compile(checkpointer=saver, **options)


def chat_graph(saver: Any) -> Graph:
    """A scripted model that calls a tool on every second question."""

    def model(state: Chat) -> dict[str, Any]:
        last, count = state["messages"][-1], len(state["messages"])
        if isinstance(last, HumanMessage) and "weather" in last.text:
            call = {"name": "weather", "args": {"city": "Oslo"}, "id": f"call-{count}"}
            return {"messages": [AIMessage("", id=f"ai-{count}", tool_calls=[call])]}
        return {"messages": [AIMessage(f"so {last.text}", id=f"ai-{count}")], "topic": None}

    def tools(state: Chat) -> dict[str, Any]:
        return {"messages": [ToolMessage("21C", tool_call_id=c["id"]) for c in state["messages"][-1].tool_calls]}

    builder = StateGraph(Chat)
    builder.add_node("model", model)
    builder.add_node("tools", tools)
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", lambda s: "tools" if s["messages"][-1].tool_calls else END)
    builder.add_edge("tools", "model")
    return builder.compile(checkpointer=saver)


@scenario
def chats(saver: BaseCheckpointSaver[Any]) -> Threads:
    """Several turns, a tool, a removed message, metadata of the user's, and one checkpoint a run."""
    graph = chat_graph(saver)
    for text in ("hello", "the weather?", "bye"):
        graph.invoke({"messages": [HumanMessage(text)], "topic": text}, on("chat", user="Åsa", plan=3))
        graph.invoke({"messages": [HumanMessage(text, id=text)]}, on("线程 weird:id/with|sep#"), durability="exit")
    first = graph.get_state(on("chat")).values["messages"][0].id
    graph.update_state(on("chat"), {"messages": [RemoveMessage(id=first)]}, as_node="model")
    yield "chat", graph
    yield "线程 weird:id/with|sep#", graph


@scenario
def forks(saver: BaseCheckpointSaver[Any]) -> Threads:
    """Edits, replays, copies and inputs on old checkpoints; updates of every kind."""
    graph, config = line(saver, "a", "b", "c"), on("forks")
    graph.invoke({"log": ["in"], "n": 0}, config)
    graph.invoke({"log": ["again"]}, config)
    history = [state.config for state in graph.get_state_history(config)][::-1]
    edited = graph.update_state(history[2], {"log": ["edited"], "n": 5}, as_node="a")
    graph.invoke(None, edited)
    graph.invoke(None, history[3])
    graph.invoke({"log": ["other"]}, history[1])
    graph.update_state(history[2], None, as_node="__copy__")
    graph.update_state(graph.get_state(config).config, {"n": 9}, as_node="b")
    yield "forks", graph
    ended = on("forks-ended")
    graph.invoke({"log": []}, ended)
    graph.update_state(ended, {"n": 1}, as_node="a")
    graph.update_state(ended, None, as_node=END)
    graph.bulk_update_state(ended, [[StateUpdate({"n": 2}, "a")], [StateUpdate({"n": 3}, "b")]])
    graph.update_state(ended, {"log": ["as input"]}, as_node="__input__")
    yield "forks-ended", graph


def nested(saver: Any, ask: bool = False) -> Graph:
    """Two graphs inside each other."""

    def leaf(state: Bag) -> dict[str, Any]:
        return {"log": [interrupt({"ask": "leaf?"})] if ask else ["leaf"]}

    grand = line(None, "leaf", "leaf2", nodes={"leaf": leaf})
    child = line(None, "pre", "grand", nodes={"grand": grand})
    return line(saver, "root", "child", "tail", nodes={"child": child})


@scenario
def subgraphs(saver: BaseCheckpointSaver[Any]) -> Threads:
    """Subgraphs run, suspended two levels down, and resumed; their namespaces carry task ids."""
    plain, asking = nested(saver), nested(saver, ask=True)
    plain.invoke({"log": [], "n": 0}, on("sub"))
    plain.invoke({"log": ["again"]}, on("sub"))
    yield "sub", plain
    asking.invoke({"log": []}, on("sub-waiting"))
    yield "sub-waiting", asking
    asking.invoke({"log": []}, on("sub-resumed"))
    asking.invoke(Command(resume="yes"), on("sub-resumed"))
    yield "sub-resumed", asking


@scenario
def stateful_subgraph(saver: BaseCheckpointSaver[Any]) -> Threads:
    """A subgraph with a memory of its own: its namespace has no task id and lives on between turns."""
    memory = line(True, "inc", nodes={"inc": lambda s: {"n": s.get("n", 0) + 1, "log": ["inc"]}})
    graph = line(saver, "memory", nodes={"memory": memory})
    for _ in range(3):
        graph.invoke({"log": ["turn"]}, on("stateful"))
    yield "stateful", graph


@scenario
def subgraphs_by_send(saver: BaseCheckpointSaver[Any]) -> Threads:
    """The same subgraph called several times in one step, one of the calls waiting."""
    inner = StateGraph(Bag, output_schema=Log)
    inner.add_node("work", lambda s: {"log": [interrupt("two?") if s["n"] == 2 else s["n"]]})
    inner.add_edge(START, "work")
    child = inner.compile()
    builder = StateGraph(Bag)
    builder.add_node("split", says("split"))
    builder.add_node("child", child)
    builder.add_edge(START, "split")
    builder.add_conditional_edges("split", lambda s: [Send("child", {"n": n}) for n in range(4)], ["child"])
    graph = builder.compile(checkpointer=saver)
    graph.invoke({"log": []}, on("sub-sends"))
    yield "sub-sends", graph


def asking(saver: Any, many: bool = False) -> Graph:
    """A review that asks once or twice, and with `many` two siblings of which one asks too."""

    def review(state: Bag) -> dict[str, Any]:
        answer = interrupt({"question": "approve?", "options": ["yes", "no"]})
        return {"log": [answer, interrupt("why?") if answer == "no" else None]}

    builder = StateGraph(Bag)
    builder.add_node("write", says("write"))
    builder.add_node("review", review)
    builder.add_node("send", says("send"))
    builder.add_edge(START, "write")
    builder.add_edge("write", "review")
    if many:
        builder.add_node("legal", lambda s: {"log": [interrupt({"question": "legal?"})]})
        builder.add_node("fine", says("fine"))
        builder.add_edge("write", "legal")
        builder.add_edge("write", "fine")
        builder.add_edge(["review", "legal", "fine"], "send")
    else:
        builder.add_edge("review", "send")
    return builder.compile(checkpointer=saver)


@scenario
def interrupts(saver: BaseCheckpointSaver[Any]) -> Threads:
    """Questions: open, answered, a second one, several, some of them answered by id."""
    one, many = asking(saver), asking(saver, many=True)
    for thread_id, graph, answers in (
        ("ask", one, []),
        ("ask-answered", one, ["yes"]),
        ("ask-second", one, ["no"]),
        ("ask-second-answered", one, ["no", "because"]),
        ("ask-many", many, []),
    ):
        graph.invoke({"log": []}, on(thread_id))
        for answer in answers:
            graph.invoke(Command(resume=answer), on(thread_id))
        yield thread_id, graph
    for thread_id, count in (("ask-partial", 1), ("ask-all", 2)):
        many.invoke({"log": []}, on(thread_id))
        open_ones = many.get_state(on(thread_id)).interrupts
        many.invoke(Command(resume={i.id: "yes" for i in open_ones[:count]}), on(thread_id))
        yield thread_id, many


@scenario
def breakpoints(saver: BaseCheckpointSaver[Any]) -> Threads:
    """Stops before and after nodes, left and passed."""
    before = line(saver, "a", "b", "c", interrupt_before=["b"])
    after = line(saver, "a", "b", interrupt_after=["a"])
    for thread_id, graph, passes in (("before", before, 0), ("before-passed", before, 1), ("after", after, 0)):
        graph.invoke({"log": []}, on(thread_id))
        for _ in range(passes):
            graph.invoke(None, on(thread_id))
        yield thread_id, graph


def failing(saver: Any) -> Graph:
    """Two siblings, one of which fails while told to, and a join of both."""

    def bad(state: Bag) -> dict[str, Any]:
        if state.get("fail", True):
            raise ValueError("boom: 数据库 down")
        return {"log": ["bad"]}

    builder = StateGraph(Bag)
    for name, run in {"plan": says("plan"), "good": says("good"), "bad": bad, "join": says("join")}.items():
        builder.add_node(name, run)
    builder.add_edge(START, "plan")
    builder.add_edge("plan", "good")
    builder.add_edge("plan", "bad")
    builder.add_edge(["good", "bad"], "join")
    return builder.compile(checkpointer=saver)


@scenario
def errors(saver: BaseCheckpointSaver[Any]) -> Threads:
    """A failed node beside a finished sibling; the same mended by an update, and run again."""
    graph = failing(saver)
    for thread_id in ("error", "error-mended", "error-retried"):
        with contextlib.suppress(ValueError):
            graph.invoke({"log": []}, on(thread_id))
        if thread_id == "error-mended":
            graph.update_state(on(thread_id), {"fail": False}, as_node="plan")
            graph.invoke(None, on(thread_id))
        if thread_id == "error-retried":
            with contextlib.suppress(ValueError):
                graph.invoke(None, on(thread_id))
        yield thread_id, graph


@scenario
def handled_errors(saver: BaseCheckpointSaver[Any]) -> Threads:
    """A failed node whose handler mends it, and one whose handler asks."""

    def broken(state: Bag) -> dict[str, Any]:
        raise ValueError("handled")

    for thread_id, handler in (("handled", says("mended")), ("handled-asks", lambda s: {"log": [interrupt("mend?")]})):
        builder = StateGraph(Bag)
        builder.add_node("bad", broken, error_handler=handler)
        builder.add_node("next", says("next"))
        builder.add_edge(START, "bad")
        builder.add_edge("bad", "next")
        graph = builder.compile(checkpointer=saver)
        graph.invoke({"log": []}, on(thread_id))
        yield thread_id, graph


@scenario
def sends(saver: BaseCheckpointSaver[Any]) -> Threads:
    """A fan-out of more than ten, one with a question in it, one stopped before it began."""

    def graph(ask: bool = False, **options: Any) -> Graph:
        builder = StateGraph(Bag)
        builder.add_node("split", says("split"))
        builder.add_node("work", lambda s: {"log": [interrupt(s["i"]) if ask and s["i"] == 2 else s["i"]]})
        builder.add_node("reduce", says("reduce"))
        builder.add_edge(START, "split")
        builder.add_conditional_edges("split", lambda s: [Send("work", {"i": i}) for i in range(s["n"])], ["work"])
        builder.add_edge("work", "reduce")
        return builder.compile(checkpointer=saver, **options)

    for thread_id, made in (
        ("map", graph()),
        ("map-asks", graph(True)),
        ("map-before", graph(interrupt_before=["work"])),
    ):
        made.invoke({"log": [], "n": 12}, on(thread_id))
        yield thread_id, made


@scenario
def commands(saver: BaseCheckpointSaver[Any]) -> Threads:
    """Command: goto of a node, of Sends, of the end, out of a subgraph; Overwrite."""

    def router(state: Bag) -> Command[Any]:
        if state.get("n", 0) >= 2:
            return Command(goto=END, update={"log": ["stop"]})
        goto = ["left", Send("right", {"n": 1})]
        return Command(goto=goto, update={"log": ["router"], "n": state.get("n", 0) + 1})

    builder = StateGraph(Bag)
    builder.add_node("router", router, destinations=("left", "right", END))
    builder.add_node("left", lambda s: Command(goto="router", update={"log": ["left"]}), destinations=("router",))
    builder.add_node("right", says("right"))
    builder.add_node("reset", lambda s: {"log": Overwrite(["fresh"])})
    builder.add_edge(START, "router")
    builder.add_edge("right", "reset")
    graph = builder.compile(checkpointer=saver)
    graph.invoke({"log": []}, on("commands"))
    yield "commands", graph
    leave = line(
        None, "leave", nodes={"leave": lambda s: Command(graph=Command.PARENT, goto="b", update={"log": ["up"]})}
    )
    builder = StateGraph(Bag)
    builder.add_node("a", leave)
    builder.add_node("b", says("b"))
    builder.add_edge(START, "a")
    graph = builder.compile(checkpointer=saver)
    graph.invoke({"log": []}, on("commands-up"))
    yield "commands-up", graph


def _extend(current: list[Any], writes: list[list[Any]]) -> list[Any]:
    return [*current, *(item for write in writes for item in write)]


class Deltas(TypedDict, total=False):
    log: Annotated[list[Any], DeltaChannel(_extend, snapshot_frequency=4)]
    n: int


class DeltaChat(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], DeltaChannel(_messages_delta_reducer, snapshot_frequency=5)]


@scenario
def deltas(saver: BaseCheckpointSaver[Any]) -> Threads:
    """Delta channels: snapshots, a fork, an Overwrite, parallel writers, one checkpoint a run, messages."""
    reset = {"two": lambda s: {"log": Overwrite(["reset"])} if len(s["log"]) > 12 else {"log": ["two"]}}
    graph = line(saver, "one", "two", schema=Deltas, nodes=reset)
    for turn in range(6):
        graph.invoke({"log": [f"in-{turn}"], "n": turn}, on("delta"))
    history = [state.config for state in graph.get_state_history(on("delta"))]
    graph.invoke(None, graph.update_state(history[7], {"log": ["forked"]}, as_node="one"))
    yield "delta", graph
    builder = StateGraph(Deltas)
    for name in "abc":
        builder.add_node(name, says(name))
        builder.add_edge(START, name)
    wide = builder.compile(checkpointer=saver)
    for turn in range(2):
        wide.invoke({"log": [turn]}, on("delta-wide"))
        wide.invoke({"log": [turn]}, on("delta-exit"), durability="exit")
    yield "delta-wide", wide
    yield "delta-exit", wide
    talk = line(
        saver,
        "bot",
        schema=DeltaChat,
        nodes={"bot": lambda s: {"messages": AIMessage("so", id=f"{len(s['messages'])}")}},
    )
    for turn in range(5):
        talk.invoke({"messages": [HumanMessage(f"q{turn}")]}, on("delta-chat"))
    talk.update_state(
        on("delta-chat"), {"messages": [RemoveMessage(id="1"), AIMessage("better", id="3")]}, as_node="bot"
    )
    yield "delta-chat", talk


@scenario
def functional(saver: BaseCheckpointSaver[Any]) -> Threads:
    """The functional API: tasks, a question, an answer, what is kept for the next call, a failure."""

    @task
    def double(number: int) -> int:
        return number * 2

    @entrypoint(checkpointer=saver)
    def flow(numbers: list[int], *, previous: Any = None) -> Any:
        total = sum(future.result() for future in [double(n) for n in numbers])
        if total < 0:
            raise ValueError("negative")
        answer = interrupt({"sum": total}) if total > 10 else "small"
        return entrypoint.final(value={"sum": total, "answer": answer}, save=(previous or 0) + total)

    flow.invoke([1, 2], on("flow"))
    flow.invoke([10], on("flow"))
    flow.invoke(Command(resume="fine"), on("flow"))
    flow.invoke([20], on("flow"))
    yield "flow", flow
    flow.invoke([6], on("flow-waiting"))
    yield "flow-waiting", flow
    with contextlib.suppress(ValueError):
        flow.invoke([-1], on("flow-failed"))
    yield "flow-failed", flow


@scenario
def deferred(saver: BaseCheckpointSaver[Any]) -> Threads:
    """A deferred node waits until nothing else runs; a join of a short and a long way."""
    builder = StateGraph(Bag)
    for name in ("a", "b", "b2", "c", "both"):
        builder.add_node(name, says(name))
    builder.add_node("last", says("last"), defer=True)
    builder.add_edge(START, "a")
    builder.add_edge("a", "b")
    builder.add_edge("b", "b2")
    builder.add_edge("a", "c")
    builder.add_edge("c", "last")
    builder.add_edge("b2", "last")
    builder.add_edge(["b2", "c"], "both")
    builder.add_edge("both", "last")
    graph = builder.compile(checkpointer=saver)
    graph.invoke({"log": []}, on("deferred"))
    graph.invoke({"log": []}, on("deferred"))
    yield "deferred", graph
    stopped = builder.compile(checkpointer=saver, interrupt_before=["last"])
    stopped.invoke({"log": []}, on("deferred-stopped"))
    yield "deferred-stopped", stopped


@scenario
def root_state(saver: BaseCheckpointSaver[Any]) -> Threads:
    """A state that is no dict: one channel called ``__root__``."""
    builder = StateGraph(Annotated[list, operator.add])
    builder.add_node("a", lambda s: ["a"])
    builder.add_edge(START, "a")
    graph = builder.compile(checkpointer=saver)
    graph.invoke(["in"], on("root"))
    yield "root", graph


@scenario
def bare_pregel(saver: BaseCheckpointSaver[Any]) -> Threads:
    """Nodes that subscribe to channels of any name, without a StateGraph."""
    one = NodeBuilder().subscribe_only("a").do(lambda x: x + "!").write_to("b")
    two = NodeBuilder().subscribe_only("b").do(lambda x: x + "?").write_to("c")
    channels = {"a": EphemeralValue(str), "b": LastValue(str), "c": LastValue(str)}
    graph = Pregel(
        nodes={"one": one, "two": two},
        channels=channels,
        input_channels=["a"],
        output_channels=["c"],
        checkpointer=saver,
    )
    graph.invoke({"a": "x"}, on("bare"))
    graph.invoke({"a": "y"}, on("bare"))
    yield "bare", graph
