"""Arguments of tasks that an update corrected: those of Sends, and the input of an entrypoint."""

from ckpt_cli.history.state.channels import START, TASKS
from ckpt_cli.history.tasks.next_tasks import sent_arguments
from ckpt_cli.history.tasks.step_changes import Change, ChangeKind
from ckpt_cli.history.tasks.task_names import numbered
from ckpt_cli.values.same import same
from ckpt_cli.values.state import State


def corrections(state: State, parent: State) -> list[Change]:
    """The tasks of the next step that are those of the parent's next step, but with another argument."""
    old, new = sent_arguments(parent), sent_arguments(state)
    places = [[(node, packet.number, packet.of) for node, packet in sends] for sends in (old, new)]
    if places[0] != places[1]:
        return []
    changes = [
        Change(TASKS, ChangeKind.CORRECTED, now.argument, was.argument, task=numbered(node, now))
        for (_, was), (node, now) in zip(old, new, strict=True)
        if not same(was.argument, now.argument)
    ]
    if START in state.values and START in parent.values and not same(state.values[START], parent.values[START]):
        changes.append(Change(START, ChangeKind.CORRECTED, state.values[START], parent.values[START]))
    return changes
