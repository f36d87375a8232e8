"""The plan of ``ckpt edit``: a child with other values and the same next nodes; unknown channels, versions.

No reducer is applied. Like an update, the child has the source ``update``, and its step is one higher. Unlike an
update, it marks no node as having run. The versions of edited channels advance as in a step (langgraph 1.2
``pregel/_algo.py: apply_writes``). Nodes that had seen the old version count as nodes that have seen the new version,
so the edit triggers no node.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from ckpt_cli.errors import ChannelNotFound, NotSupported, PathNotFound, PayloadCorrupt, Refused, UsageError
from ckpt_cli.history.lineage.short_ids import ShortIds
from ckpt_cli.history.reducers import delta
from ckpt_cli.history.reducers.rebuilt import is_unproven
from ckpt_cli.history.state.channels import INTERRUPT, PREVIOUS, is_control, order
from ckpt_cli.history.state.editing import not_editable
from ckpt_cli.history.state.paths import spell
from ckpt_cli.history.tasks.next_tasks import Wiring, due_tasks
from ckpt_cli.history.tasks.snapshot import Snapshot
from ckpt_cli.history.tasks.task_names import counted
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import Checkpoint, CheckpointRow, Plan, Ref
from ckpt_cli.operations.apply import basis_of, basis_of_heads
from ckpt_cli.plans.argument_hints import describe_arguments, describe_input, input_hint
from ckpt_cli.plans.branch_versions import highest_version
from ckpt_cli.plans.command_lines import command_at
from ckpt_cli.plans.continued_calls import continued_tasks
from ckpt_cli.plans.delta_snapshots import DeltaSnapshots, describe_lost, describe_unshown, snapshots_for_child
from ckpt_cli.plans.metadata import UNCHANGED, MetadataChanges, describe_changes
from ckpt_cli.plans.mint import Mint
from ckpt_cli.plans.new_checkpoint import Origin, make_child, read_origin
from ckpt_cli.plans.own_memory import describe_memories, find_memories, replay_bound, without_memory
from ckpt_cli.plans.pending_command import describe_command_left
from ckpt_cli.plans.reruns import describe_not_inherited, must_run_once
from ckpt_cli.plans.step_formats import may_allow_steps
from ckpt_cli.plans.unstored_channels import describe_created, describe_unstored
from ckpt_cli.plans.wording import describe_new_head, describe_next, describe_reruns, recently_written, short_ids
from ckpt_cli.reading import Reader
from ckpt_cli.values.node import Form, Node, Opened
from ckpt_cli.values.parts import fields
from ckpt_cli.values.same import same
from ckpt_cli.values.state import ChannelValues, State, Version

_MOST_SEARCHED = 50  # a channel that the edited checkpoint lacks is searched in this many of the newest checkpoints


def plan(
    reader: Reader,
    row: CheckpointRow,
    after: ChannelValues,
    mint: Mint,
    *,
    rerun: bool = False,
    create: bool = False,
    changes: MetadataChanges = UNCHANGED,
) -> Plan:
    """The plan that adds a checkpoint with the channel values `after`.

    `create` allows channels that the thread never had; `changes` are changes of the application's metadata.

    Raises:
        Refused: finished work would run again and `rerun` is false, or other nodes would run next.
        ChannelNotFound: a channel is new to the thread, and `create` is false.
        NotSupported: this generation of LangGraph stores a checkpoint's Sends with its parent, so the new child would
            get other Sends than the edited checkpoint has.
    """
    origin, before = read_origin(reader, row.ref), Inspection(reader, row.ref).values_to_store()
    snapshot = continued_tasks(reader, row.ref)
    must_run_once(reader, continued_tasks(reader, row.ref, goto=True), row, rerun=rerun)
    names = [c for c, value in after.items() if c not in before or not same(value, before[c])]
    removed = [c for c in before if c not in after]
    _must_be_known([c for c in names if is_unproven(after[c])])
    _must_be_channels(reader, origin, [c for c in names if c not in before], create=create)
    own = snapshots_for_child(reader, mint, origin, {*names, *removed})
    made = _make_edited(reader, mint, origin, own, {c: after[c] for c in names}, removed, changes)
    _must_run_the_same(reader, origin, made)
    new = made.row.ref
    short = short_ids(reader, row.ref, new.checkpoint_id)
    what = ", ".join([*names, *removed]) or "metadata"
    what += f" of {short(row.checkpoint_id)} (step {origin.step}): new checkpoint {short(new.checkpoint_id)}"
    return Plan(
        reason="",
        add=(made,),
        basis=(*basis_of_heads(reader.saver, row.thread_id, row.ns), basis_of(reader.saver, row.ref)),
        recent=recently_written(reader, reader.rows(row.thread_id)),
        verb="edit",
        summary=f"{what}, source update, step {origin.step + 1}; {describe_next(snapshot)}",
        notes=(
            *_describe_tasks(reader, row, made.row, snapshot, short, (origin.state, {*names, *removed})),
            *describe_new_head(reader, row, short),
            *own.describe(),
            *_describe_channels(reader, origin, before, {c: after.get(c) for c in (*names, *removed)}),
            *describe_changes(origin.metadata, changes),
        ),
        result=Ref(row.thread_id, "", "") if row.ns else new,
    )


def _describe_channels(
    reader: Reader, origin: Origin, before: ChannelValues, edited: Mapping[str, Any]
) -> Iterator[str]:
    """Lines about the channels of which LangGraph doesn't read what a plan's reader may expect."""
    yield from describe_unshown(reader, origin.ref, before, edited)
    yield from describe_lost(reader, origin.ref, edited)
    yield from describe_unstored(reader, origin, edited, _deltas(reader, origin))
    if new := {*edited}.difference(origin.state.versions, origin.state.values):
        yield from describe_created(new, _channels_nearby(reader, origin))


def _describe_tasks(
    reader: Reader,
    row: CheckpointRow,
    made: CheckpointRow,
    snapshot: Snapshot,
    short: ShortIds,
    edits: tuple[State, set[str]],
) -> Iterator[str]:
    """Lines about the tasks of the edited checkpoint: which run again, and which don't although the state changes.

    `made` is the new checkpoint, `edits` the state before and the edited channels.
    """
    memories = find_memories(reader, row)
    yield from describe_reruns(reader, row, snapshot, memories)
    bound = replay_bound(made, "update")
    yield from describe_memories(reader, row, snapshot, memories, short, bound, is_editable=True)
    yield from describe_not_inherited(reader, without_memory(snapshot, memories), row)
    yield from describe_command_left(reader, row)
    yield from describe_arguments(edits[0], snapshot)
    yield from describe_input(snapshot, *edits)


def _make_edited(
    reader: Reader,
    mint: Mint,
    origin: Origin,
    own: DeltaSnapshots,
    edits: ChannelValues,
    removed: Collection[str],
    metadata: MetadataChanges,
) -> Checkpoint:
    body = {**origin.body, **own.edits}
    versions: dict[str, Version] = dict(body.get("channel_versions") or {})
    highest = highest_version(reader, origin.stored, origin.state) or max(versions.values(), key=order, default=None)
    new = {c: mint.version(highest, data=repr(value).encode(errors="replace")) for c, value in edits.items()}
    deltas = _deltas(reader, origin)
    values = {c: _snapshot(value) if c in deltas else value for c, value in edits.items()}
    changed = {
        "channel_values": _without({**(body.get("channel_values") or {}), **values}, removed),
        "channel_versions": _without({**versions, **new}, removed),
    }
    if (seen := _seen(body.get("versions_seen") or {}, versions, new)) is not None:
        changed["versions_seen"] = seen
    return make_child(
        reader,
        mint,
        origin,
        parent_id=own.parent_id,
        sequence=origin.step + 1,
        edits={**own.edits, **changed},
        counters=_without(own.counters, [*edits, *removed]),
        source="update",
        metadata=metadata,
    )


def _deltas(reader: Reader, origin: Origin) -> set[str]:
    return delta.marked(origin.state) | Inspection(reader, origin.ref).deltas().keys()


def _must_be_known(channels: list[str]) -> None:
    if channels:
        raise not_editable(channels[0])


def _without(mapping: ChannelValues, removed: Collection[str]) -> dict[str, Any]:
    """The mapping without some channels. Without a version a channel counts as never written and isn't rebuilt."""
    return {key: value for key, value in mapping.items() if key not in removed}


