"""The story of the demo: four customers of one support agent, and the agent's graph."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ckpt_cli.demo import objects
from ckpt_cli.demo.graph import Graph, Task
from ckpt_cli.demo.recorder import Line
from ckpt_cli.demo.tape import Tape
from ckpt_cli.model import Plan
from ckpt_cli.values.node import Node

_NODES = ("agent", "tools", "triage", "approve_refund", "notify", "audit", "answer", "orders")
_JOIN = "join:notify+audit:answer"
SUPPORT = Graph(
    channels=(
        *("order_id", "order", "refund", "messages", "route", "log", "mail_sent", "__start__"),
        *(f"branch:to:{node}" for node in _NODES),
        _JOIN,
    ),
    appending=frozenset({"messages", "log"}),
    barriers={_JOIN: "answer"},
)
ORDERS = Graph(channels=("order_id", "order", "refund", "__start__", "branch:to:find", "branch:to:quote"))


@dataclass(frozen=True, slots=True)
class _Bought:
    order_id: str
    item: str
    paid: str
    days_ago: int

    def value(self, tape: Tape) -> Any:
        return objects.order(self.order_id, self.item, self.paid, tape.day(self.days_ago))


_CHAIR = _Bought("1021", "garden chair", "89.00", 19)
_KETTLE = _Bought("1038", "kettle", "24.50", 12)
_LAMP = _Bought("1043", "desk lamp", "40.00", 9)
_CLOCK = _Bought("1050", "wall clock", "31.20", 2)


def plan(now: float) -> Plan:
    """A plan that adds all records of the demo database; its story ends at `now` (seconds since 1970)."""
    tape = Tape(now)
    _refunded(tape)
    _tracked(tape)
    _failed(tape)
    _waiting(tape)
    return Plan("the demo of ckpt", tuple(tape.records))


def _refunded(tape: Tape) -> None:
    """A finished thread: a person approved the refund, and it was paid."""
    tape.ago(hours=29)
    line = _thread(tape, "support-39", "u-207")
    _ask(line, _CHAIR, "Order 1021 never came, I want a refund")
    _triage(line, "refund", "orders")
    _orders(line, _CHAIR)
    tape.ago(hours=26)
    _approve(line)
    line.run(_notify(), _audit())
    _reply(line, "We refund 89.00 EUR to your card.")


def _tracked(tape: Tape) -> None:
    """A finished thread: only a question was answered."""
    tape.ago(hours=5)
    line = _thread(tape, "support-40", "u-318")
    _ask(line, _CLOCK, "Where is order 1050?")
    _triage(line, "tracking", "answer")
    _reply(line, "It is on its way and should arrive within three days.")


def _failed(tape: Tape) -> None:
    """A failed thread: `notify` finished, but `audit` could not reach the CRM."""
    tape.ago(hours=3)
    line = _thread(tape, "support-41", "u-151")
    _ask(line, _KETTLE, "I sent order 1038 back and want a refund")
    _triage(line, "refund", "orders")
    _orders(line, _KETTLE)
    tape.ago(minutes=52)
    _approve(line)
    line.leave(_notify())
    line.fail("audit", "TimeoutError('crm')")


def _waiting(tape: Tape) -> None:
    """A waiting thread: its wrong route was corrected by hand on a new branch. Now a person has to approve."""
    tape.ago(hours=2, minutes=10)
    line = _thread(tape, "support-42", "u-112")
    _ask(line, _LAMP, "My order 1043 is late")
    _triage(line, "tracking", "answer")
    _reply(line, "It is on its way and should arrive within three days.")
    tape.ago(hours=1, minutes=48)
    _ask(line, _LAMP, "It was due last week. I want my money back!")
    _triage(line, "tracking", "answer")
    corrected = line.here()
    _reply(line, "Sorry about that. Please give it three more days.")
    tape.ago(minutes=40)
    corrected.update("triage", {"route": "refund"}, then=["orders"])
    tape.wait(9)
    _orders(corrected, _LAMP)


def _thread(tape: Tape, thread_id: str, user_id: str) -> Line:
    return Line(SUPPORT, tape, thread_id, {"user_id": user_id})


def _ask(line: Line, bought: _Bought, text: str) -> None:
    tape = line.tape
    messages = len(line.values.get("messages", []))
    line.ask({"messages": [objects.human(text, tape.uuid4())]}, first="agent")
    call = {"name": "lookup_order", "args": {"order_id": bought.order_id}}
    call_id = f"call_{messages + 1}"
    ai = _says(line, "I will look again." if messages else "Let me look that up.", {call_id: call})
    tape.wait(1.4)
    line.run(Task("agent", {"order_id": bought.order_id, "messages": [ai]}, then=["tools"]))
    reply = f"order {bought.order_id}: {bought.item}, {bought.paid} EUR, shipped, not delivered"
    tape.wait(0.3)
    line.run(Task("tools", {"messages": [objects.tool(reply, tape.uuid4(), "lookup_order", call_id)]}, then=["triage"]))


def _triage(line: Line, route: str, then: str) -> None:
    line.tape.wait(0.9)
    line.run(Task("triage", {"route": route}, then=[then]))


def _orders(line: Line, bought: _Bought) -> None:
    """Run the subgraph `orders`, then ask a person."""
    inside = line.call("orders", ORDERS)
    order, refund = bought.value(line.tape), objects.decimal(bought.paid)
    line.tape.wait(0.1)
    inside.ask({**_state(line), "log": []}, first="find")
    line.tape.wait(0.2)
    inside.run(Task("find", {"order": order}, then=["quote"]))
    line.tape.wait(0.1)
    inside.run(Task("quote", {"refund": refund}))
    output = {"order_id": bought.order_id, "order": order, "refund": refund}
    line.run(Task("orders", output, then=["approve_refund"]))
    question = f"Refund {bought.paid} EUR for order {bought.order_id}?"
    line.pause("approve_refund", {"question": question, "amount": bought.paid})


def _state(line: Line) -> Mapping[str, Any]:
    return {c: line.values[c] for c in ("order_id", "messages", "route") if c in line.values}


def _approve(line: Line) -> None:
    line.answer("approve_refund", {"approved": True, "by": "dana"})
    line.tape.wait(0.2)
    line.run(Task("approve_refund", {"log": ["refund approved by dana"]}, then=["audit", "notify"]))


def _notify() -> Task:
    return Task("notify", {"mail_sent": True, "log": ["mail sent"]}, joins=_JOIN)


def _audit() -> Task:
    return Task("audit", {"log": ["booked in the crm"]}, joins=_JOIN)


def _reply(line: Line, text: str) -> None:
    line.tape.wait(1.1)
    line.run(Task("answer", {"messages": [_says(line, text)]}))


def _says(line: Line, text: str, calls: Mapping[str, Mapping[str, Any]] | None = None) -> Node:
    """A message of the model, which has read its instructions and all messages before."""
    return objects.ai(text, f"lc_run--{line.tape.uuid4()}", 180 + 24 * len(line.values["messages"]), calls)
