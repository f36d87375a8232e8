"""A Command's pending ``goto``, which no step has taken in yet: the tasks that it starts.

``invoke(Command(goto="b"))`` stores ``branch:to:b`` as a write of the null task, ``goto=Send(…)`` a write to
``__pregel_tasks`` (langgraph 1.2 ``pregel/_io.py: map_command``). They stay on the checkpoint if the run stops before
its next one. Each run from there first applies them, and only then finds its tasks (``pregel/_loop.py: _first``).
``get_state`` finds the tasks before, so it doesn't have those that the Command starts.
"""

from collections.abc import Iterable, Sequence
from itertools import repeat

from ckpt_cli.history.state.channels import BRANCH_TO, END, INTERRUPT, START, TASKS, any_target, order
from ckpt_cli.history.tasks.next_tasks import Wiring, due_tasks, held_back
from ckpt_cli.history.tasks.write_makers import is_command
from ckpt_cli.model import NULL_TASK
from ckpt_cli.values.langgraph_values import js_send
from ckpt_cli.values.state import State, TaskWrite, Version

_FIRST_DEFERRED = 3  # the oldest checkpoint format whose graphs may have deferred nodes


def goto_writes(writes: Iterable[TaskWrite]) -> list[TaskWrite]:
    """The writes that a Command's ``goto`` made: to a node's trigger, or a Send; a goto of END does nothing."""
    null = (write for write in writes if write.task_id == NULL_TASK and not write.row.task_path)
    return [write for write in null if write.channel == TASKS or _target(write.channel) not in (None, END)]


def _target(channel: str) -> str | None:
    """The node of a trigger that a goto writes to; before format 3 ``branch:__start__:__self__:NODE``."""
    return any_target(channel) if channel.startswith((BRANCH_TO, "branch:__start__:__self__:")) else None


def goto_nodes(writes: Iterable[TaskWrite]) -> list[str]:
    """The nodes to which the goto of a Command leads, each once."""
    made = goto_writes(writes)
    sends = (js_send(write.value) for write in made if write.channel == TASKS and write.read)
    return list(dict.fromkeys([*filter(None, (_target(w.channel) for w in made)), *(s.node for s in sends if s)]))


def may_start_nodes(state: State, writes: Sequence[TaskWrite]) -> bool:
    """Whether what a Command wrote may start a node: by its goto, or by a channel that a node is subscribed to.

    A StateGraph's nodes are subscribed to none that a Command's ``update`` writes to, but bare Pregel nodes may be.
    """
    listened = {channel for node, seen in state.seen.items() if node != INTERRUPT for channel in seen}
    return bool(goto_writes(writes)) or any(is_command(write) and write.channel in listened for write in writes)


def has_unread_sends(writes: Iterable[TaskWrite]) -> bool:
    """Whether the goto of a Command made Sends of which the node isn't known, because they weren't decoded."""
    return any(write.channel == TASKS and not write.read for write in goto_writes(writes))


def with_goto(state: State, writes: Iterable[TaskWrite]) -> State:
    """The checkpoint as the next run changes it before it finds its tasks; the same object if no goto is pending.

    A goto sets the trigger of its node. Its Sends replace those of the checkpoint, as ``__pregel_tasks`` keeps only the
    Sends of the last change; before format 4 they are added.
    """
    made = goto_writes(writes)
    if not made:
        return state
    values, new = dict(state.values), _version_after(state.versions.values())
    sends = [write.value for write in made if write.channel == TASKS and write.read]
    for write in made:
        if write.channel != TASKS:
            values[write.channel] = START if held_back(values.get(write.channel)) is None else [START, False]
    if sends and state.v >= 4:
        values[TASKS] = sends
    versions = {**state.versions, **{write.channel: new for write in made if write.channel in values}}
    return state._replace(values=values, versions=versions, sends=[*state.sends, *(sends if state.v < 4 else ())])


def due_by_goto(stored: State, state: State, wiring: Wiring) -> Iterable[bool]:
    """Whether only the pending goto starts it, of each task that is due; `state` is the checkpoint `with_goto`."""
    if state is stored:
        return repeat(False)
    before = {(one.node, one.packet) for one in due_tasks(stored, wiring)}
    replaced = state.values.get(TASKS) is not stored.values.get(TASKS)
    after = due_tasks(state, wiring)
    return [(one.node, one.packet) not in before or (one.packet is not None and replaced) for one in after]


def deferral_of(state: State, node: str, wiring: Wiring) -> bool | None:
    """Whether a node is deferred, so that a goto alone doesn't start it; None if no checkpoint shows it."""
    if state.v < _FIRST_DEFERRED:
        return False
    wiring.learn_until(lambda: node in wiring.deferred)
    return wiring.deferred.get(node)


def _version_after(versions: Iterable[Version]) -> Version:
    highest = max(versions, key=order, default=0)
    number = order(highest)[0] + 1
    return f"{number:032}." if isinstance(highest, str) else number
