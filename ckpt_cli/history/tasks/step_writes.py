"""What each step wrote, by channel: from metadata if it has the outputs, else from its tasks' writes."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ckpt_cli.history.state.channels import TASKS
from ckpt_cli.history.tasks.metadata_writes import values_by_channel
from ckpt_cli.history.tasks.step_changes import is_output
from ckpt_cli.history.tasks.task_ids import is_called, pulled
from ckpt_cli.history.tasks.write_attribution import WriteAttribution
from ckpt_cli.history.tasks.write_makers import is_command, path
from ckpt_cli.values.state import TaskWrite


class StepWrites:
    """What the steps of one namespace wrote, as far as their metadata and writes were read."""

    def __init__(self, attribution: WriteAttribution) -> None:
        self.attribution = attribution

    def outputs(self, writes: Sequence[TaskWrite], checkpoint_id: str | None = None) -> list[TaskWrite]:
        """The writes among these that change the user's state or are Sends; `checkpoint_id`: what they made."""
        recorded = self.recorded(checkpoint_id) if checkpoint_id is not None else {}
        is_edge = (lambda w: w.channel not in recorded) if recorded else _is_named_like_its_node
        return [
            write
            for write in writes
            if not is_called(path(write))
            and is_output(write)
            and not (self._may_be_plain_edge(write) and is_edge(write))
        ]

    def _may_be_plain_edge(self, write: TaskWrite) -> bool:
        """Whether a write may only record that a node ran.

        Up to langgraph 0.3.18, a plain edge is a channel with the name of its source node, and that node writes its own
        name to it. Those releases also record outputs in metadata; without such outputs, no write is a plain edge.
        """
        return self.attribution.has_outputs and write.read and bool(write.value == write.channel)

    def is_recorded(self, checkpoint_id: str) -> bool:
        """Whether metadata records the outputs of a step.

        Metadata is preferred because it has the outputs of all steps; langgraph 0.2 stored the writes of only some
        steps.
        """
        parent = self.attribution.lineage.parent(checkpoint_id)
        entrypoint = parent is not None and self.attribution.is_entrypoint(parent)
        return self.attribution.note(checkpoint_id).outputs is not None and not entrypoint

    def recorded(self, checkpoint_id: str) -> dict[str, list[Any]]:
        """The values that metadata records, by channel."""
        note = self.attribution.note(checkpoint_id)
        return values_by_channel(note.outputs, note.source)

    def holds_all_recorded(self, checkpoint_id: str, outputs: Sequence[TaskWrite]) -> bool:
        """Whether each channel has as many of these writes as metadata records.

        If so, use these writes: they have the exact values, and metadata has only their JSON.
        """
        recorded = Counter({channel: len(values) for channel, values in self.recorded(checkpoint_id).items()})
        by_tasks = (write for write in outputs if not is_command(write))
        return recorded == Counter(write.channel for write in by_tasks if write.channel != TASKS)


def _is_named_like_its_node(write: TaskWrite) -> bool:
    """Whether a channel has the name of the node that wrote to it, or whether the node isn't known."""
    return not write.row.task_path or pulled(path(write)) == write.channel
