"""Finds message lists with tool calls that models refuse, and plans to mend them, for ``ckpt repair``.

A list is mended by an edit of its channel, which no reducer sees: `add_messages` would put an answer at the end of the
list, where no model takes it. Threads in which a result may still come are left alone.
"""

from collections.abc import Collection, Iterator
from itertools import islice
from typing import Any, NamedTuple
from uuid import uuid4

from ckpt_cli.errors import PayloadCorrupt, Refused
from ckpt_cli.history.messages.call_matching import Fault, Matching, match_calls
from ckpt_cli.history.messages.mended_messages import Mend, Mended, NewMessage, mend
from ckpt_cli.history.messages.tool_calls import read_turn
from ckpt_cli.history.reducers.rebuilt import is_unproven
from ckpt_cli.history.state.channels import START
from ckpt_cli.history.tasks.snapshot import Status, Task
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import CheckpointRow, Plan, Ref
from ckpt_cli.plans import edit, rollback
from ckpt_cli.plans.messages import as_messages
from ckpt_cli.plans.mint import Mint
from ckpt_cli.reading import Reader
from ckpt_cli.values.langgraph_values import message
from ckpt_cli.values.node import Form, Node, Opened

_MOST_READ = 200  # newest checkpoints whose writes show which node calls the model, and which runs tools
_TOOL_NODES = ("tool", "action")  # parts of the usual names of nodes that run tools


class Broken(NamedTuple):
    """A channel whose list of messages models refuse."""

    channel: str
    messages: list[Any]
    matching: Matching
    faults: list[Fault]


def find_broken(reader: Reader, ref: Ref, channels: Collection[str] = ()) -> list[Broken]:
    """The channels of a checkpoint whose lists models refuse; with `channels`, only of these.

    Raises:
        CheckpointNotFound, PayloadCorrupt.
    """
    broken = []
    for channel, value in Inspection(reader, ref).values_to_store().items():
        if is_unproven(value) or (channels and channel not in channels):
            continue
        matching = match_calls(value)
        if matching is not None and (faults := matching.faults()):
            broken.append(Broken(channel, value, matching, faults))
    return broken


def why_left_alone(reader: Reader, row: CheckpointRow, broken: Collection[Broken]) -> str:
    """Why no list of this checkpoint is mended: its next step may still give the results; "" if it can't."""
    snapshot = Inspection(reader, row.ref).snapshot()
    tasks = [] if snapshot.consumed else snapshot.all_tasks
    if waiting := [task for task in tasks if task.status is Status.WAITING]:
        return f"{_names(waiting)} waits for an answer"
    if answered := [task for task in tasks if task.status is Status.ANSWERED]:
        return f"an answer for {_names(answered)} is recorded"
    if finished := [task for task in tasks if task.status is Status.FINISHED]:
        return f"{_names(finished)} finished, and its result isn't in the state yet"
    may_answer = any(fault.is_last for one in broken for fault in one.faults)
    if may_answer and not snapshot.complete and not snapshot.consumed:
        return "its next nodes are unknown: they may answer the calls"
    due = [task for task in tasks if task.status in (Status.DUE, Status.FAILED) and task.node != START]
    for one in broken if due else ():
        if blocking := _may_answer(reader, row, one, due):
            return f"{_names(blocking)} {'is' if len(blocking) == 1 else 'are'} due, and may answer the calls"
    return ""


def _names(tasks: list[Task]) -> str:
    return ", ".join(dict.fromkeys(task.node or "a task" for task in tasks))


def _may_answer(reader: Reader, row: CheckpointRow, broken: Broken, due: list[Task]) -> list[Task]:
    """The due tasks that may give results of calls.

    These are nodes that run tools, as their earlier writes or their names show, and tasks that a Send gave a call. If
    nothing follows the calls, it is every node but the one that made the calls: that one calls the model again.
    """
    keys = {call.key for fault in broken.faults for call in fault.calls}
    open_keys = {call.key for fault in broken.faults if fault.is_last for call in fault.calls}
    writers = list(_writers(reader, row, broken.channel))
    callers = {node for node, _, calls in writers if open_keys & calls}
    roles: dict[str | None, set[str]] = {}
    for node, own, _ in writers:
        roles.setdefault(node, set()).update(own)
    return [
        task
        for task in due
        if _holds(task.packet.argument if task.packet is not None else None, keys)
        or _runs_tools(task.node, roles.get(task.node, set()))
        or (open_keys and task.node not in callers)
    ]


def _runs_tools(node: str | None, roles: set[str]) -> bool:
    if roles & {"ai", "tool"}:
        return "tool" in roles and "ai" not in roles
    return any(word in (node or "").lower() for word in _TOOL_NODES)


