"""The graphs of some threads as observed (``graph``): read thread by thread, and added up by graph."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from ckpt_cli.history.state.channels import END
from ckpt_cli.history.tasks.observed_edges import Edge, is_old
from ckpt_cli.history.tasks.observed_graph import NodeCounts, ObservedGraph
from ckpt_cli.history.tasks.run_ends import RunEnds
from ckpt_cli.history.tasks.snapshot import graph_of
from ckpt_cli.history.tasks.task_runs import RunKind, TaskRun
from ckpt_cli.model import Thread
from ckpt_cli.queries.namespace_walk import NO_WRITES, TRACELESS, NamespaceWalk
from ckpt_cli.reading import Reader
from ckpt_cli.session import Session
from ckpt_cli.views.graph import EdgeView, GraphPartView, NodeView

Graphs = dict[str, ObservedGraph]
"""The path of a graph (``""`` for the root graph, ``orders`` for the subgraph of that node) to the graph."""


def observed_graphs(session: Session, threads: Iterable[Thread]) -> tuple[Graphs, int]:
    """The graphs, and the number of threads that were read. Each thread is read in one moment."""
    graphs, count = Graphs(), 0
    for thread in threads:
        of_thread = session.read(partial(_of_thread, thread_id=thread.thread_id))
        for path, graph in of_thread.items():
            graphs.setdefault(path, ObservedGraph()).merge(graph)
        count += bool(of_thread)
        session.progress(f"graph: {count:,} threads")
    session.progress("")
    return graphs, count


def _of_thread(reader: Reader, thread_id: str) -> Graphs:
    """The graphs of one thread; {} if it was deleted meanwhile."""
    graphs = Graphs()
    for ns in reader.namespaces(thread_id):
        graph = _of_namespace(reader, thread_id, ns)
        graphs.setdefault(graph_of(ns), ObservedGraph()).merge(graph)
    return graphs


def _of_namespace(reader: Reader, thread_id: str, ns: str) -> ObservedGraph:
    graph, walk = ObservedGraph(namespaces=1), NamespaceWalk(reader, thread_id, ns)
    wiring, old = walk.wiring(), is_old(walk.states)
    for state in walk.states:
        graph.add_state(state)
    ends = RunEnds(graph)
    for page in walk.pages():
        for checkpoint_id in page:
            runs = walk.runs(checkpoint_id)
            _add_step(graph, walk, checkpoint_id, runs, ends)
            for name in walk.left(checkpoint_id):
                graph.node(name).left += 1
            ways, is_tip = list[Edge](), checkpoint_id not in walk.reads.lineage.children
            for run in runs:
                ways += graph.add_run(run, wiring, old=old, is_tip=is_tip)
                if run.kind is RunKind.HANDLER and run.failed is not None and run.node is not None:
                    failed = walk.reads.step_nodes.node(run.failed)
                    if failed is not None:
                        graph.add_failure_handled(failed, run.node)
            child = None if old else walk.made_by(checkpoint_id)
            partly = walk.reads.step_nodes.unstored_results.of(child, ()) if child is not None else ()
            ends.add(checkpoint_id, runs, ways, child, partly)
    ends.finish()
    graph.finish()
    return graph


def _add_step(
    graph: ObservedGraph, walk: NamespaceWalk, checkpoint_id: str, runs: Sequence[TaskRun], ends: RunEnds
) -> None:
    """Count a checkpoint and the step that made it; `runs` are the tasks that started from it."""
    graph.checkpoints += 1
    attribution, nodes = walk.reads.attribution, walk.reads.step_nodes
    source = attribution.note(checkpoint_id).source
    if source in ("loop", ""):
        graph.steps += 1
    if source == "update" and attribution.unordered(checkpoint_id) is None and not walk.edited_task_of(checkpoint_id):
        graph.add_edited(dict.fromkeys(run.node for run in runs if run.kind is RunKind.TASK))
    if walk.is_unrecorded(checkpoint_id):
        before, ran = attribution.start_of(checkpoint_id), list(nodes.nodes(checkpoint_id))
        led = ends.take_due(checkpoint_id, ran)
        graph.add_unrecorded(ran, list(nodes.nodes(before)) if before else [], led)
    elif source in ("loop", ""):
        graph.partly.update(nodes.unstored_results.of(checkpoint_id, ()))
        graph.add_traceless(walk.traceless(checkpoint_id))


def graph_parts(graphs: Graphs) -> list[GraphPartView]:
    """The graphs as views, the root graph first."""
    return [_part(path, graph, graphs) for path, graph in sorted(graphs.items())]


def _part(path: str, graph: ObservedGraph, graphs: Graphs) -> GraphPartView:
    inside = {name: f"{path}|{name}" if path else name for name in graph.nodes}
    names = graph.in_order()
    nodes = [_node(name, graph.nodes[name], inside[name] if inside[name] in graphs else None) for name in names]
    order = {name: place for place, name in enumerate([*names, END])}
    edges = [
        EdgeView(one.source, one.target, one.kind, one.by, one.proof, count, one.candidates)
        for one, count in graph.edges.items()
    ]
    last = len(order)
    edges.sort(
        key=lambda one: (order.get(one.source or "", last), order.get(one.target or "", last), one.kind, one.proof)
    )
    return GraphPartView(
        path, graph.namespaces, graph.checkpoints, graph.steps, graph.unrecorded, nodes, edges, list(_notes(graph))
    )


def _node(name: str, counts: NodeCounts, subgraph: str | None) -> NodeView:
    numbers = (counts.runs, counts.sent, counts.asked, counts.failed, counts.calls, counts.unrecorded)
    ran = bool(sum(numbers) or counts.seen or subgraph is not None)
    return NodeView(name, *numbers, ran=ran, subgraph=subgraph, left=counts.left)


def _each(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count:,}×" for name, count in sorted(counts.items()))


def _notes(graph: ObservedGraph) -> Iterator[str]:
    """What the graph's records don't show."""
    if graph.entrypoint:
        yield "the functional API records no edges, and not the names of @task functions"
    elif graph.calls:
        yield "the names of @task functions aren't recorded"
    elif not graph.edges and graph.checkpoints:
        yield "these runs record no edges"
    elif not graph.state_graph and graph.steps:
        yield "no channel names a node, so this is no StateGraph, and only some edges are known"
    if graph.unrecorded:
        steps = f"{graph.unrecorded:,} of {graph.steps:,} step{'' if graph.steps == 1 else 's'}"
        yield f"{steps} left no writes, or not all, as with {NO_WRITES} or a second run"
    if graph.partly:
        of = _each(graph.partly)
        why = 'as with durability="exit", a process that was killed, or nodes that wrote only an UntrackedValue'
        yield f"not all results are stored of {of}, {why}: these runs and their edges are missing"
    if graph.traceless:
        yield f"{_each(graph.traceless)} {TRACELESS}"
    if graph.unplaced:
        yield f"{_count(graph.unplaced, 'run')} of an old release left no name of a next node"
    if graph.edited:
        whose = "its" if graph.edited == 1 else "their"
        yield f"{_count(graph.edited, 'update')} left no writes, so {whose} edges are not proved"
    if graph.unnamed:
        yield f"the node of {_count(graph.unnamed, 'task')} isn't known"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
