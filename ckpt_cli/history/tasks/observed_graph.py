"""`ObservedGraph`: nodes and edges of an agent's graph, as its tasks' stored writes show them."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ckpt_cli.history.state.channels import END, NOT_NODES, START, target_in, without_bumps
from ckpt_cli.history.tasks.javascript_errors import abort_of
from ckpt_cli.history.tasks.next_tasks import Wiring
from ckpt_cli.history.tasks.observed_edges import Edge, EdgeKind, Proof, ways_of
from ckpt_cli.history.tasks.task_runs import RunKind, TaskRun
from ckpt_cli.values.state import State


@dataclass(slots=True)
class NodeCounts:
    """How often a node did what.

    Attributes:
        runs: tasks that finished; `sent` of them were started by a Send.
        asked: tasks that asked, whether or not they went on, and however many questions they asked.
        failed: tasks with a recorded failure, whether or not they went on.
        calls: calls of ``@task`` functions (functional API).
        unrecorded: steps in which the node ran and left no writes.
        left: tasks without a trace in a subgraph whose call has finished (`Status.LEFT`).
        seen: namespaces whose ``versions_seen`` shows that it ran.
    """

    runs: int = 0
    sent: int = 0
    asked: int = 0
    failed: int = 0
    calls: int = 0
    unrecorded: int = 0
    left: int = 0
    seen: int = 0

    def add(self, other: "NodeCounts") -> None:
        """Add the counts of the same node elsewhere."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(slots=True)
