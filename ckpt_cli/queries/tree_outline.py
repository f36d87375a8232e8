"""`TreeOutline`: which sources, nodes and questions decide the lines of a tree and its folded runs.

Of a large tree, metadata and the names of writes are read a page at a time, and little is kept of each checkpoint.
"""

from collections.abc import Collection, Mapping
from sys import intern

from ckpt_cli.queries.step_lines import StepLines
from ckpt_cli.savers.paging import pages

_WHOLE = 2_000  # the outline of a tree of at most so many checkpoints is read in one go
_AT_ONCE = 500


class TreeOutline:
    """The outline of some checkpoints of one namespace.

    Attributes:
        sources: checkpoint id to its source, as far as metadata was read.
        halted: the checkpoints at which a task asked a question or failed.
        late: the checkpoints before which steps aren't stored.
        callers: task id to the checkpoint from which the task started.
    """

    def __init__(self, lines: StepLines, checkpoint_ids: Collection[str], *, with_callers: bool) -> None:
        self._lines = lines
        self._with_callers = with_callers
        self.sources: dict[str, str] = {}
        self.halted = set[str]()
        self.late = set[str]()
        self.callers: dict[str, str] = {}
        self._nodes: dict[str, Mapping[str, int]] = {}
        self._equal_nodes: dict[tuple[tuple[str, int], ...], Mapping[str, int]] = {}
        self._inputs: dict[str, str] = {}
        self.is_whole = len(checkpoint_ids) <= _WHOLE
        if self.is_whole:
            lines.read_outline(checkpoint_ids)
            self._add(checkpoint_ids)
        else:
            self._read_pages(sorted(checkpoint_ids))

    def _read_pages(self, checkpoint_ids: list[str]) -> None:
        """Read the outline from the oldest checkpoint on: the nodes of a step may name those of the next one."""
        self._lines.read_tips()
        for page in pages(checkpoint_ids, _AT_ONCE):
            self._lines.read_names(page)
            self._add(page)
            for checkpoint_id in page:
                nodes = self._lines.step_nodes.nodes(checkpoint_id)
                self._nodes[checkpoint_id] = self._equal_nodes.setdefault(tuple(nodes.items()), nodes)
                if (taken := self._lines.input_taken(checkpoint_id)) is not None:
                    self._inputs[checkpoint_id] = taken
            self._lines.forget()

    def _add(self, checkpoint_ids: Collection[str]) -> None:
        notes, writes = self._lines.attribution.notes, self._lines.attribution.writes
        for checkpoint_id in checkpoint_ids:
            if checkpoint_id in notes:
                self.sources[checkpoint_id] = intern(notes[checkpoint_id].source)
                if self._lines.attribution.unstored_steps(checkpoint_id):
                    self.late.add(checkpoint_id)
        for checkpoint_id in self._lines.lineage.rows if self.is_whole else checkpoint_ids:
            if self._lines.halted(checkpoint_id):
                self.halted.add(checkpoint_id)
        if self._with_callers:
            self.callers |= {write.task_id: i for i, stored in writes.items() for write in stored}

    def source(self, checkpoint_id: str) -> str:
        """The source of a checkpoint; "" if it wasn't read."""
        return self.sources.get(checkpoint_id, "")

    def nodes(self, checkpoint_id: str) -> Mapping[str, int]:
        """The nodes that made a checkpoint, each with its number of tasks."""
        return self._lines.step_nodes.nodes(checkpoint_id) if self.is_whole else self._nodes.get(checkpoint_id, {})

    def input_taken(self, checkpoint_id: str) -> str | None:
        """The input that a step took in, if the step did nothing else."""
        return self._lines.input_taken(checkpoint_id) if self.is_whole else self._inputs.get(checkpoint_id)