def _snapshot(value: Any) -> Node:
    return Node(Opened("langgraph.checkpoint.serde.types", "_DeltaSnapshot", Form.SNAPSHOT, value))


def _seen(
    versions_seen: Mapping[str, Mapping[str, Version]], old: Mapping[str, Version], new: Mapping[str, Version]
) -> dict[str, Any] | None:
    """A copy of ``versions_seen``: nodes that had seen the old version of an edited channel have seen the new version.

    None if there are no such nodes. Nodes listen to a user's channel only in graphs that were built directly from
    Pregel nodes.
    """
    watching = {
        node: {c: version for c, version in new.items() if c in had and had[c] == old.get(c)}
        for node, had in versions_seen.items()
        if node != INTERRUPT and not node.startswith("__snapshot")
    }
    if not any(watching.values()):
        return None
    return {node: {**had, **watching.get(node, {})} for node, had in versions_seen.items()}


def _must_be_channels(reader: Reader, origin: Origin, names: Iterable[str], *, create: bool) -> None:
    """Check channels that this checkpoint lacks.

    Each must be a user's channel. Without `create`, other checkpoints must have this channel.
    """
    for name in names:
        if is_control(name, origin.state):
            hint = "`ckpt update --as-node` changes that" if may_allow_steps(origin.state) else ""
            raise UsageError(f"{name} isn't state: it decides what runs next", hint=hint)
        if create or name in origin.state.versions:
            continue
        known = _channels_nearby(reader, origin)
        if name not in known:
            near = get_close_matches(name, known, n=1) or _paths_to(name, origin)
            hint = (
                f"did you mean {near[0]}?" if near else input_hint(reader, origin.state, name) or "--create creates it"
            )
            raise ChannelNotFound(f"no channel {name!r}: the thread never had one", hint=hint)


