"""``verify``: reads each thread once, page by page, and says what its steps and its structure show."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import islice

from ckpt_cli.errors import CheckpointNotFound
from ckpt_cli.history.integrity.faults import EXPLAINING, Fault, Kind, explaining
from ckpt_cli.history.integrity.inputs import check_input
from ckpt_cli.history.integrity.parents import MadeVersions
from ckpt_cli.history.integrity.step_writes import MadeStep, check_writes
from ckpt_cli.history.integrity.stored_values import SharedVersions, check_values
from ckpt_cli.history.integrity.tree import ALONE, check_caller, check_place
from ckpt_cli.history.integrity.versions import check_alone, check_beside
from ckpt_cli.history.lineage import ids
from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.reducers.names import NamedReducers
from ckpt_cli.history.reducers.step_verdicts import worst
from ckpt_cli.history.reducers.verdict import Verdict
from ckpt_cli.history.tasks.snapshot import graph_of
from ckpt_cli.model import Ref
from ckpt_cli.plans.other_threads import OtherThreads
from ckpt_cli.plans.same_graph import Shapes
from ckpt_cli.plans.thread_history import ThreadHistory
from ckpt_cli.queries.step_walk import AT_ONCE, StepWalk
from ckpt_cli.queries.verified_steps import Place, Places, VerifiedSteps
from ckpt_cli.queries.walked_step import WalkedStep
from ckpt_cli.reading import Reader
from ckpt_cli.savers.about import Ability
from ckpt_cli.session import Session
from ckpt_cli.views.verify import CheckedChannel, Finding, FoundAt, VerifiedThread, VerifyView

_LONG = 500  # steps of a thread after which progress is shown
_WORST_FIRST = (Verdict.DIFFERS, Verdict.SUSPECT, Verdict.UNKNOWN, Verdict.AGREES)


def verify(session: Session, thread_ids: Iterable[str], named: NamedReducers, view: VerifyView) -> None:
    """Let the view verify these threads when its rows are read."""
    view.threads = _threads(session, thread_ids, named, view)


def _threads(
    session: Session, thread_ids: Iterable[str], named: NamedReducers, view: VerifyView
) -> Iterator[VerifiedThread]:
    idle = {*named.reducers}.difference(named.remembered)
    for thread_id in thread_ids:
        checked = _thread(session, thread_id, named, view)
        if checked is None:
            continue
        idle.difference_update(one.channel for one in checked.channels)
        view.count += 1
        view.steps += checked.steps
        total = Counter(view.verdicts) + Counter(checked.verdicts)
        view.verdicts = {str(verdict): total[verdict] for verdict in reversed(_WORST_FIRST) if total[verdict]}
        for one in checked.findings:
            view.faults[one.verdict] = view.faults.get(one.verdict, 0) + one.count
            view.unreadable += one.count if one.kind == Kind.UNREADABLE else 0
        yield checked
    session.progress("")
    if idle and view.count:
        where = "this thread" if view.of_one else "these threads"
        channels = ", ".join(sorted(idle))
        session.say(f"no step of {where} that was compared writes to {channels}: what --reducer says of it isn't used")


def _thread(session: Session, thread_id: str, named: NamedReducers, view: VerifyView) -> VerifiedThread | None:
    """One thread; None if it was deleted meanwhile. No transaction is open between two pages."""
    check = session.read(lambda reader: ThreadCheck(reader, thread_id, named))
    pages = check.pages()
    while session.read(lambda _: next(pages, None)) is not None:
        if view.steps + check.steps >= _LONG:
            session.progress(f"verify: {view.count:,} threads and {view.steps + check.steps:,} steps")
    if view.of_one:
        session.read(lambda _: check.learn_from_others())
    return session.read(lambda _: check.result())


class ThreadCheck:
    """Verifies one thread, all its namespaces; what is kept doesn't grow with its history, but for its ids.

    Attributes:
        steps: the number of steps that were read.
    """

    def __init__(self, reader: Reader, thread_id: str, named: NamedReducers) -> None:
        reader.pin(thread_id)
        self.steps = 0
        self._reader = reader
        self._thread_id = thread_id
        self._named = named
        self._lineages = {ns: reader.lineage(thread_id, ns) for ns in reader.namespaces(thread_id)}
        self._graphs: dict[str, VerifiedSteps] = {}
        self._shapes: dict[str, Shapes] = {}
        self._branches = Ability.BRANCHES in reader.saver.abilities

    def pages(self) -> Iterator[int]:
        """Read all steps; after each page gives the number of steps that were read so far."""
        for ns, lineage in self._lineages.items():
            walk = StepWalk(self._reader, None)
            shared = SharedVersions(lineage, apart=self._reader.saver.form.apart)
            made = MadeVersions(lineage if self._branches else Lineage([]))
            outlasting = self._reader.saver.form_of(self._thread_id).outlasting
            graph = self._graphs.setdefault(graph_of(ns), VerifiedSteps(self._named, outlasting=outlasting))
            shapes = self._shapes.setdefault(graph_of(ns), Shapes())
            line = (Ref(self._thread_id, ns, checkpoint_id) for checkpoint_id in in_lines(lineage))
            while page := list(islice(line, AT_ONCE)):
                self._read(page, walk, shared, made, graph, shapes)
                yield self.steps
            self._check_writes(ns, graph)

    def _read(
        self,
        page: list[Ref],
        walk: StepWalk,
        versions: SharedVersions,
        made: MadeVersions,
        graph: VerifiedSteps,
        shapes: Shapes,
    ) -> None:
        try:
            for step in walk.steps(page):
                graph.reducers.learn_deltas(walk.line.reducers)
                if step.state is not None:
                    shapes.add(step.state)
                faults = [*self._faults(step, made)]
                shared: Collection[str] = ()
                if step.state is not None and not explaining(faults):
                    shared = versions.add(step.parent, step.state)
                graph.add(step, faults, shared)
                self.steps += 1
        except CheckpointNotFound:  # the rest of the thread was deleted since its tree was read
            return

    def _faults(self, step: WalkedStep, made: MadeVersions) -> Iterator[Fault]:
        state, parent = step.state, step.parent
        if state is None:
            yield Fault(Kind.UNREADABLE, Verdict.UNKNOWN, "", f"can't be read: {step.doubt}")
            return
        alone = [*check_alone(parent, state)]
        yield from alone
        if not self._branches:
            return
        if not explaining(alone):
            yield from made.add(parent, state)
        yield from check_place(state, self._lineages[state.ref.ns])
        yield from check_caller(state, self._lineages)
        yield from check_values(parent, state)
        yield from check_input(state, step.credited)
        if parent is None:
            return
        yield from check_beside(parent, state)
        if step.by_run and not step.doubt and step.credited is not None:
            yield from check_writes(MadeStep(parent, state, step.credited, step.stored))

    def _check_writes(self, ns: str, graph: VerifiedSteps) -> None:
        """Find writes on checkpoints that aren't stored."""
        if not self._branches:
            return
        known, alone = self._lineages[ns].rows, dict[str, None]()
        for write in self._reader.saver.writes(self._thread_id, ns, values=0):
            if write.checkpoint_id not in known:
                alone[write.checkpoint_id] = None
        for checkpoint_id in alone:
            graph.add_fault(ALONE, Place(Ref(self._thread_id, ns, checkpoint_id), ids.step(checkpoint_id)))

    def learn_from_others(self) -> None:
        """Let other threads of the same graph count where this one's steps speak against every reducer, once."""
        for name, graph in self._graphs.items():
            if name in self._lineages and graph.reducers.unexplained:
                history = ThreadHistory(shapes=self._shapes[name])
                own_ids = self._lineages[name].rows.keys()
                others = OtherThreads(self._reader, self._thread_id, name, lambda one=history: one, own_ids)  # type: ignore[misc]
                graph.reducers.learn_from_others(others.evidence)

    def result(self) -> VerifiedThread | None:
        """What was found, after all pages were read; None if the thread was deleted before its first step was read."""
        if not self.steps:
            return None
        root = self._graphs.get("")
        for name, graph in self._graphs.items():
            graph.of_outer = root.reducers.channels if root is not None and name else ()
        findings = [self._finding(f, places) for graph in self._graphs.values() for f, places in graph.findings()]
        order = {str(verdict): place for place, verdict in enumerate(_WORST_FIRST)}
        findings.sort(key=lambda one: (order[one.verdict], one.kind not in EXPLAINING, one.count, *_at(one)))
        verdicts = sum((graph.verdicts() for graph in self._graphs.values()), Counter[Verdict]())
        counts = {str(verdict): verdicts[verdict] for verdict in reversed(_WORST_FIRST) if verdicts[verdict]}
        found = {Verdict(one.verdict) for one in findings} | verdicts.keys()
        return VerifiedThread(self._thread_id, self.steps, str(worst(found)), counts, list(self._channels()), findings)

    def _finding(self, fault: Fault, places: Places) -> Finding:
        short = self._reader.short(self._thread_id)
        shown = [FoundAt(ref.ns, ref.checkpoint_id, short(ref.checkpoint_id), step) for ref, step in places.first]
        return Finding(str(fault.kind), str(fault.verdict), fault.channel, fault.why, places.count, shown)

    def _channels(self) -> Iterator[CheckedChannel]:
        for name, graph in self._graphs.items():
            for channel, counts in graph.channels().items():
                by_verdict = [counts[verdict] for verdict in reversed(_WORST_FIRST)]
                reducer, evidence = graph.reducers.name_of(channel), graph.evidence(channel)
                yield CheckedChannel(name, channel, reducer, evidence, *by_verdict)


def _at(one: Finding) -> tuple[str, str]:
    return one.checkpoints[0].checkpoint_id, one.channel


def in_lines(lineage: Lineage) -> Iterator[str]:
    """Every checkpoint of a namespace once: line after line, each from where it leaves an older one."""
    for branch in lineage.branches:
        yield from lineage.descent(branch.first)
