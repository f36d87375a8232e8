"""What a checkpoint's pending writes make of its state, and the plan of ``ckpt replay --commit``.

``update_state(config, None, as_node=END)`` (langgraph 1.2 ``pregel/main.py``): finished tasks' writes are kept, waiting
and failed tasks are abandoned.
"""

from typing import Any

from ckpt_cli.errors import NotSupported, Refused
from ckpt_cli.history.channels import CONTROL_WRITES
from ckpt_cli.history.snapshot import Status
from ckpt_cli.model import NULL_TASK
from ckpt_cli.plans.board import Standing
from ckpt_cli.plans.mint import Mint
from ckpt_cli.plans.past import path_of, sends_in
from ckpt_cli.plans.reducing import Reducers
from ckpt_cli.plans.successor import Step
from ckpt_cli.plans.superstep import Acting, acting_triggers
from ckpt_cli.reading import Reader

_PUSHED = ("__pregel_push",)


def ended(reader: Reader, _reducers: Reducers, at: Standing, mint: Mint) -> tuple[set[str], Step]:
    """Let the tasks of a checkpoint end as they stand: changes the board, and tells the step that does so.

    Raises:
        Refused: not all tasks are known.
    """
    step, updated = at.of.step, set[str]()

    def after(highest: Any) -> Any:
        return mint.version(highest, highest)

    if not at.tasks.complete or any(task.node is None for task in at.tasks.tasks):
        raise Refused("which tasks run there can't be known without the graph")
    written = reader.writes(at.of.ref)
    null = [(write.channel, write.value) for write in written if write.task_id == NULL_TASK] if at.taken else []
    if null:
        updated |= at.board.apply([Acting("", "__input__", null)], after)
    updated |= at.board.apply(_acting(at), after)
    return updated, Step("update", step + 1, step, updated, at.touched)


def _acting(at: Standing) -> list[Acting]:
    sends, found = sends_in(at.of.state), []
    for place, task in enumerate(at.tasks.tasks):
        finished = task.status is Status.FINISHED
        writes = [(w.channel, w.value) for w in task.writes if finished and w.channel not in CONTROL_WRITES]
        triggers = _PUSHED if place < sends else tuple(acting_triggers(task.node or "", at.board.versions))
        if not triggers:
            raise NotSupported("a step can only be made in threads of a StateGraph")
        path = task.path or path_of(place, task.node, sends)
        found.append(Acting(path, task.node or "", writes, triggers))
    return found
