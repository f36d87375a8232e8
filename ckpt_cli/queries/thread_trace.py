"""What each node of a thread contributed (``trace``): the tasks of a line and of its subgraphs."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache, partial
from itertools import pairwise

from ckpt_cli.errors import PayloadCorrupt
from ckpt_cli.history.lineage import ids
from ckpt_cli.history.messages.message_states import Held, StepStates
from ckpt_cli.history.messages.new_items import NewItems
from ckpt_cli.history.state.channels import RESUME, START, TASKS, deltas, is_control, unwrapped
from ckpt_cli.history.tasks.branch_writes import of_task
from ckpt_cli.history.tasks.snapshot import graph_of
from ckpt_cli.history.tasks.task_ids import callers
from ckpt_cli.history.tasks.task_runs import RunKind, TaskRun
from ckpt_cli.history.tasks.trace_sums import NO_TASK, Tally, TraceTally, has_usage, takes_input
from ckpt_cli.history.tasks.write_makers import is_command
from ckpt_cli.model import CheckpointRow, Ref
from ckpt_cli.output.quantities import iso
from ckpt_cli.queries import step_times
from ckpt_cli.queries.called_subgraphs import CalledSubgraphs
from ckpt_cli.queries.command_writes import pending_command
from ckpt_cli.queries.namespace_walk import NamespaceWalk
from ckpt_cli.queries.step_sources import StepSources
from ckpt_cli.reading import Reader
from ckpt_cli.views.trace import TaskLine, TraceStep

_LOOPS = frozenset({"loop", ""})
_UPDATES = frozenset({"update"})
_SHARED = 500  # different steps


class ThreadTrace:
    """The steps of a line and of the subgraphs that it called, with their sums.

    Attributes:
        rows: the checkpoints that were gone through, namespace by namespace.
        state_bytes: what they take, as far as the engine tells.
        gone: the parents of the first checkpoints, in the thread and its subgraphs, which aren't stored.
        left: tasks of subgraphs that left nothing, by graph and node, as `NamespaceWalk.left` finds them.
        silent: nodes of steps that left no writes, by graph and node.
        traceless: nodes that left no writes in steps in which others did, by graph and node.
        lost_starts: lines whose first checkpoint a run made of earlier ones that aren't stored.
    """

    def __init__(self, reader: Reader, thread_id: str, progress: Callable[[str], None] = lambda _: None) -> None:
        self._reader = reader
        self._thread_id = thread_id
        self._progress = progress
        self.tally = TraceTally()
        self.steps: list[TraceStep] = []
        self.rows: list[CheckpointRow] = []
        self.state_bytes: int | None = None
        self.gone: list[Ref] = []
        self.left = Counter[tuple[str, str]]()
        self.silent = Counter[tuple[str, str]]()
        self.traceless = Counter[tuple[str, str]]()
        self.lost_starts = 0
        self._unshown: dict[str, list[Ref]] = {}  # by namespace: states with messages that no stored write may show
        self._given: dict[str, NewItems] = {}  # by namespace, of these states
        self._by_hand = set[str]()  # where steps began that an update or a fork began or ended
        self._called = CalledSubgraphs(reader, thread_id)

    def run(self, row: CheckpointRow) -> None:
        """Go through the line from the first checkpoint to this one."""
        lineage = self._reader.lineage(self._thread_id, row.ns)
        self._add(row.ns, list(lineage.line(row.checkpoint_id))[::-1], 0)
        for ns in list(self._unshown):
            self._add_unshown(ns)
        self._add_given(row.ref)
        self._progress("")

    def _add(self, ns: str, line: Sequence[str], depth: int) -> None:
        walk, next_of = NamespaceWalk(self._reader, self._thread_id, ns), dict(pairwise(line))
        for page in walk.pages(line):
            if page[0] == line[0]:
                self.lost_starts += walk.is_unrecorded(line[0])
                self._begin(walk, line[0])
            resumed = step_times.resumed_at(walk, [(i, next_of.get(i)) for i in page])
            for checkpoint_id in page:
                self._count(walk.reads.lineage.rows[checkpoint_id])
                self._add_step(walk, checkpoint_id, next_of.get(checkpoint_id), depth, resumed)
            if page[-1] == line[-1]:
                self.left.update((graph_of(ns), node) for node in walk.left(line[-1]))
            self._progress(f"trace: {len(self.rows):,} checkpoints")

    def _begin(self, walk: NamespaceWalk, first: str) -> None:
        """Note whether the first checkpoint of a line has messages that no write of the line shows."""
        if (parent := walk.reads.lineage.missing(first)) is not None:
            self.gone.append(walk.reads.ref(parent))
        if parent is not None or walk.reads.attribution.note(first).source != "input":
            self._unshown.setdefault(walk.reads.ns, []).append(walk.reads.ref(first))

    def _count(self, row: CheckpointRow) -> None:
        self.rows.append(row)
        if row.size is not None:
            self.state_bytes = (self.state_bytes or 0) + row.size

    def _add_step(
        self, walk: NamespaceWalk, checkpoint_id: str, made: str | None, depth: int, resumed: Collection[str]
    ) -> None:
        ns, path = walk.reads.ns, graph_of(walk.reads.ns)
        stored = walk.stored(checkpoint_id, whole=True)
        runs = [run for run in walk.runs(checkpoint_id, stored) if _is_in_line(walk, run, checkpoint_id, made)]
        if not _counts_kept(walk, checkpoint_id):
            runs = [run._replace(kept=()) for run in runs]
        place = len(self.steps)
        calls = list(self._called.by_tasks(ns, runs))
        if _is_step_in_line(walk, checkpoint_id, made):
            calls += self._called.with_memory(ns).get(checkpoint_id, ())
        if calls or has_usage(runs):
            self._add_unshown(ns)
        if takes_input(runs):
            self._add_given(walk.reads.ref(checkpoint_id))
        others = [write for write in stored if not (of_task(write) or is_command(write))]
        rest = [_task(None, NO_TASK, self.tally.add_others(path, others))] if others else []
        for inner, called in calls:
            self._add(inner, called, depth + 1)  # before the tasks that called them, which return the same messages
        given = [w.value for w in stored if w.channel == RESUME or is_command(w)]
        tasks = [*self._tasks(walk, checkpoint_id, made, depth, runs, calls, given), *rest]
        for inner, _ in calls:
            self._add_unshown(inner)
        if made is None and not rest and all(run.has_left for run in runs):
            return
        spent = step_times.spent(walk, checkpoint_id, made, runs, resumed)
        seconds = step_times.seconds(checkpoint_id, made)
        if step_times.is_by_hand(walk, checkpoint_id, made):
            self._by_hand.add(checkpoint_id)
        if spent == "running" and any(step.checkpoint_id in self._by_hand for step in self.steps[place:]):
            spent = "between"  # its task was interrupted too: somebody changed the subgraph that it called
        if spent == "running":
            self.tally.add_time(path, runs, seconds)
        recorded = made is None or not step_times.is_unrecorded(walk, made)
        if made is not None and not recorded:
            self._unshown.setdefault(ns, []).append(walk.reads.ref(made))  # a later step may take messages out of it
        if made is not None and walk.is_unrecorded(made):
            self.silent.update((path, node) for node in walk.reads.step_nodes.nodes(made) if node not in (START, "?"))
        if made is not None:
            self.traceless.update((path, node) for node in walk.traceless(made))
        step = walk.reads.attribution.note(made).step if made is not None else None
        started = iso(ids.unix_time(checkpoint_id))
        waits = pending_command(stored) if checkpoint_id not in walk.reads.lineage.children else None
        own = TraceStep(
            path, ns, depth, checkpoint_id, made, step, started, seconds, spent, recorded, _shared(tuple(tasks)), waits
        )
        self.steps.insert(place, own)

    def _tasks(
        self,
        walk: NamespaceWalk,
        checkpoint_id: str,
        made: str | None,
        depth: int,
        runs: Sequence[TaskRun],
        calls: Sequence[tuple[str, list[str]]],
        given: Sequence[object],
    ) -> Iterator[TaskLine]:
        """Add the tasks of a step, whose subgraphs were added."""
        ns, path = walk.reads.ns, graph_of(walk.reads.ns)
        after = None if made is None else walk.reads.ref(made)
        states = StepStates(partial(self._held, walk.reads.ref(checkpoint_id)), partial(self._held, after), given, ns)
        sources, own = StepSources(self._thread_id, ns, runs, calls, self._held), dict[int, Tally]()
        for run in runs:
            self.tally.nodes.setdefault((path, run.node, run.kind), Tally())  # in the order of the writes
        for place, run in sorted(enumerate(runs), key=lambda pair: -len(callers(pair[1].path))):
            own[place] = self.tally.add_run(path, run, depth, states, sources.of(run))
        yield from (
            _task(run.node, run.kind, own[place], run.is_kept, not run.is_task) for place, run in enumerate(runs)
        )

    def _add_unshown(self, ns: str) -> None:
        """Add the messages of states that no stored write may show, before a task may write them again."""
        if ns in self._unshown:
            new_items = self._given.setdefault(ns, NewItems())
            for ref in self._unshown.pop(ns):
                for value in new_items.of(self._held(ref).values):
                    self.tally.tokens.add_given(value)

    def _add_given(self, ref: Ref) -> None:
        """Add the messages of a state, as where no writes are stored: those not added before belong to no node."""
        for value in self._held(ref).values:
            self.tally.tokens.add_given(value)

    def _held(self, ref: Ref | None) -> Held:
        """What may have messages in a state, as far as it can be read and is stored."""
        if ref is None:
            return Held()
        try:
            state = self._reader.state(ref)
        except PayloadCorrupt:
            return Held()
        channels = state.values.items()
        values = [unwrapped(value) for name, value in channels if name == START or not is_control(name, state)]
        return Held(values, not deltas(state), [*state.sends, state.values.get(TASKS)])


def _is_in_line(walk: NamespaceWalk, run: TaskRun, checkpoint_id: str, made: str | None) -> bool:
    """Whether a task that started at a checkpoint belongs to the line that goes on with `made`, not to another branch.

    Tasks that left no checkpoint belong to every line: they ran, and then an input or an update came.
    """
    attribution = walk.reads.attribution
    if run.kind is RunKind.UPDATE:
        return made is not None and attribution.first_with_source(checkpoint_id, _UPDATES) == made
    return _is_step_in_line(walk, checkpoint_id, made)


def _is_step_in_line(walk: NamespaceWalk, checkpoint_id: str, made: str | None) -> bool:
    """Whether the step that began at a checkpoint led to `made`, or to no checkpoint."""
    return walk.reads.attribution.first_with_source(checkpoint_id, _LOOPS) in (None, made)


def _counts_kept(walk: NamespaceWalk, checkpoint_id: str) -> bool:
    """Whether the line counts already, at the checkpoint before, what ``edit --task`` kept at this one.

    Where the edited checkpoint is on another branch, or a run went on from it, the line has only what is kept.
    """
    edited = walk.edited_task_of(checkpoint_id)
    is_before = edited is not None and walk.reads.lineage.parent(checkpoint_id) == edited
    return is_before and walk.reads.attribution.first_with_source(edited or "", _LOOPS) is None


@lru_cache(_SHARED)
def _shared(tasks: tuple[TaskLine, ...]) -> tuple[TaskLine, ...]:
    """The same lines; those of steps that repeat are in memory once."""
    return tasks


def _task(node: str | None, kind: str, own: Tally, is_kept: bool = False, finished: bool = False) -> TaskLine:
    return TaskLine(
        node,
        kind,
        own.writes,
        own.bytes,
        finished or bool(own.finished),
        bool(own.asked),
        bool(own.failed),
        bool(own.again),
        own.input_tokens,
        own.output_tokens,
        is_kept,
    )
