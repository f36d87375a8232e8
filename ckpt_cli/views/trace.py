"""The view of ``ckpt trace``: what each node of a thread contributed, summed and step by step."""

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from ckpt_cli.views.base import View
from ckpt_cli.views.steps import CommandView

_OF_NODES = frozenset({"task", "handler", "call"})


class TaskLine(NamedTuple):
    """What one task left.

    Attributes:
        node: null for writes of no task: answers, Commands and updates, and if the node isn't known.
        kind: ``task``, ``handler`` (of errors), ``call`` (of a ``@task`` function), ``update``, ``command``, ``none``.
        bytes: of all its writes, as they are stored.
        failed: whether a failure of it is recorded; `again`: a result is too, so it ran again, or
            its conditional edge raised after its node had returned.
        kept: whether it didn't run here: ``edit --task`` stored again what it left at the checkpoint before.
        input_tokens, output_tokens: of messages that it was the first to write, where they carry ``usage_metadata``.
    """

    node: str | None
    kind: str
    writes: int
    bytes: int
    finished: bool
    asked: bool
    failed: bool
    again: bool
    input_tokens: int
    output_tokens: int
    kept: bool = False


class TraceStep(NamedTuple):
    """The tasks that started at a checkpoint, up to the next one of the line.

    Attributes:
        path: the graph: "" for the root graph, else the nodes that lead to the subgraph.
        checkpoint_id: where the tasks started.
        made: the checkpoint that follows; null at the end of the line.
        step: the superstep of the checkpoint that follows.
        started: when the checkpoint was made (ISO 8601, UTC); null if its id contains no time.
        seconds: until the next one was made; null if it isn't known.
        spent: ``running``; ``waiting``: a task asked, and the time includes the wait for its answer; ``stopped``: a
            task failed, and the time includes that until it ran again; ``between`` runs, or a step of a run that began
            here when isn't recorded: the time includes that before the run; ``unstored``: of this step and those after
            it only the last checkpoint is stored, and the time is that of all; ``pending``: the line's end.
        recorded: whether stored writes show what its tasks did.
        command: a Command that waits at this checkpoint: the next run applies it first. Null if there is none.
    """

    path: str
    ns: str
    depth: int
    checkpoint_id: str
    made: str | None
    step: int | None
    started: str | None
    seconds: float | None
    spent: str
    recorded: bool
    tasks: tuple[TaskLine, ...]
    command: CommandView | None = None

    @property
    def ran_nodes(self) -> bool:
        """Whether tasks of nodes started here, not only an update or a Command."""
        return any(task.kind in _OF_NODES and not task.kept for task in self.tasks)


class NodeSum(NamedTuple):
    """What one node contributed.

    Attributes:
        runs: its tasks that left something; `finished` of them have finished.
        asked: its tasks that asked, however many questions: a task's next question replaces the one before.
        again: tasks that failed and then ran again. What a run retried by itself leaves no trace.
        seconds: of the steps in which it ran and nobody was waited for; nodes of the same step share its time.
        channels: bytes of writes by channel, the largest first.
    """

    path: str
    node: str | None
    kind: str
    runs: int
    finished: int
    seconds: float | None
    writes: int
    bytes: int
    asked: int
    failed: int
    again: int
    input_tokens: int
    output_tokens: int
    channels: dict[str, int]


class ChannelSum(NamedTuple):
    """What was written to one channel, and what it takes in the stored checkpoints.

    Attributes:
        nodes: node to the bytes of its writes.
        state_bytes: of its values in all checkpoints of the line; null without ``--values``.
        repeated_bytes: of those values that are the same bytes as in the checkpoint before.
    """

    channel: str
    writes: int
    bytes: int
    nodes: dict[str, int]
    state_bytes: int | None = None
    repeated_bytes: int | None = None


class TraceSums(NamedTuple):
    """The sums over all steps; times are those of the traced namespace, which contain those of its subgraphs.

    Attributes:
        running: also 0 if no step's time is known.
        state_bytes: of the checkpoints of the line and of its subgraphs, as stored; null if the engine can't tell.
        unplaced_tokens: input and output tokens of messages that no node is known to have written: they came with an
            input, an update or an answer, or from tasks without stored writes.
    """

    checkpoints: int
    runs: int
    writes: int
    bytes: int
    state_bytes: int | None
    running: float
    waiting: float
    stopped: float
    between: float
    unstored: float
    input_tokens: int
    output_tokens: int
    unplaced_tokens: tuple[int, int] = (0, 0)


@dataclass(slots=True)
class TraceView(View):
    """What the nodes of a thread contributed, from its first checkpoint to one checkpoint.

    Attributes:
        steps: the line's steps, those of a subgraph behind the step that called it.
        nodes, channels: sorted as asked.
        notes: what isn't recorded, a sentence each.
        form: ``text`` or ``perfetto``.
        limit: how many nodes, channels and steps a terminal shows; 0 for all.
        shown: ``nodes``, ``steps`` or ``timeline``: what a terminal shows.
    """

    verb: ClassVar[str] = "trace"
    rows_field: ClassVar[str] = "steps"

    thread_id: str
    ns: str
    checkpoint_id: str
    short: str
    sums: TraceSums
    nodes: list[NodeSum] = field(default_factory=list)
    channels: list[ChannelSum] = field(default_factory=list)
    steps: list[TraceStep] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    form: str = "text"
    limit: int = 0
    shown: str = "nodes"
