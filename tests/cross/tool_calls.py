"""Runs were cancelled while tools ran: `repair` mends the lists, a strict model takes them, and undo restores."""

from contextlib import suppress
from typing import Annotated, Any, NamedTuple, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.channels import DeltaChannel
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import _messages_delta_reducer
from langgraph.types import interrupt

from tests.cross.backend import Backend, Fresh
from tests.cross.travel import contents, contents_of
from tests.graphs import Graph
from tests.graphs.building import on

ANSWER = "the run was cancelled"


class CancelledRunError(BaseException):
    """Ends a run as a cancellation does: no node sees it, and no error is recorded."""


class ModelRefusedError(ValueError):
    """What a vendor answers to a list that it doesn't take."""


class Delta(TypedDict):
    messages: Annotated[list[AnyMessage], DeltaChannel(_messages_delta_reducer, snapshot_frequency=50)]


def model(messages: list[Any]) -> AIMessage:
    """A model that takes lists as Chat Completions does, and asks two tools for the weather."""
    open_calls: list[str] = []
    for one in messages:
        if isinstance(one, ToolMessage):
            if one.tool_call_id not in open_calls:
                raise ModelRefusedError(f"no tool call {one.tool_call_id} precedes its result")
            open_calls.remove(one.tool_call_id)
            continue
        if open_calls:
            raise ModelRefusedError(f"tool_calls must be followed by tool messages: {open_calls}")
        open_calls = [call["id"] for call in one.tool_calls] if isinstance(one, AIMessage) else []
    if open_calls:
        raise ModelRefusedError(f"tool_calls must be followed by tool messages: {open_calls}")
    last = messages[-1]
    if isinstance(last, HumanMessage) and "weather" in last.text:
        names = ("sky", "wind")
        return AIMessage("", tool_calls=[{"name": name, "args": {}, "id": f"{name}-{len(messages)}"} for name in names])
    return AIMessage(f"you hear: {last.text}")


def forecast(saver: Any, *, cancelled: bool = False, asks: bool = False, delta: bool = False) -> Graph:
    """An agent with a node that runs tools."""

    def agent(state: Any) -> Any:
        return {"messages": [model(state["messages"])]}

    def tools(state: Any) -> Any:
        if cancelled:
            raise CancelledRunError
        if asks:
            interrupt("may it run?")
        calls = next(one for one in reversed(state["messages"]) if isinstance(one, AIMessage)).tool_calls
        return {"messages": [ToolMessage("sunny", name=call["name"], tool_call_id=call["id"]) for call in calls]}

    builder = StateGraph(Delta if delta else MessagesState)
    builder.add_node("agent", agent)
    builder.add_node("tools", tools)
    builder.add_edge(START, "agent")
    builder.add_conditional_edges(
        "agent", lambda state: "tools" if state["messages"][-1].tool_calls else END, ["tools", END]
    )
    builder.add_edge("tools", "agent")
    return builder.compile(checkpointer=saver)


def _ask(graph: Graph, thread_id: str, text: str) -> None:
    with suppress(CancelledRunError, ModelRefusedError):
        graph.invoke({"messages": [HumanMessage(text)]}, on(thread_id))


def _late(graph: Graph, thread_id: str, *names: str) -> None:
    """Results that come late are appended, as the reducer does."""
    results = [ToolMessage("late", name=name, tool_call_id=f"{name}-1") for name in names]
    graph.update_state(on(thread_id), {"messages": results}, as_node="tools")


class Shop(NamedTuple):
    """A database with healthy, broken and waiting threads."""

    backend: Backend
    faults: dict[str, list[str]]

    def ckpt(self, *words: str, code: int = 0, capsys: pytest.CaptureFixture[str]) -> Any:
        """See `Backend.ckpt`."""
        return self.backend.ckpt(*words, code=code, capsys=capsys)

    def is_delta(self, thread_id: str) -> bool:
        """Whether the thread's graph has a delta channel."""
        return thread_id.endswith("-delta")


LEFT_ALONE = {
    "due": ["tools is due, and may answer the calls"],
    "waiting": ["tools waits for an answer"],
    # JSON (Redis) doesn't show whether an answer that is recorded was taken before
    "answered": ["an answer for tools is recorded", "tools waits for an answer"],
}


