"""``replay --to`` as a view: pages of steps, doubts; reads: `step_walk`, verdict: `history/reducers`."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Any

from ckpt_cli.errors import PayloadCorrupt, UsageError
from ckpt_cli.history.diff.diff import differences
from ckpt_cli.history.lineage import ids
from ckpt_cli.history.reducers.known_reducers import Reducers
from ckpt_cli.history.reducers.names import NamedReducers
from ckpt_cli.history.reducers.step_verdicts import Judgement, in_another_order, judge
from ckpt_cli.history.reducers.verdict import Verdict
from ckpt_cli.history.state.channels import CONTROL_WRITES, ERROR, ERROR_SOURCE, TASKS
from ckpt_cli.history.tasks.snapshot import graph_of
from ckpt_cli.model import CheckpointRow, Ref
from ckpt_cli.plans.other_threads import OtherThreads
from ckpt_cli.plans.same_graph import Shapes
from ckpt_cli.plans.thread_history import ThreadHistory
from ckpt_cli.queries.step_doubts import UNORDERED
from ckpt_cli.queries.step_walk import AT_ONCE, StepWalk
from ckpt_cli.queries.verified_threads import in_lines
from ckpt_cli.queries.walked_step import RecordedWrite, WalkedStep
from ckpt_cli.reading import Reader
from ckpt_cli.session import Session
from ckpt_cli.shell_words import command
from ckpt_cli.values.langgraph_values import js_send, overwrite
from ckpt_cli.views.diff import End
from ckpt_cli.views.replay import PlayedStep, PlayedTask, PlayedView, PlayedWrite

_MOST, _MOST_BYTES = 2_000, 64_000_000
"""If the thread has at most so many checkpoints of the graph, and bytes in them, all count as evidence for reducers."""

_EARLIER = 200
"""Of a longer thread, at most this many steps before the played ones count."""

_CUT = f"a long thread: reducers are learned from the played steps and {_EARLIER} before them; ckpt verify takes all"


def play(session: Session, thread: str, rev: str | None, to: str, ns: str, named: NamedReducers) -> PlayedView:
    """The view of the steps from `rev`, or from the first checkpoint, up to `to`; a step is read when it is shown.

    Raises:
        UsageError: `rev` is no ancestor of `to`.
        PayloadCorrupt: the checkpoint of `rev` can't be read.
    """
    player, view = session.read(lambda reader: _prepare(reader, thread, rev, to, ns, named))
    if player.is_cut:
        session.say(_CUT)
    view.steps = _steps(session, player, view)
    return view


def _prepare(
    reader: Reader, thread: str, rev: str | None, to: str, ns: str, named: NamedReducers
) -> tuple["Player", PlayedView]:
    reader.pin(thread)
    ns = reader.namespace(thread, ns)
    end = reader.resolve(thread, to, ns)
    start = None if rev is None else reader.resolve(thread, rev, ns)
    line = [Ref(thread, ns, i) for i in between(reader, start, end)]
    player = Player(reader, line, start.ref if start else None, named)
    player.learn()
    before = _end(reader, start) if start else End(thread, ns, None, "nothing", None)
    return player, PlayedView(before, _end(reader, end), len(line), player.reducers.words(player.channels), [])


def between(reader: Reader, start: CheckpointRow | None, end: CheckpointRow) -> list[str]:
    """The checkpoints after `start` up to `end`, oldest first; without `start`, all from the first one.

    Raises:
        UsageError: `start` is no ancestor of `end`.
    """
    lineage, short = reader.lineage(end.thread_id, end.ns), reader.short(end.thread_id)
    line = list(lineage.line(end.checkpoint_id))[::-1]
    if start is None:
        return line
    if start.checkpoint_id in line:
        return line[line.index(start.checkpoint_id) + 1 :]
    hint = f"`{command('ckpt diff', end.thread_id, 'A', 'B')}` compares any two"
    if end.checkpoint_id in lineage.line(start.checkpoint_id):
        first, last = short(end.checkpoint_id), short(start.checkpoint_id)
        hint = f"the other way round: `{command('ckpt replay', end.thread_id, first, options=('--to', last))}`"
    raise UsageError(
        f"{short(start.checkpoint_id)} is no ancestor of {short(end.checkpoint_id)}: no steps lead there", hint=hint
    )


def _end(reader: Reader, row: CheckpointRow) -> End:
    [(_, metadata)] = reader.saver.metadata([row.ref])
    value = reader.value(metadata)
    step = value.get("step") if isinstance(value, dict) else None
    step = step if isinstance(step, int) else ids.step(row.checkpoint_id)
    return End(row.thread_id, row.ns, row.checkpoint_id, reader.short(row.thread_id)(row.checkpoint_id), step)


def _steps(session: Session, player: "Player", view: PlayedView) -> Iterator[PlayedStep]:
    """The steps, read page by page; no transaction is open while the user reads them."""
    verdict_counts: Counter[str] = Counter()
    pages = player.pages()
    while page := session.read(lambda _: next(pages, None)):
        for step in page:
            verdict_counts[step.verdict] += 1
            view.verdicts = {str(verdict): verdict_counts[verdict] for verdict in Verdict if verdict_counts[verdict]}
            yield step


class Player:
    """Plays one line of checkpoints, oldest first.

    Attributes:
        reducers: what is known of the reducers of all channels.
        channels: the channels that changed in a step of the line, or were written to.
        is_cut: whether the thread has more steps of this graph than count as evidence.
    """

    def __init__(self, reader: Reader, line: Sequence[Ref], start: Ref | None, named: NamedReducers) -> None:
        self._reader = reader
        self._pages = [line[start_index : start_index + AT_ONCE] for start_index in range(0, len(line), AT_ONCE)]
        self._start = start
        outlasting = bool(line) and reader.saver.form_of(line[0].thread_id).outlasting
        self.reducers = Reducers(named.reducers, named.remembered, outlasting=outlasting)
        self.channels: set[str] = set()
        self.is_cut = False
        self._went_on: dict[Ref, Mapping[str, int]] = {}
        self._no_topics: dict[Ref, set[str]] = {}

    def learn(self) -> None:
        """Learn how each channel combines its writes, from all steps of this graph in the thread, as ``verify`` does.

        If these are too many, only the line's steps and the `_EARLIER` steps before them count. If no reducer explains
        the steps, other threads count too.
        """
        shapes, played = Shapes(), {ref for page in self._pages for ref in page}
        lines = self._whole()
        if lines is None:
            if self._start is not None:
                with suppress(PayloadCorrupt):
                    self._learn_from(*self._earlier(self._start), shapes, played)
            lines = [(self._start, self._pages)]
        for start, pages in lines:
            self._learn_from(start, pages, shapes, played)
        if self._pages and self.reducers.unexplained:
            thread_id, ns, _ = self._pages[0][0]
            own_ids = self._reader.lineage(thread_id, ns).rows.keys()
            others = OtherThreads(self._reader, thread_id, ns, lambda: ThreadHistory(shapes=shapes), own_ids)
            self.reducers.learn_from_others(others.evidence)

    def _whole(self) -> Sequence[tuple[Ref | None, Sequence[Sequence[Ref]]]] | None:
        """All checkpoints of this graph in the thread; None if they are too many, or too large."""
        if not self._pages:
            return None
        thread_id, ns, _ = self._pages[0][0]
        namespaces = [one for one in self._reader.namespaces(thread_id) if graph_of(one) == graph_of(ns)]
        lineages = {one: self._reader.lineage(thread_id, one) for one in namespaces}
        rows = [row for lineage in lineages.values() for row in lineage.rows.values()]
        self.is_cut = len(rows) > _MOST or sum(row.size or 0 for row in rows) > _MOST_BYTES
        if self.is_cut:
            return None
        lines = [[Ref(thread_id, one, i) for i in in_lines(lineage)] for one, lineage in lineages.items()]
        return [(None, [line[at : at + AT_ONCE] for at in range(0, len(line), AT_ONCE)]) for line in lines]

    def _earlier(self, start: Ref) -> tuple[Ref | None, list[list[Ref]]]:
        """The steps that lead to `start`, as far back as they count: where they begin, and their checkpoints."""
        lineage = self._reader.lineage(start.thread_id, start.ns)
        line = [start._replace(checkpoint_id=i) for i in islice(lineage.line(start.checkpoint_id), _EARLIER + 1)][::-1]
        begin = line.pop(0) if len(line) > _EARLIER else None
        return begin, [line[at : at + AT_ONCE] for at in range(0, len(line), AT_ONCE)]

    def _learn_from(
        self, start: Ref | None, pages: Sequence[Sequence[Ref]], shapes: Shapes, played: Collection[Ref]
    ) -> None:
        walk = StepWalk(self._reader, start)
        for page in pages:
            for step in walk.steps(page):
                self.reducers.learn_deltas(walk.line.reducers)
                if step.ref in played:
                    self.channels.update(step.moved, (write.channel for write in step.writes))
                if step.state is not None:
                    shapes.add(step.state)
                if (step.by_run or step.partial) and step.before is not None and step.after is not None:
                    self._learn(step.without_topics(self._find_no_topics(step)))

    def _find_no_topics(self, step: WalkedStep) -> set[str]:
        """Keep what is no Topic as far as the steps show it up to this one, as ``verify`` does."""
        if others := self.reducers.no_topics(step.unproved):
            self._no_topics[step.ref] = others
        return others

    def _learn(self, step: WalkedStep) -> None:
        without, given, moved, is_part = step.showing_nothing, step.by_command, step.moved, step.partial
        fits = self.reducers.learn(step.began, step.made, step.written, without, given, moved, partial=is_part)
        self._note(step.ref, fits)
        self.reducers.learn_stretches({} if is_part else step.ended)

    def _note(self, ref: Ref, fits: Mapping[str, int]) -> None:
        """Keep what explains the channels that went on from another value than is recorded, as ``verify`` does."""
        tallies = self.reducers.tallies
        went_on = {channel: bits for channel, bits in fits.items() if bits and tallies[channel].went_on}
        if went_on:
            self._went_on[ref] = went_on

    def pages(self) -> Iterator[list[PlayedStep]]:
        """The steps, page by page."""
        walk = None
        for page in self._pages:
            walk = walk or StepWalk(self._reader, self._start)
            yield [self._step(step) for step in walk.steps(page)]

    def _step(self, step: WalkedStep) -> PlayedStep:
        judgement, state = self._judge(step), step.state
        is_readable = step.before is not None and step.after is not None
        return PlayedStep(
            step.ref.checkpoint_id,
            self._reader.short(step.ref.thread_id)(step.ref.checkpoint_id),
            state.step if state else ids.step(step.ref.checkpoint_id),
            state.source if state else "",
            self._tasks(step, judgement.channels),
            differences(step.before or {}, step.after or {}) if is_readable else [],
            str(judgement.verdict),
            judgement.why,
            list(judgement.channels),
        )

    def _judge(self, step: WalkedStep) -> Judgement:
        if step.before is None or step.after is None:
            return Judgement(Verdict.UNKNOWN, step.doubt)
        is_input = step.state is not None and step.state.source == "input"
        judgement = self._compare(step, {} if is_input else step.written)
        if judgement.verdict is Verdict.AGREES:
            return judgement
        doubt = step.doubt or self._late_doubt(step)
        return judgement._replace(verdict=Verdict.UNKNOWN, why=doubt) if doubt else judgement

    def _compare(self, step: WalkedStep, written: Mapping[str, list[Any]]) -> Judgement:
        step = step.without_topics(self._no_topics.get(step.ref, ()))
        return judge(
            step.began,
            step.made,
            written,
            self.reducers,
            moved=step.moved,
            rebuilt=step.rebuilt,
            by_command=step.by_command,
            kept=step.kept,
            early=step.came_early,
            ended=step.ended,
            learned=self._went_on.get(step.ref, {}),
            is_counted=step.by_run,
        )

    def _late_doubt(self, step: WalkedStep) -> str:
        """A reason why the writes may not explain the state; "" if there is none. Needed only if they don't."""
        tasks = step.by_task
        if step.task_doubt:
            return step.task_doubt
        for why, written in step.without_sends:
            if self._compare(step, written).verdict in (Verdict.AGREES, Verdict.UNKNOWN):
                return why
        if step.ordered or len(tasks) < 2 or step.before is None or step.after is None:
            return ""
        if in_another_order(step.began, step.made, tasks, self.reducers, step.by_command):
            return UNORDERED
        return ""

    def _tasks(self, step: WalkedStep, unexplained: Sequence[str]) -> list[PlayedTask]:
        """The step's tasks with their writes; `unexplained` are the channels that no reducer explains in this step."""
        source = step.state.source if step.state else ""
        made_by = source if source in ("input", "update") else "task"
        tasks: dict[str, PlayedTask] = {}
        for write in step.writes:
            by = "input" if write.by_command else made_by
            task = tasks.setdefault(write.task, PlayedTask(None if by == "input" else write.node, by, [], []))
            if write.channel == TASKS:
                task.sends.extend(_called_nodes(write))
            elif step.is_user_write(write):
                is_reduced = (
                    (write.by_command or by != "input")
                    and write.channel not in unexplained
                    and overwrite(write.value) is None
                )
                reducer = self.reducers.name_of(write.channel) if is_reduced else None
                task.writes.append(PlayedWrite(write.channel, write.value, reducer))
        errors = {write.task: write.value for write in step.writes if write.channel == ERROR}
        finished = {write.task for write in step.writes if write.channel not in CONTROL_WRITES}
        ended = finished | {write.task for write in step.writes if write.channel == ERROR_SOURCE}
        played = [
            replace(task, stored=key in ended, error=errors.get(key), finished=key in finished)
            for key, task in tasks.items()
        ]
        return [task for task in played if task.by == "task" or task.writes or task.sends]


def _called_nodes(write: RecordedWrite) -> list[str]:
    packets = write.value if isinstance(write.value, list) else [write.value]
    return [packet.node for packet in map(js_send, packets) if packet is not None]
