"""What the time between two checkpoints of a line went by with (``trace``): a step, a wait, a pause."""

from collections.abc import Collection, Iterable, Sequence

from ckpt_cli.history.lineage import ids
from ckpt_cli.history.state.channels import INTERRUPT, RESUME, order
from ckpt_cli.history.tasks.task_runs import TaskRun
from ckpt_cli.history.tasks.write_attribution import LOOPS
from ckpt_cli.history.tasks.write_makers import is_command
from ckpt_cli.model import NULL_TASK
from ckpt_cli.queries.namespace_walk import NamespaceWalk
from ckpt_cli.values.state import TaskWrite, Version

_PAUSE = 1.0  # seconds; the states around shorter steps aren't read
_BY_HAND = frozenset({"update", "fork"})


def resumed_at(walk: NamespaceWalk, steps: Iterable[tuple[str, str | None]]) -> set[str]:
    """The checkpoints at which a run without input began: after a breakpoint, the recursion limit, a kill.

    Such a run notes that it has seen all versions of the checkpoint where it begins (langgraph 1.2 ``pregel/_loop.py:
    _first``). `steps` are checkpoints, each with the next one of its line; only slow steps are looked at.
    """
    slow = [(one, made) for one, made in steps if made is not None and (seconds(one, made) or 0) >= _PAUSE]
    newest, seen = dict[str, Version](), dict[str, set[Version]]()
    for state in walk.reads.small_states(sorted({i for pair in slow for i in pair})):
        newest[state.ref.checkpoint_id] = max(state.versions.values(), key=order, default="")
        seen[state.ref.checkpoint_id] = {*state.seen.get(INTERRUPT, {}).values()}
    known = [(one, made) for one, made in slow if one in newest and made in newest]
    return {one for one, made in known if newest[one] in seen[made] and newest[one] not in seen[one]}


def spent(
    walk: NamespaceWalk, checkpoint_id: str, made: str | None, runs: Sequence[TaskRun], resumed: Collection[str]
) -> str:
    """What the time from a checkpoint to the next one of its line went by with; see `views.trace.TraceStep`.

    `resumed` is what `resumed_at` gives.
    """
    attribution = walk.reads.attribution
    if made is None:
        return "pending"
    if attribution.unstored_steps(made):
        return "unstored"
    if any(write.channel == INTERRUPT for run in runs if not run.is_kept for write in run.writes):
        return "waiting"
    handled = {run.failed.task_id for run in runs if run.failed is not None}
    if any(run.has_failed and run.task_id not in handled for run in runs):
        return "stopped"
    is_run = attribution.note(made).source in LOOPS
    return "running" if is_run and not _began_later(walk, checkpoint_id, made, resumed) else "between"


def seconds(checkpoint_id: str, made: str | None) -> float | None:
    """The seconds from a checkpoint to the next one; None if an id contains no time."""
    begin, end = ids.unix_time(checkpoint_id), ids.unix_time(made) if made is not None else None
    return None if begin is None or end is None else max(end - begin, 0.0)


def is_by_hand(walk: NamespaceWalk, checkpoint_id: str, made: str | None) -> bool:
    """Whether an update or a fork made one of two checkpoints, so that no run lasted from the one to the other."""
    notes = [walk.reads.attribution.note(one) for one in (checkpoint_id, made) if made is not None and one is not None]
    return any(note.source in _BY_HAND for note in notes)


def is_unrecorded(walk: NamespaceWalk, made: str) -> bool:
    """Whether no stored writes show what made a checkpoint, although a run or an update did."""
    attribution = walk.reads.attribution
    is_update = attribution.note(made).source == "update"
    return walk.is_unrecorded(made) or (is_update and attribution.unordered(made) is None)


def _began_later(walk: NamespaceWalk, checkpoint_id: str, made: str, resumed: Collection[str]) -> bool:
    """Whether the run that made a checkpoint began at the checkpoint before it, at a time that isn't recorded.

    A run goes on at once from what it made itself. It began later at an update or a fork, where it got a Command or an
    answer, where it isn't the first that went on from there, and where it noted so. ``durability="exit"`` stores no
    writes of its tasks, and no checkpoint before its last one; releases without any writes have the outputs of tasks in
    metadata instead.
    """
    attribution = walk.reads.attribution
    source = attribution.note(checkpoint_id).source
    if source in _BY_HAND:
        return True
    if any(map(_is_given, attribution.writes.get(checkpoint_id, ()))):
        return True
    if attribution.first_with_source(checkpoint_id, LOOPS) != made:
        return True
    is_old = attribution.note(made).outputs is not None or not ids.is_uuid6(made)
    if source != "input" and not is_old and walk.is_unrecorded(made):
        return True
    return checkpoint_id in resumed


def _is_given(write: TaskWrite) -> bool:
    """Whether a run got this write with its input: of a Command, or its answer."""
    return is_command(write) or (write.task_id == NULL_TASK and write.channel == RESUME)
