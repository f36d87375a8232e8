"""Compares what ckpt says of a history with what the library says of it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from langgraph.types import StateSnapshot

from ckpt_cli.commands.diff import diff
from ckpt_cli.commands.log import log
from ckpt_cli.commands.replay import replay
from ckpt_cli.commands.show import show
from ckpt_cli.commands.threads import threads
from ckpt_cli.commands.tree import tree
from ckpt_cli.errors import UsageError
from ckpt_cli.history.tasks.snapshot import Status
from ckpt_cli.model import NULL_TASK
from ckpt_cli.values.node import Node
from ckpt_cli.views.steps import ChangeView, StepView
from tests.commands.asking import at, look
from tests.truth_words.blaming import false_faults, false_origins
from tests.truth_words.histories import ON, Truth
from tests.truth_words.values import EMPTY, Values, differ, known, ours, values_of

PREVIOUS = "__previous__"
"""What an entrypoint keeps for its next run; the library doesn't show it."""
DELTAS = {"delta"}
"""The delta channels of the random graphs: their values are seldom stored."""


def untrue(change: ChangeView, before: Values, after: Values) -> bool:
    """Whether a change says something else than the two states; a channel that was never written is empty there."""
    channel, said, was = change.channel, ours(change.after), before.get(change.channel)
    if change.kind in ("sent", "given", "wrote", "several") or channel == PREVIOUS:
        return False
    now = after.get(channel)
    truths: dict[str, Callable[[], bool]] = {
        "same": lambda: was == now and _equal(now, said) and _equal(said, ours(change.before)),
        "changed": lambda: differ(was, now) and (ours(change.before), said) == (was, now),
        "set": lambda: _equal(now, said) and (change.unsure or was in EMPTY),
        "cleared": lambda: ours(change.before) == was and was not in EMPTY and now in EMPTY,
        "replaced": lambda: differ(was, now) and not differ(now, said),
        "summed": lambda: (was or 0) + said == pytest.approx(now),
        "added": lambda: len(now or ()) - len(was or ()) == change.added - change.removed and _within(said, now),
        "edited": lambda: len(now or ()) - len(was or ()) == change.added - change.removed and _within(said, now),
    }
    return not truths[change.kind]()


def _equal(one: Any, other: Any) -> bool:
    return bool(one == other) or (one in EMPTY and other in EMPTY)


def _within(parts: list[Any], whole: Any) -> bool:
    return all(item in whole for item in parts)


def silent(change: ChangeView, after: Values) -> bool:
    """Whether a line only says what was written, although the channel has a value that can be read."""
    return change.kind in ("wrote", "several", "unread") and change.channel in after and change.channel not in DELTAS


def is_unproven_delta(value: Any) -> bool:
    """Whether nothing in the database proves what a delta channel makes of its writes."""
    return isinstance(value, Node) and value.name == "DeltaChannel"


def findings(app: Any, path: Path, truth: Truth) -> Iterator[str]:
    """All that ckpt says of the thread and the library's own history contradicts."""
    for ns, snapshots in truth.items():
        states = {checkpoint_id: values_of(app, one) for checkpoint_id, one in snapshots.items()}
        for checkpoint_id, values in states.items():
            values.update(_before_command(app, ns, checkpoint_id, values))
        steps = look(path, lambda session, ns=ns: log(session, "t", everything=True, limit=0, ns=ns))[0].steps
        yield from _unlike_tree(path, ns, steps)
        yield from _false_lines(steps, states)
        for checkpoint_id, snapshot in snapshots.items():
            yield from _false_views(path, ns, checkpoint_id, states[checkpoint_id], snapshot)
        yield from _false_differences(path, ns, states)
        yield from _false_verdicts(path, ns, steps)
        yield from false_origins(path, ns, states, snapshots)
    yield from false_faults(path)
    yield from _false_status(app, path)


def _before_command(app: Any, ns: str, checkpoint_id: str, values: Values) -> Values:
    """The stored values of channels that a ``Command`` given as input wrote to.

    ``get_state`` applies what such a Command wrote to the state before; in the database it is still a write.
    """
    where = {"thread_id": "t", "checkpoint_ns": ns, "checkpoint_id": checkpoint_id}
    saved = app.checkpointer.get_tuple({"configurable": where})
    written = {channel for task_id, channel, _ in saved.pending_writes if task_id == NULL_TASK}
    stored = saved.checkpoint["channel_values"]
    return {channel: known(stored.get(channel)) for channel in written & values.keys()}


