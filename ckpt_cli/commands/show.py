"""``ckpt show``: shows one checkpoint."""

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ckpt_cli.errors import CheckpointNotFound, KeyMissing, PayloadCorrupt
from ckpt_cli.history.integrity.inputs import unlike_writes
from ckpt_cli.history.lineage import ids
from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.state.channels import START, is_control
from ckpt_cli.history.state.javascript import is_javascript
from ckpt_cli.history.tasks import nesting
from ckpt_cli.history.tasks.answers import taken_answers
from ckpt_cli.history.tasks.javascript_errors import abort_of
from ckpt_cli.history.tasks.passed_over import passed_over
from ckpt_cli.history.tasks.pending_goto import goto_nodes, may_start_nodes
from ckpt_cli.history.tasks.snapshot import Snapshot, Status, Task
from ckpt_cli.history.tasks.write_makers import is_command
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import CheckpointRow, Ref
from ckpt_cli.output.quantities import iso
from ckpt_cli.parameters.options import Channels, Ns, Rev, Thread
from ckpt_cli.queries.changed_channels import ChangedChannels
from ckpt_cli.queries.command_writes import command_writes
from ckpt_cli.queries.failed_inside import failed_inside
from ckpt_cli.queries.neighbours import Neighbours, marks
from ckpt_cli.queries.stored_payloads import stored_payloads
from ckpt_cli.reading import Reader
from ckpt_cli.session import Session
from ckpt_cli.values.node import Form, Node
from ckpt_cli.values.state import State, TaskWrite
from ckpt_cli.views.interrupts import interrupt_view
from ckpt_cli.views.sends import send_view
from ckpt_cli.views.show import Channel, ShowView, TaskLine

if TYPE_CHECKING:
    from ckpt_cli.history.reducers.rebuilt import Rebuilt


def show(
    session: Session,
    thread: Thread,
    rev: Rev = "@",
    ns: Ns = "",
    channel: Channels = None,
    full: Annotated[bool, typer.Option("--full", help="Fold nothing, and show control channels too.")] = False,
    raw: Annotated[
        bool, typer.Option("--raw", help="Show what is stored: type tags, sizes, first bytes, values in recorded form.")
    ] = False,
) -> ShowView:
    """Show one checkpoint: state, next, tasks, interrupts, metadata.

    Messages are shown as a conversation. `•` marks the channels that changed here, `?` a delta channel
    that was written to here, where nothing shows if it changed. An input is in no channel yet, so it is shown before
    the channels. The last line is the config to paste into code: at a head the one with which
    graph.invoke(None, config) goes on, elsewhere the one with which it runs again from there, as a new branch.

    Examples:
      ckpt show support-42
      ckpt show support-42 step:5 --channel messages --full
      ckpt show support-42 @^ --json --query channels.messages.value
    """
    view = session.read(lambda reader: run(reader, thread, rev, ns, channel or (), everything=full or raw, raw=raw))
    session.say_lost_differences()
    view.full, view.only_channels = full or raw, bool(channel)
    return view


def run(
    reader: Reader,
    thread: str,
    rev: str = "@",
    ns: str = "",
    channels: Sequence[str] = (),
    *,
    everything: bool = False,
    raw: bool = False,
) -> ShowView:
    """The view of a checkpoint: the named `channels`, or the graph's state, or `everything` with control channels."""
    row = _readable_row(reader, thread, rev, ns := reader.namespace(thread, ns))
    parent_id = (lineage := reader.lineage(thread, ns)).parent(row.checkpoint_id)
    reader.saver.expect([row.ref, *([Ref(thread, ns, parent_id)] if parent_id else [])])
    state = reader.state(row.ref)
    snapshot, neighbours = Inspection(reader, row.ref).snapshot(), Neighbours(reader, row, lineage)
    wanted = _named_channels(all_channels := _channels(reader, state, lineage, raw), channels, thread, raw)
    shown = wanted or {name: channel for name, channel in all_channels.items() if everything or not channel.control}
    graph_input = all_channels[START] if START in all_channels and not all_channels[START].empty else None
    hidden = [name for name in all_channels if name not in shown and (graph_input is None or name != START)]
    view = ShowView(
        *row.ref,
        short=reader.short(thread)(row.checkpoint_id),
        step=state.step,
        source=state.source,
        nodes=neighbours.nodes,
        time=iso(ids.unix_time(row.checkpoint_id) or ids.unix_time(state.ts)),
        format=state.v,
        parent=neighbours.parent,
        children=neighbours.children,
        marks=[*marks(lineage, row.checkpoint_id), *_tags(reader, row)],
        metadata={key: value for key, value in state.metadata.items() if key not in ("source", "step")},
        channels=shown,
        hidden=0 if channels else len(hidden),
        next=snapshot.next,
        tasks=_tasks(reader, row.ref, snapshot),
        consumed=snapshot.consumed,
        **_configs(row.ref, is_head=row.checkpoint_id == lineage.head),
        stored=stored_payloads(reader, row.ref) if raw else [],
        problem=state.damage or None,
        given=graph_input,
        metadata_problem=state.metadata_problem or None,
        old_answers=snapshot.old_answers,
        own_memory=_own_memory(reader, row, snapshot) if row.checkpoint_id == lineage.head and not ns else [],
    )
    view.command, view.goto = command_writes(reader, row.ref), goto_nodes(reader.writes(row.ref))
    if ns and snapshot.tasks and not lineage.children.get(row.checkpoint_id):
        _add_from_above(view, reader, row.ref)
    _add_what_runs(view, reader, state, snapshot)
    return view