def _paths_to(name: str, origin: Origin) -> list[str]:
    """The paths of a channel's part with this name, such as ``__previous__.n`` of an entrypoint's saved value."""
    values = {c: value for c, value in origin.state.values.items() if c == PREVIOUS or not is_control(c, origin.state)}
    holders = (channel for channel, value in values.items() if name in fields(value))
    return [spell([channel, name]) for channel in sorted(holders, key=lambda one: one != PREVIOUS)]


def explain_missing_path(reader: Reader, row: CheckpointRow, error: PathNotFound) -> PathNotFound:
    """The error for a path that isn't there; if an input still waits to be taken in, with the command that edits it."""
    hint = input_hint(reader, reader.state(row.ref))
    return PathNotFound("there is no state yet, only an input", hint=hint) if hint else error


def _channels_nearby(reader: Reader, origin: Origin) -> list[str]:
    rows = reader.saver.newest(origin.ref.thread_id, origin.ref.ns, _MOST_SEARCHED)
    names: dict[str, None] = {}
    for row in rows:
        try:
            names |= dict.fromkeys(reader.state(row.ref).versions)
        except PayloadCorrupt:
            continue
    return list(names)


def _must_run_the_same(reader: Reader, origin: Origin, made: Checkpoint) -> None:
    """Check that the same tasks are still due, Sends included."""
    after, wiring = reader.decode(made), Wiring(origin.state)
    if not same(origin.state.sends, after.sends):
        what = (
            "this generation of LangGraph stores a checkpoint's Sends with its parent, where a child would find others"
        )
        raise NotSupported(f"it can't be edited: {what}")
    if (due_before := due_tasks(origin.state, wiring)) != (due_after := due_tasks(after, wiring)):
        names = [counted(one.node or "?" for one in some) or "nothing" for some in (due_before, due_after)]
        write = command_at("ckpt update", origin.ref, "--as-node", "NODE", "--values", "JSON")
        hint = f"{write} writes in the place of a node, and then the nodes after it run"
        what = f"with these edits {names[1]} would run next, and not {names[0]}"
        raise Refused(what, hint=hint if may_allow_steps(origin.state) else "")
