"""The agent of `ckpt demo` in the real LangGraph with a scripted model, and what its customers did."""

import operator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, TypedDict
from uuid import uuid4

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.messages.ai import UsageMetadata
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt


@dataclass
class Order:
    id: str
    item: str
    paid: Decimal
    shipped: date


ORDERS = {
    "1043": Order("1043", "desk lamp", Decimal("40.00"), date(2026, 11, 12)),
    "1038": Order("1038", "kettle", Decimal("24.50"), date(2026, 11, 9)),
    "1021": Order("1021", "garden chair", Decimal("89.00"), date(2026, 11, 2)),
    "1050": Order("1050", "wall clock", Decimal("31.20"), date(2026, 11, 19)),
}


class Lookup(TypedDict, total=False):
    order_id: str
    order: Order
    refund: Decimal


class Support(Lookup, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    route: str
    log: Annotated[list[str], operator.add]
    mail_sent: bool


class Crm:
    """The other system that `audit` needs."""

    up = True


RAN: list[str] = []
"""The nodes after the approval, as they ran in this process."""


def agent(state: Support) -> dict[str, Any]:
    order_id = next(word.strip(".,!?") for word in state["messages"][0].text.split() if word[:4].isdigit())
    call = {"name": "lookup_order", "args": {"order_id": order_id}, "id": f"call_{len(state['messages'])}"}
    say = "Let me look that up." if len(state["messages"]) == 1 else "I will look again."
    return {"order_id": order_id, "messages": [model(state, say, call)]}


def tools(state: Support) -> dict[str, Any]:
    call = state["messages"][-1].tool_calls[0]
    found = ORDERS[call["args"]["order_id"]]
    text = f"order {found.id}: {found.item}, {found.paid} EUR, shipped, not delivered"
    return {"messages": [ToolMessage(text, name=call["name"], tool_call_id=call["id"], id=str(uuid4()))]}


def triage(state: Support) -> dict[str, Any]:
    asked = next(m.text for m in reversed(state["messages"]) if m.type == "human")
    return {"route": "refund" if "refund" in asked else "tracking"}


def find(state: Lookup) -> dict[str, Any]:
    return {"order": ORDERS[state["order_id"]]}


def quote(state: Lookup) -> dict[str, Any]:
    return {"refund": state["order"].paid}


def approve_refund(state: Support) -> dict[str, Any]:
    question = f"Refund {state['refund']} EUR for order {state['order_id']}?"
    answer = interrupt({"question": question, "amount": str(state["refund"])})
    return {"log": [f"refund {'approved' if answer['approved'] else 'declined'} by {answer['by']}"]}


def approved(state: Support) -> list[str]:
    return ["audit", "notify"] if "approved" in state["log"][-1] else ["answer"]


def notify(state: Support) -> dict[str, Any]:
    RAN.append("notify")
    return {"mail_sent": True, "log": ["mail sent"]}


def audit(state: Support) -> dict[str, Any]:
    RAN.append("audit")
    if not Crm.up:
        raise TimeoutError("crm")
    return {"log": ["booked in the crm"]}


def answer(state: Support) -> dict[str, Any]:
    RAN.append("answer")
    if state["route"] == "refund" and "declined" in state["log"][0]:
        text = "I am sorry, we cannot refund this order."
    elif state["route"] == "refund":
        text = f"We refund {state['refund']} EUR to your card."
    elif len(state["messages"]) > 4:
        text = "Sorry about that. Please give it three more days."
    else:
        text = "It is on its way and should arrive within three days."
    return {"messages": [model(state, text)]}


def model(state: Support, text: str, *calls: Any) -> AIMessage:
    read, wrote = 180 + 24 * len(state["messages"]), len(text) // 4 + 12 * len(calls)
    usage = UsageMetadata(input_tokens=read, output_tokens=wrote, total_tokens=read + wrote)
    return AIMessage(text, id=f"lc_run--{uuid4()}", tool_calls=list(calls), usage_metadata=usage)


def build(saver: BaseCheckpointSaver[str]) -> Any:
    orders = StateGraph(Lookup)
    orders.add_node(find)
    orders.add_node(quote)
    orders.add_edge(START, "find")
    orders.add_edge("find", "quote")
    orders.add_edge("quote", END)

    graph = StateGraph(Support)
    for node in (agent, tools, triage, approve_refund, notify, audit, answer):
        graph.add_node(node)
    graph.add_node("orders", orders.compile())
    graph.add_edge(START, "agent")
    graph.add_edge("agent", "tools")
    graph.add_edge("tools", "triage")
    graph.add_conditional_edges("triage", lambda s: s["route"], {"tracking": "answer", "refund": "orders"})
    graph.add_edge("orders", "approve_refund")
    graph.add_conditional_edges("approve_refund", approved, ["audit", "notify", "answer"])
    graph.add_edge(["notify", "audit"], "answer")
    graph.add_edge("answer", END)
    return graph.compile(checkpointer=saver)


def play(graph: Any) -> None:
    """What happened, in the demo's order."""
    approved = Command(resume={"approved": True, "by": "dana"})

    refunded = _customer("support-39", "u-207")
    _say(graph, refunded, "Order 1021 never came, I want a refund")
    graph.invoke(approved, refunded)

    _say(graph, _customer("support-40", "u-318"), "Where is order 1050?")

    failed = _customer("support-41", "u-151")
    _say(graph, failed, "I sent order 1038 back and want a refund")
    Crm.up = False
    try:
        graph.invoke(approved, failed)
    except TimeoutError:
        Crm.up = True

    waiting = _customer("support-42", "u-112")
    _say(graph, waiting, "My order 1043 is late")
    _say(graph, waiting, "It was due last week. I want my money back!")
    triaged = next(state for state in graph.get_state_history(waiting) if state.next == ("answer",))
    graph.update_state(triaged.config, {"route": "refund"}, as_node="triage")
    graph.invoke(None, waiting)


def _customer(thread_id: str, user_id: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": thread_id, "user_id": user_id}}


def _say(graph: Any, customer: dict[str, Any], text: str) -> None:
    graph.invoke({"messages": [HumanMessage(text, id=str(uuid4()))]}, customer)