def _holds(value: Any, keys: set[str]) -> bool:
    """Whether a Send's argument has a call: one of these ids as a text somewhere in it."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, str) and one in keys:
            return True
        if isinstance(one, Node):
            left.append(one.state)
        elif isinstance(one, dict):
            left += one.values()
        elif isinstance(one, list | tuple):
            left += one
    return False


def _writers(reader: Reader, row: CheckpointRow, channel: str) -> Iterator[tuple[str | None, set[str], set[str]]]:
    """For each recorded write to a channel: its node, the roles of the messages, and the keys of the calls in them."""
    ids = list(islice(reader.lineage(row.thread_id, row.ns).line(row.checkpoint_id), _MOST_READ))
    for checkpoint_id, writes in reader.writes_by_checkpoint(row.thread_id, row.ns, ids).items():
        own = [write for write in writes if write.channel == channel]
        if not own:
            continue
        try:
            names = Inspection(reader, Ref(row.thread_id, row.ns, checkpoint_id)).names(writes)
        except PayloadCorrupt:
            continue
        for write in own:
            items = write.value if isinstance(write.value, list) else [write.value]
            roles = {parsed.role for parsed in map(message, items) if parsed is not None}
            calls = {call.key for turn in map(read_turn, items) if turn is not None for call in turn.calls}
            yield names.node(write.task_id), roles, calls


def plan_mend(
    reader: Reader, row: CheckpointRow, broken: Collection[Broken], how: Mend, text: str, mint: Mint
) -> tuple[Plan, str]:
    """The plan that mends the lists of a checkpoint, and what it does in a few words.

    Raises:
        Refused: a call can't be answered by a text; or as `edit.plan` does.
        NotSupported: as `edit.plan` does.
    """
    after, done = dict(Inspection(reader, row.ref).values_to_store()), []
    for one in broken:
        mended = mend(one.messages, one.matching, how, text, new_message(one.messages))
        if mended.unanswerable:
            call = mended.unanswerable[0]
            what = "has no id" if call.takes_text else "takes a screenshot as its result"
            raise Refused(f"the call of {call.name or 'a tool'} {what}", hint="--drop-calls takes the call out")
        after[one.channel] = mended.messages
        done.append(f"{describe(mended)} in {one.channel}")
    plan = edit.plan(reader, row, after, mint)
    what = ", ".join(done)
    _, _, rest = plan.summary.partition(": ")
    return plan._replace(verb="repair", summary=f"{what}: {rest}"), what


def plan_rollback(reader: Reader, row: CheckpointRow, mint: Mint, channels: Collection[str] = ()) -> tuple[Plan, str]:
    """The plan that makes the newest state without a fault current again, and what it does in a few words.

    Raises:
        Refused: there is no earlier state without a fault; or as `rollback.plan` does.
    """
    lineage = reader.lineage(row.thread_id, row.ns)
    for checkpoint_id in islice(lineage.line(row.checkpoint_id), 1, None):
        ref = Ref(row.thread_id, row.ns, checkpoint_id)
        if not find_broken(reader, ref, channels):
            earlier = lineage.rows[checkpoint_id]
            plan = rollback.plan(reader, earlier, mint)
            return plan._replace(verb="repair"), f"back to {reader.short(row.thread_id)(checkpoint_id)}"
    if row.parent_id not in lineage.rows:
        raise Refused("there is no earlier checkpoint to go back to")
    raise Refused("each earlier checkpoint has a list that models refuse")


def describe(mended: Mended) -> str:
    """What a mend does, in a few words."""
    parts = [
        (mended.answered, "call", "answered"),
        (mended.dropped, "call", "dropped"),
        (mended.moved, "result", "moved"),
        (mended.removed, "result", "removed"),
    ]
    return ", ".join(f"{count} {noun}{'' if count == 1 else 's'} {verb}" for count, noun, verb in parts if count)


def _is_javascript(node: Node) -> bool:
    """Whether LangChain.js made a message: it stores only fields that were given, so a missing one shows nothing."""
    return node.form is Form.LC1 and node.module.startswith("langchain_core")


def new_message(messages: list[Any]) -> NewMessage:
    """Makes tool messages with the fields that those of the thread have."""
    nodes = [one for one in messages if isinstance(one, Node)]
    tools = [one for one in nodes if (parsed := message(one)) is not None and parsed.role == "tool"]
    has_status = not tools or "status" in (tools[-1].fields or {}) or _is_javascript(tools[-1])

    def make(fields: dict[str, Any]) -> Any:
        own = fields if has_status else {key: value for key, value in fields.items() if key != "status"}
        [made] = as_messages({"role": "tool", **own}, messages, lambda: str(uuid4()))
        if not tools and isinstance(made, Node) and made.form is Form.LC1:  # LangChain's JSON has one module for all
            return Node(Opened(nodes[-1].module, made.name, made.form, made.state))
        return made

    return make