class ObservedGraph:
    """One graph: the root graph, or a subgraph in all of its calls.

    Attributes:
        namespaces: how many namespaces were read.
        steps: checkpoints that runs made; `unrecorded` of them left no writes, so nothing shows their edges.
        entrypoint: whether it is an entrypoint of the functional API, which has no edges.
        calls: whether tasks called others; nodes of a StateGraph may do that too.
        state_graph: whether channels name the nodes that they trigger, as only a StateGraph has it.
        unnamed: tasks whose node isn't known.
        unplaced: runs whose edge is named after its source, and nothing shows who listens (formats before 3).
        edited: updates without stored writes.
        partly: nodes to the steps in which they ran and not all of their results are stored.
        traceless: nodes to the steps in which they ran beside others and left no writes.
    """

    nodes: dict[str, NodeCounts] = field(default_factory=dict)
    edges: Counter[Edge] = field(default_factory=Counter)
    checkpoints: int = 0
    namespaces: int = 0
    steps: int = 0
    unrecorded: int = 0
    entrypoint: bool = False
    calls: bool = False
    state_graph: bool = False
    unnamed: int = 0
    unplaced: int = 0
    edited: int = 0
    partly: Counter[str] = field(default_factory=Counter)
    traceless: Counter[str] = field(default_factory=Counter)

    def node(self, name: str) -> NodeCounts:
        """The counts of a node, which is known from now on."""
        return self.nodes.setdefault(name, NodeCounts())

    def add_state(self, state: State) -> None:
        """Add the nodes that a checkpoint names, and what kind of graph wrote it."""
        triggered = [name for channel in state.versions if (name := target_in(channel, state.v)) is not None]
        self.state_graph = self.state_graph or bool(triggered)
        for name, seen in without_bumps(state.seen).items():
            if seen and name not in NOT_NODES and not name.endswith(":edges"):
                self.node(name).seen = 1

    def add_run(self, run: TaskRun, wiring: Wiring | None, *, old: bool, is_tip: bool) -> list[Edge]:
        """Add what one task left; gives the edges that it took, that to the end too, which isn't added yet.

        A task that ``edit --task`` kept counts where it ran; here its edges are given alone.

        Args:
            run: what the task left.
            wiring: who listens to the channels of old edges.
            old: whether edges may have the channel names of checkpoint formats before 3.
            is_tip: whether no checkpoint followed. Then a task with a result and an error may be one whose conditional
                edge raised, which took no way. Neither does an aborted one show its ways.
        """
        if run.is_kept:
            return list(ways_of(run, wiring, old=old)) if run.finished else []
        if run.kind is RunKind.CALL:
            self.calls = True
            if run.node is not None:
                self.node(run.node).calls += 1
            return []
        if run.kind in (RunKind.TASK, RunKind.HANDLER):
            self._count(run)
        if not run.finished:
            return []
        ways = list(ways_of(run, wiring, old=old))
        self.edges.update(ways)
        for way in ways:
            if way.target is not None and way.target != END:
                self.node(way.target)
        self.state_graph = self.state_graph or bool(ways)
        if ways or run.kind is not RunKind.TASK or run.node is None:
            return ways
        if (is_tip and run.has_failed) or abort_of(run.writes):
            return []
        if old and any(write.channel == run.node for write in run.writes):
            self.unplaced += 1
            return []
        return [Edge(run.node, END, proof=Proof.INFERRED)]

    def add_unled(self, ends: Iterable[Edge], name: str, partly: Sequence[str] = ()) -> None:
        """Add that a node ran after tasks that seem to end: as nothing else led there, one of them did.

        Or a node of the same step did, of which not all results are stored.
        """
        known = tuple(sorted({edge.source for edge in ends if edge.source is not None} | {*partly}))
        only = known[0] if len(known) == 1 else None
        self.edges[Edge(only, name, proof=Proof.CANDIDATES, candidates=known)] += 1

    def _count(self, run: TaskRun) -> None:
        if any(write.channel in (END, "__previous__") for write in run.writes) and not self.state_graph:
            self.entrypoint = True
        if run.node is None:
            self.unnamed += 1
            return
        counts = self.node(run.node)
        counts.runs += run.finished
        counts.sent += run.finished and run.by_send
        counts.asked += run.asked
        counts.failed += run.has_failed

    def add_failure_handled(self, failed: str, handler: str) -> None:
        """Add that an error handler ran for a failed node."""
        self.edges[Edge(failed, handler, EdgeKind.ERROR)] += 1

    def add_traceless(self, nodes: Sequence[str]) -> None:
        """Count nodes that ran in a step beside others and left no writes."""
        self.traceless.update(nodes)
        for name in nodes:
            self.node(name).unrecorded += 1

    def add_unrecorded(self, nodes: Iterable[str], before: Sequence[str], led: Collection[str]) -> None:
        """Add a step without writes.

        Args:
            nodes: those that ran in it.
            before: those that made the checkpoint before.
            led: those to which stored writes led, so that their edges are counted.
        """
        self.unrecorded += 1
        for name in nodes:
            if name == "?":
                continue
            self.node(name).unrecorded += 1
            known = tuple(sorted(one for one in before if one != "?"))
            if known and name != START and name not in led:
                only = known[0] if len(known) == 1 else None
                self.edges[Edge(only, name, proof=Proof.CANDIDATES, candidates=known)] += 1

    def add_edited(self, nodes: Iterable[str | None]) -> None:
        """Add an update without writes: the nodes of the tasks that started from it may be those that it led to."""
        self.edited += 1
        for name in nodes:
            if name is not None and name != START:
                self.edges[Edge(None, name, by=RunKind.UPDATE, proof=Proof.CANDIDATES)] += 1

    def finish(self) -> None:
        """Drop the ends that can't be inferred: only a StateGraph leaves a write for each edge to a node."""
        self.entrypoint = self.entrypoint or (self.calls and not self.state_graph)
        if self.entrypoint or not self.state_graph:
            self.edges = Counter({edge: n for edge, n in self.edges.items() if edge.proof is not Proof.INFERRED})

    def in_order(self) -> list[str]:
        """The nodes in the order in which runs come to them: each after one that leads to it, where one does."""
        leads: dict[str, list[str]] = {}
        for edge in self.edges:
            for source in edge.candidates or ([edge.source] if edge.source is not None else []):
                leads.setdefault(source, []).append(edge.target or "")
        targets = {target for some in leads.values() for target in some}
        seen, order = set[str](), list[str]()
        for start in [START, *sorted(self.nodes.keys() - targets), *sorted(self.nodes)]:
            order += _visit(start, leads, seen)
        return [name for name in order if name in self.nodes]

    def merge(self, other: "ObservedGraph") -> None:
        """Add the same graph in another namespace or thread."""
        for name, counts in other.nodes.items():
            self.node(name).add(counts)
        self.edges.update(other.edges)
        self.checkpoints += other.checkpoints
        self.namespaces += other.namespaces
        self.steps += other.steps
        self.unrecorded += other.unrecorded
        self.unnamed += other.unnamed
        self.unplaced += other.unplaced
        self.edited += other.edited
        self.partly.update(other.partly)
        self.traceless.update(other.traceless)
        self.entrypoint, self.calls = self.entrypoint or other.entrypoint, self.calls or other.calls
        self.state_graph = self.state_graph or other.state_graph


def _visit(start: str, leads: Mapping[str, list[str]], seen: set[str]) -> list[str]:
    """A node and what it leads to, each before all that it leads to, but for loops; without nodes in `seen`."""
    after: list[str] = []
    waiting = [(start, False)]
    while waiting:
        name, is_done = waiting.pop()
        if is_done:
            after.append(name)
        elif name not in seen:
            seen.add(name)
            waiting.append((name, True))
            waiting += [(to, False) for to in sorted(leads.get(name, ()))]
    return after[::-1]