class ToolCalls:
    """Tool calls without answers, on a backend."""

    @pytest.fixture
    def shop(
        self, fresh: Fresh, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> Shop:
        """Threads of each kind, made by the real graph; an operation log of its own."""
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        backend = fresh()
        faults: dict[str, list[str]] = {}
        with backend.official() as official:
            for delta in (False, True):
                whole, killed = (forecast(official, cancelled=cancel, delta=delta) for cancel in (False, True))
                end = "-delta" if delta else ""
                _ask(whole, f"healthy{end}", "the weather?")
                for name, late in {"unanswered": (), "partly": ("sky",), "misplaced": ("wind", "sky")}.items():
                    _ask(killed, name + end, "the weather?")
                    if name == "partly":
                        _late(whole, name + end, *late)
                    _ask(whole, name + end, "hello?")
                    if name == "misplaced":
                        _late(whole, name + end, *late)
                _ask(whole, f"twice{end}", "the weather?")
                _late(whole, f"twice{end}", "sky")
                faults |= {
                    f"unanswered{end}": ["unanswered"],
                    f"partly{end}": ["partly answered"],
                    f"misplaced{end}": ["out of order"],
                    f"twice{end}": ["answered twice"],
                }
            _ask(forecast(official, cancelled=True), "due", "the weather?")
            for name in ("waiting", "answered"):
                _ask(forecast(official, asks=True), name, "the weather?")
        made = Shop(backend, faults)
        made.ckpt("resume", "answered", "--value", "true", "--yes", capsys=capsys)
        return made

    @pytest.mark.parametrize("how", [["--answer", ANSWER], ["--drop-calls"], ["--rollback"]], ids=lambda how: how[0])
    def test_every_broken_thread_goes_on(self, how: list[str], shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
        """Listed, mended, undone to the byte, mended again: the real graph ends; the others are left alone."""
        before = contents(shop.backend)
        listed = {one["thread_id"]: one for one in shop.ckpt("repair", *how, capsys=capsys)["threads"]}
        assert contents(shop.backend) == before, "without --yes it only lists"
        alone = {one: line["left_alone"] for one, line in listed.items() if line["left_alone"]}
        assert alone.keys() == LEFT_ALONE.keys()
        assert all(reason in LEFT_ALONE[one] for one, reason in alone.items())
        few = shop.ckpt("repair", *how, "--limit", "1", capsys=capsys)
        assert (few["broken"], few["left_alone"]) == (1, len(LEFT_ALONE)), "the limit counts broken threads"
        kinds = {one: [fault["kind"] for fault in line["faults"]] for one, line in listed.items() if one in shop.faults}
        assert kinds == shop.faults
        assert listed.keys() == shop.faults.keys() | LEFT_ALONE.keys()

        others = {one: contents_of(shop.backend, one) for one in ("healthy", *LEFT_ALONE)}
        done = shop.ckpt("repair", *how, "--yes", capsys=capsys)
        assert (done["done"], done["refused"], done["moved"]) == (len(shop.faults), 0, 0)
        assert {one: contents_of(shop.backend, one) for one in others} == others
        shop.ckpt("undo", "--yes", capsys=capsys)
        assert contents(shop.backend) == before

        shop.ckpt("repair", *how, "--yes", capsys=capsys)
        assert shop.ckpt("repair", *how, "--yes", capsys=capsys)["changes"] == 0, "what is done isn't done twice"
        for thread_id in (*shop.faults, "due", "answered"):
            assert _carry_on(shop, thread_id).startswith("you hear: ")

    def test_an_answer_stands_behind_its_call(self, shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
        """Results that were there are kept, in the calls' place; an answer is an error with the call's id and name."""
        shop.ckpt("repair", "--answer", ANSWER, "--yes", capsys=capsys)
        for end in ("", "-delta"):
            lists = {one: _messages(shop, f"{one}{end}") for one in ("unanswered", "partly", "misplaced", "twice")}
            results = {
                one: [(at, m.tool_call_id, m.text, m.name) for at, m in enumerate(list_) if isinstance(m, ToolMessage)]
                for one, list_ in lists.items()
            }
            assert results == {
                "unanswered": [(2, "sky-1", ANSWER, "sky"), (3, "wind-1", ANSWER, "wind")],
                "partly": [(2, "sky-1", "late", "sky"), (3, "wind-1", ANSWER, "wind")],
                "misplaced": [(2, "wind-1", "late", "wind"), (3, "sky-1", "late", "sky")],
                "twice": [(2, "sky-1", "sunny", "sky"), (3, "wind-1", "sunny", "wind")],
            }
            made = [m for m in lists["unanswered"] if isinstance(m, ToolMessage)]
            assert {m.status for m in made} == {"error"}
            assert len({m.id for m in made}) == 2

    def test_dropped_calls_take_empty_messages_along(self, shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
        """A message whose only content was the call goes, an answered call stays with its result."""
        shop.ckpt("repair", "--drop-calls", "--yes", capsys=capsys)
        assert [m.type for m in _messages(shop, "unanswered")] == ["human", "human"]
        partly = _messages(shop, "partly")
        assert [m.type for m in partly] == ["human", "ai", "tool", "human"]
        assert [call["name"] for call in partly[1].tool_calls] == ["sky"]

    def test_one_thread_and_few(self, shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
        """Named threads, those of a selector, or the first few are mended, and no others."""
        done = shop.ckpt("repair", "partly", "due", "--answer", ANSWER, "--yes", capsys=capsys)
        assert [one["thread_id"] for one in done["threads"]] == ["partly"]
        few = shop.ckpt("repair", "--match", "*-delta", "--limit", "2", "--drop-calls", "--dry-run", capsys=capsys)
        assert (few["changes"], few["applied"]) == (2, False)


def _carry_on(shop: Shop, thread_id: str) -> str:
    """The end of the real graph's run: on with what is due, and then with a question."""
    with shop.backend.official() as official:
        graph = forecast(official, delta=shop.is_delta(thread_id), asks=thread_id == "answered")
        if graph.get_state(on(thread_id)).next:
            graph.invoke(None, on(thread_id))
        state = graph.invoke({"messages": [HumanMessage("and now?")]}, on(thread_id))
        assert not graph.get_state(on(thread_id)).next
        return str(state["messages"][-1].text)


def _messages(shop: Shop, thread_id: str) -> list[Any]:
    """The list as the real graph sees it."""
    with shop.backend.official() as official:
        graph = forecast(official, delta=shop.is_delta(thread_id))
        return list(graph.get_state(on(thread_id)).values["messages"])