def _add_what_runs(view: ShowView, reader: Reader, state: State, snapshot: Snapshot) -> None:
    view.unplaced = [_task(task, []) for task in snapshot.unplaced]
    view.passed_over = [] if snapshot.consumed else passed_over(state)
    writes, is_due = reader.writes(state.ref), snapshot.next is None or bool(snapshot.tasks)
    view.given_otherwise = tuple(unlike_writes(state, writes).items())
    view.has_something_to_run = is_due or may_start_nodes(state, writes)
    view.is_blank = not state.versions and not state.damage and not any(map(is_command, writes))
    view.is_javascript = is_javascript(state)
    view.can_replay = state.v >= 4 and START not in state.values and not view.is_javascript


def _add_from_above(view: ShowView, reader: Reader, ref: Ref) -> None:
    """Add what the graphs above show: why no run continues this subgraph, and an old answer to its question."""
    from ckpt_cli.plans.continued_calls import why_not_continued, why_not_newest

    with suppress(PayloadCorrupt, CheckpointNotFound):
        statuses = {Status.FINISHED, *(task.status for task in Inspection(reader, ref).snapshot().tasks)}
        is_left = statuses == {Status.LEFT, Status.FINISHED}
        view.not_continued = None if is_left else why_not_newest(reader, ref) or why_not_continued(reader, ref)
        if statuses - {Status.LEFT, Status.FINISHED} and view.not_continued is None:
            view.old_answers = Inspection(reader, reader.head(ref.thread_id).ref).snapshot().old_answers


def _own_memory(reader: Reader, row: CheckpointRow, snapshot: Snapshot) -> list[str]:
    """What the next run does with the subgraphs with their own memory that its first tasks call, if any has one."""
    is_due = any(task.status is Status.DUE for task in snapshot.tasks)
    if not is_due or all(not ns or ":" in ns for ns in reader.namespaces(row.thread_id)):
        return []
    from ckpt_cli.plans.own_memory import describe_called_memories

    with suppress(PayloadCorrupt, CheckpointNotFound):
        return list(describe_called_memories(reader, row, snapshot))
    return []


def _readable_row(reader: Reader, thread: str, rev: str, ns: str) -> CheckpointRow:
    try:
        row = reader.resolve(thread, rev, ns)
        reader.state(row.ref)
    except (CheckpointNotFound, PayloadCorrupt) as error:
        from ckpt_cli.queries.lost_states import explain_lost_state

        raise explain_lost_state(reader, thread, rev, ns, error) from error
    return row


def _channels(reader: Reader, state: State, lineage: Lineage, raw: bool) -> dict[str, Channel]:
    seen = Inspection(reader, state.ref).values()
    values = state.values if raw else {**state.values, **seen}
    deltas, changed = Inspection(reader, state.ref).deltas(), ChangedChannels(reader, state, lineage, seen)
    channels = {}
    for name in dict.fromkeys([*values, *state.versions]):
        value = values.get(name)
        broken = isinstance(value, Node) and value.form is Form.BROKEN
        channels[name] = Channel(
            value=value,
            empty=name not in values,
            version=state.versions.get(name),
            changed=changed.has_changed(name),
            control=is_control(name, state),
            problem=value.problem if broken and isinstance(value, Node) else None,
            note=_delta_note(deltas[name]) if name in deltas else None,
        )
    return channels


def _delta_note(rebuilt: "Rebuilt") -> str:
    """How the value of a delta channel was rebuilt; this checkpoint doesn't store the value itself."""
    from ckpt_cli.history.reducers.reducers import ABSENT

    seed = "the beginning" if rebuilt.seed is ABSENT else "a snapshot"
    count = len(rebuilt.writes)
    if rebuilt.baseless:
        return f"delta: {'1 write' if count == 1 else f'{count} writes'} since a stored value that is gone; {_STARTS}"
    if rebuilt.lost:
        return f"delta: {seed} and {count} {'write' if count == 1 else 'writes'}; those of an update are not stored"
    return f"delta: {seed} and {count} {'write' if count == 1 else 'writes'}{_how_applied(rebuilt)}"


