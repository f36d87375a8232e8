"""Reasons why a step's state may differ from the result of its stored writes, though nothing is wrong."""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from ckpt_cli.history.state.channels import ERROR, ERROR_SOURCE, INTERRUPT, RESUME
from ckpt_cli.history.tasks.task_ids import Place
from ckpt_cli.history.tasks.write_attribution import WriteAttribution
from ckpt_cli.history.tasks.write_makers import is_command, is_update
from ckpt_cli.model import NULL_TASK, Ref
from ckpt_cli.values.state import TaskWrite

UNORDERED = "the order in which the tasks' writes were applied isn't recorded"
HIDDEN = "tasks had finished where it was made; LangGraph may keep their writes and not store those of the update"
_SEVERAL = "only the last of several steps is stored"
_NO_RESULT = frozenset({INTERRUPT, RESUME, ERROR})


def why_incomplete(step_writes: Sequence[TaskWrite], step: int | None) -> str:
    """A reason why these can't be all writes of a step that was finished; "" if there is none.

    With ``durability="exit"`` a run stores its last state, and of the writes only those to delta channels. What an
    earlier run stored stays: the question that a task asked, what a ``Command`` wrote.
    """
    if step_writes and all(map(is_command, step_writes)):
        return "of its tasks no writes are stored"
    if step is not None and any(write.task_id.startswith(_synthetic(step)) for write in step_writes):
        return "the run stored its last state, and writes to delta channels alone"
    tasks: dict[str, bool] = {}
    for write in step_writes:
        if write.task_id != NULL_TASK:
            tasks[write.task_id] = tasks.get(write.task_id, False) or write.channel not in _NO_RESULT
    return "" if all(tasks.values()) else "a task asked or failed there, and what it wrote later isn't stored"


@lru_cache(4)
def _synthetic(step: int) -> tuple[str, ...]:
    return Place("", "", step, 4).synthetic_beginnings


def doubt_of(attribution: WriteAttribution, ref: Ref, step_writes: Sequence[TaskWrite] | None) -> str:
    """A reason why a checkpoint's state may differ from the result of its writes; "" if there is none."""
    own_note, parent = attribution.note(ref.checkpoint_id), attribution.lineage.parent(ref.checkpoint_id)
    runs = attribution.runs(parent or "")
    is_later = parent is not None or own_note.source == "input"  # an input that is the first stored may begin a turn
    has_gap = is_later and attribution.unstored_steps(ref.checkpoint_id) > 0
    if step_writes is not None:
        channels = {write.channel for write in step_writes}
        if ERROR_SOURCE in channels:
            return "error handlers decided which writes count"
        if ERROR in channels:
            return "a task failed there before, so some writes may come from the run that failed"
        if len(runs) > 1:
            return "its parent has run several times, so some writes may come from another run"
        if why := why_incomplete(step_writes, own_note.step):
            return why
        if own_note.source == "update" and _may_hide(attribution.writes.get(parent or "", ())):
            return HIDDEN
        return _SEVERAL if has_gap else ""
    if has_gap:
        return _SEVERAL
    if own_note.outputs is not None:
        return "only its metadata shows what was written"
    if own_note.source == "fork":
        return "a copy, made without writes"
    if own_note.source == "update":
        return "an update whose writes are not stored"
    if parent is not None and own_note.source in ("loop", "") and ref.checkpoint_id not in runs[:1]:
        return "its parent's writes made another child"
    return "" if own_note.source == "input" else "no writes are stored for it"


def _may_hide(stored: Iterable[TaskWrite]) -> bool:
    """Whether a write of an update may not be stored, as a task's own write has its place.

    ``update_state`` stores the update's writes as those of the task that its node has there (langgraph 1.2
    ``pregel/main.py: _bulk_update``), and a saver's ``put_writes`` keeps what it has of the same task and `idx`.
    """
    own = (write for write in stored if write.task_id != NULL_TASK and not is_update(write))
    return any(isinstance(idx := write.row.idx, int) and idx >= 0 for write in own)