def _unlike_tree(path: Path, ns: str, steps: Iterable[StepView]) -> Iterator[str]:
    """The lines of tree that log words otherwise."""
    texts = {step.checkpoint_id: [change.text for change in step.changes or ()] for step in steps}
    for row in look(path, lambda session: tree(session, "t", full=True, ns=ns))[0].rows:
        if row.step is not None:
            drawn = [change.text for change in row.step.changes or ()]
            if drawn != texts[row.step.checkpoint_id]:
                yield f"tree {row.step.checkpoint_id}: {drawn} {texts[row.step.checkpoint_id]}"


def _false_lines(steps: Iterable[StepView], truth: Mapping[str, Values]) -> Iterator[str]:
    """What log and tree say of a namespace that isn't so, or that they keep to themselves needlessly."""
    for step in steps:
        before, after = truth.get(step.parent_id or "", {}), truth[step.checkpoint_id]
        for change in step.changes or ():
            if step.source != "input" and (untrue(change, before, after) or silent(change, after)):
                was, now = before.get(change.channel), after.get(change.channel)
                yield f"log {step.checkpoint_id} {change.kind} {change.channel} {change.text}: {was} {now}"


def _false_views(path: Path, ns: str, checkpoint_id: str, values: Values, snapshot: StateSnapshot) -> Iterator[str]:
    """Values of show that aren't those of the library, and tasks that are others."""
    view = look(path, lambda session: show(session, "t", checkpoint_id, ns=ns))[0]
    shown = {name: ours(one.value) for name, one in view.channels.items() if not is_unproven_delta(one.value)}
    for name in shown.keys() - {PREVIOUS}:
        if not _equal(shown[name], values.get(name)):
            yield f"show {checkpoint_id} {name}: {shown[name]} {values.get(name)}"
    if unsaid := {name for name in values.keys() - view.channels.keys() if values[name] not in EMPTY}:
        yield f"show {checkpoint_id} without {unsaid}"
    own = [task.node or "?" for task in view.tasks if not (task.node or "").startswith("__error_handler__")]
    tasks, due = sorted(task.name for task in snapshot.tasks), sorted(own)
    if tasks != due:
        yield f"show {checkpoint_id}: tasks {due} {tasks}"


def _false_differences(path: Path, ns: str, states: Mapping[str, Values]) -> Iterator[str]:
    for one, other in pairwise(sorted(states)):
        compared = look(path, lambda session, a=one, b=other: diff(session, "t", a, b, ns=ns))[0]
        both = states[one].keys() | states[other].keys()
        changed = {c for c in both if differ(states[one].get(c), states[other].get(c))}
        said = {difference.path for difference in compared.channels} - {PREVIOUS, *DELTAS}
        unsaid = [c for c in changed - said - DELTAS if states[one].get(c) or states[other].get(c)]
        false = {c for c in said - changed if states[one].get(c) not in EMPTY}
        if unsaid or false:
            yield f"diff {one} {other}: unsaid {unsaid}, false {false}"


def _false_verdicts(path: Path, ns: str, steps: Iterable[StepView]) -> Iterator[str]:
    """Steps that differ, although nobody altered anything."""
    for tip in {step.checkpoint_id for step in steps} - {step.parent_id for step in steps}:
        try:
            played = at(path, replay, "t", to=tip, ns=ns)
        except UsageError:
            continue
        yield from (f"replay {one.checkpoint_id}: {one.why}" for one in played.steps if one.verdict == "differs")


def _false_status(app: Any, path: Path) -> Iterator[str]:
    """What runs next, what waits and whether the thread is done, if ``get_state`` says otherwise."""
    try:
        state = app.get_state(ON)
    except ValueError:  # a reducer refuses what a Command wrote: the library can't read that
        return
    view = look(path, lambda session: show(session, "t"))[0]
    if sorted(view.next or ()) != sorted(state.next):
        yield f"show next: {view.next} {state.next}"
    [thread] = at(path, threads).threads
    if (thread.status == Status.DONE) != (not state.next):
        yield f"threads: {thread.status} {state.next}"
    asked = {one.id for one in state.interrupts}
    open_ = {one.id: task.node or "" for task in view.tasks for one in task.interrupts}
    own = {i for i, node in open_.items() if not node.startswith("__error_handler__")}  # the library has only these
    if own != asked:
        yield f"show asks {own}: {asked}"