_STARTS = "LangGraph starts it empty"
_MANY = 8  # stored values that show a reducer; if fewer do, their number is said


def _how_applied(rebuilt: "Rebuilt") -> str:
    if rebuilt.is_settled:
        return ""
    if rebuilt.reducer is not None:
        shown = 0 if rebuilt.evidence is None else rebuilt.evidence.steps
        values = "1 value" if shown == 1 else f"{shown} values"
        if rebuilt.is_larger:
            values += f" of up to {rebuilt.shown.cases.most}" if rebuilt.has_shrunk else ", none so large"
            return f" by {rebuilt.reducer.name}, not proven: shown by {values}"
        return f" by {rebuilt.reducer.name}{f', shown by {values}' if 0 < shown < _MANY else ''}"
    if rebuilt.supposed is not None:
        return f" by {rebuilt.supposed.name}, as is usual for messages: no snapshot that was read proves it"
    if rebuilt.unmet:
        return f" side by side: no snapshot that was read shows what becomes of {rebuilt.unmet}"
    tried = "no reducer that ckpt tries on them explains them"
    return f" side by side: {tried if rebuilt.is_contradicted else 'no snapshot that was read proves a reducer'}"


def _named_channels(
    all_channels: dict[str, Channel], names: Sequence[str], thread: str, raw: bool
) -> dict[str, Channel]:
    for name in names:
        if name not in all_channels:
            from ckpt_cli.queries.not_found import no_channel

            raise no_channel(name, all_channels, f"this checkpoint of {thread!r}")
    wanted = {name: all_channels[name] for name in names}
    if not raw:
        _refuse_broken(wanted)
    return wanted


def _refuse_broken(wanted: dict[str, Channel]) -> None:
    """Refuse if no wanted channel can be decoded. If only some of them can't, they are marked instead."""
    if not wanted or any(channel.problem is None for channel in wanted.values()):
        return
    name, channel = next(iter(wanted.items()))
    if isinstance(channel.value, Node) and channel.value.needs_key:
        raise KeyMissing(f"channel {name!r}: {channel.problem}", hint="--key-env NAME names the key's variable")
    raise PayloadCorrupt(f"channel {name!r} can't be decoded: {channel.problem}", hint="--raw shows its bytes")


def _tasks(reader: Reader, ref: Ref, snapshot: Snapshot) -> list[TaskLine]:
    namespaces = reader.namespaces(ref.thread_id)
    over = [task.id for task in snapshot.all_tasks if task.status is Status.FINISHED and task.interrupts]
    writes = reader.writes(ref) if over else []
    handlers = {i: handler.node or "unknown node" for i, handler in snapshot.handlers.items()}
    lines = []
    for task in snapshot.all_tasks:
        line = _task(task, _called(namespaces, ref.ns, task))
        line = line._replace(inside=failed_inside(reader, ref, task), handler=handlers.get(task.id or ""))
        lines.append(_with_taken(line, task, writes) if task.id in over else line)
    return lines


def _called(namespaces: Sequence[str], ns: str, task: Task) -> list[str]:
    """The subgraphs that a task called, without those inside them."""
    called = nesting.of_task(namespaces, ns, task.node, task.id) if task.node and task.id else []
    return list(nesting.called_from(ns, called))


def _with_taken(line: TaskLine, task: Task, writes: Sequence[TaskWrite]) -> TaskLine:
    """The line of a finished task with what it asked and was answered."""
    asked = [interrupt_view(one.id, one.value, one.response_schema) for one in task.interrupts]
    return line._replace(asked=asked, taken=taken_answers(writes, task.id, [one.id for one in task.interrupts]))


def _task(task: Task, namespaces: list[str]) -> TaskLine:
    return TaskLine(
        id=task.id,
        node=task.node,
        status=str(task.status),
        path=task.path,
        error=task.error if (aborted := abort_of(task.writes)) is None else aborted.value,
        interrupts=[interrupt_view(one.id, one.value, one.response_schema) for one in task.open],
        namespaces=namespaces,
        answers=task.answers,
        send=send_view(task.packet),
        aborted=aborted is not None,
    )


def _configs(ref: Ref, *, is_head: bool) -> dict[str, Any]:
    """The config that names a checkpoint, and for the head of a root graph the config with which ``invoke`` goes on.

    langgraph 1.2 ``pregel/_loop.py``: a named checkpoint is replayed, without the writes that are stored on it.
    """
    thread = {"thread_id": ref.thread_id, "checkpoint_ns": ref.ns}
    named = {"configurable": {**thread, "checkpoint_id": ref.checkpoint_id}}
    return {"config": named, "config_to_go_on": {"configurable": thread} if is_head and not ref.ns else None}


def _tags(reader: Reader, row: CheckpointRow) -> list[str]:
    return [f"tag:{name}" for name, own_id in reader.tags(row.thread_id, row.ns).items() if own_id == row.checkpoint_id]
