"""``ckpt replay --to``: the recorded steps of a line, played forward and held against what was recorded."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ckpt_cli.errors import UsageError
from ckpt_cli.history.diff.diff import differences
from ckpt_cli.history.lineage import ids
from ckpt_cli.history.reducers.reducers import Reducer
from ckpt_cli.history.reducers.replayed_steps import Judged, Reducers, Verdict, in_another_order, judged
from ckpt_cli.history.state.channels import TASKS
from ckpt_cli.model import CheckpointRow, Ref
from ckpt_cli.plans.thread_history import count_sends
from ckpt_cli.queries.step_walk import AT_ONCE, Given, Pace, Walk
from ckpt_cli.reading import Reader
from ckpt_cli.session import Session
from ckpt_cli.shell_words import command
from ckpt_cli.values.known import js_send
from ckpt_cli.views.diff import End
from ckpt_cli.views.replay import PlayedStep, PlayedTask, PlayedView, PlayedWrite


def play(session: Session, thread: str, rev: str | None, to: str, ns: str, said: Mapping[str, Reducer]) -> PlayedView:
    """The steps from one checkpoint, or from the first, down to another; they are read as they are taken.

    Raises:
        UsageError: the one is no ancestor of the other.
        PayloadCorrupt: where it starts can't be read.
    """
    player, view = session.read(lambda reader: _begun(reader, thread, rev, to, ns, said))
    view.steps = _steps(session, player, view)
    return view


def _begun(
    reader: Reader, thread: str, rev: str | None, to: str, ns: str, said: Mapping[str, Reducer]
) -> tuple["Player", PlayedView]:
    ns = reader.namespace(thread, ns)
    end = reader.resolve(thread, to, ns)
    start = None if rev is None else reader.resolve(thread, rev, ns)
    line = [Ref(thread, ns, i) for i in between(reader, start, end)]
    player = Player(reader, line, start.ref if start else None, said)
    player.learn()
    before = _end(reader, start) if start else End(thread, ns, None, "nothing", None)
    return player, PlayedView(before, _end(reader, end), len(line), player.reducers.words(), [])


def between(reader: Reader, start: CheckpointRow | None, end: CheckpointRow) -> list[str]:
    """The checkpoints after one down to another, oldest first; from the first on where there is no start.

    Raises:
        UsageError: the start isn't on the other's line.
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
    told = reader.value(metadata)
    step = told.get("step") if isinstance(told, dict) else None
    step = step if isinstance(step, int) else ids.step(row.checkpoint_id)
    return End(row.thread_id, row.ns, row.checkpoint_id, reader.short(row.thread_id)(row.checkpoint_id), step)


def _steps(session: Session, player: "Player", view: PlayedView) -> Iterator[PlayedStep]:
    """Some at a time, each in a moment of the database; none is open while somebody reads."""
    counted: Counter[str] = Counter()
    pages = player.pages()
    while page := session.read(lambda _: next(pages, None)):
        for step in page:
            counted[step.verdict] += 1
            view.verdicts = {str(verdict): counted[verdict] for verdict in Verdict if counted[verdict]}
            yield step


class Player:
    """Plays one line of checkpoints, oldest first."""

    def __init__(self, reader: Reader, line: Sequence[Ref], start: Ref | None, said: Mapping[str, Reducer]) -> None:
        self._reader = reader
        self._pages = [line[at : at + AT_ONCE] for at in range(0, len(line), AT_ONCE)]
        self._start = start
        self.reducers = Reducers(said)

    def learn(self) -> None:
        """Learn from all steps what the channels do with writes."""
        walk = Walk(self._reader, self._start)
        for page in self._pages:
            for pace in walk.on(page):
                self.reducers.learn_deltas(walk.line.reducers)
                if pace.grown and pace.before is not None and pace.after is not None:
                    self.reducers.learn(pace.before, pace.after, pace.written)

    def pages(self) -> Iterator[list[PlayedStep]]:
        """The steps, some at a time."""
        walk = None
        for page in self._pages:
            walk = walk or Walk(self._reader, self._start)
            yield [self._step(pace) for pace in walk.on(page)]

    def _step(self, pace: Pace) -> PlayedStep:
        found, state = self._judged(pace), pace.state
        known = pace.before is not None and pace.after is not None
        return PlayedStep(
            pace.ref.checkpoint_id,
            self._reader.short(pace.ref.thread_id)(pace.ref.checkpoint_id),
            state.step if state else ids.step(pace.ref.checkpoint_id),
            state.source if state else "",
            self._tasks(pace),
            differences(pace.before or {}, pace.after or {}) if known else [],
            str(found.verdict),
            found.why,
            list(found.channels),
        )

    def _judged(self, pace: Pace) -> Judged:
        if pace.before is None or pace.after is None:
            return Judged(Verdict.UNKNOWN, pace.doubt)
        is_input = pace.state is not None and pace.state.source == "input"
        found = judged(pace.before, pace.after, {} if is_input else pace.written, self.reducers)
        if found.verdict is Verdict.AGREES:
            return found
        doubt = pace.doubt or (self._late_doubt(pace) if found.verdict is Verdict.DIFFERS else "")
        return found._replace(verdict=Verdict.UNKNOWN, why=doubt) if doubt else found

    def _late_doubt(self, pace: Pace) -> str:
        """What is looked for only where a state isn't what the writes make."""
        tasks, parent_id = pace.by_task, pace.state.parent_id if pace.state else None
        sent = count_sends(self._reader.state(pace.ref._replace(checkpoint_id=parent_id))) if parent_id and tasks else 0
        if len(tasks) < sent:
            return f"of {sent} tasks that were sent, {sent - len(tasks)} left no writes"
        if pace.ordered or len(tasks) < 2 or pace.before is None or pace.after is None:
            return ""
        if in_another_order(pace.before, pace.after, tasks, self.reducers):
            return "the order in which the tasks' writes were applied isn't recorded"
        return ""

    def _tasks(self, pace: Pace) -> list[PlayedTask]:
        source = pace.state.source if pace.state else ""
        by = source if source in ("input", "update") else "task"
        found: dict[str, PlayedTask] = {}
        for one in pace.given:
            task = found.setdefault(one.task, PlayedTask(None if by == "input" else one.node, by, [], []))
            if one.channel == TASKS:
                task.sends.extend(_called(one))
            elif pace.counts(one):
                reducer = None if by == "input" else next(iter(self.reducers.of(one.channel)), None)
                task.writes.append(PlayedWrite(one.channel, one.value, reducer.name if reducer else None))
        return [task for task in found.values() if by == "task" or task.writes or task.sends]


def _called(one: Given) -> list[str]:
    some = one.value if isinstance(one.value, list) else [one.value]
    return [packet.node for packet in map(js_send, some) if packet is not None]
