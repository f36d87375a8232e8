"""Runs that go on, fork, nest, ask and stop."""

from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send, StateUpdate, interrupt

from tests.graphs.building import Bag, Chat, Graph, Log, Threads, line, on, says, scenario


def chat_graph(saver: Any) -> Graph:
    """A scripted model that calls a tool on every second question."""

    def model(state: Chat) -> dict[str, Any]:
        last, count = state["messages"][-1], len(state["messages"])
        if isinstance(last, HumanMessage) and "weather" in last.content:
            call = {"name": "weather", "args": {"city": "Oslo"}, "id": f"call-{count}"}
            return {"messages": [AIMessage("", id=f"ai-{count}", tool_calls=[call])]}
        return {"messages": [AIMessage(f"so {last.content}", id=f"ai-{count}")], "topic": None}

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
    after = line(saver, "x", "y", interrupt_after=["x"])
    for thread_id, graph, passes in (("before", before, 0), ("before-passed", before, 1), ("after", after, 0)):
        graph.invoke({"log": []}, on(thread_id))
        for _ in range(passes):
            graph.invoke(None, on(thread_id))
        yield thread_id, graph
