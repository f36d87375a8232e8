"""Draws an observed graph: each node on a line, the ways from it below, arcs to nodes further up or down."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ckpt_cli.history.state.channels import END, START
from ckpt_cli.output.cells import fit, flow, line_len
from ckpt_cli.output.line import Line, Page, Span, row
from ckpt_cli.output.text.arcs import arcs
from ckpt_cli.output.text.edges import COMMAND, UNKNOWN, UPDATE, label, source_of, target_of
from ckpt_cli.output.theme import (
    ACROSS,
    ARROW,
    BETWEEN,
    CHECKPOINT,
    DUE,
    INSIDE,
    LANE,
    LAST_WAY,
    LEADS_TO,
    PROVED,
    TIMES,
    UNPROVED,
    UNPROVED_DOWN,
    WAY,
    WAY_DOWN,
)
from ckpt_cli.views.graph import EdgeView, GraphPartView, GraphView, NodeView

_GAP = 2  # cells between the text and the arcs


def render(view: GraphView, page: Page) -> Iterator[Line]:
    """The drawing of each graph, with what isn't recorded; or rows for a pipe; or source text."""
    if view.form != "text":
        from ckpt_cli.output.text import graph_source

        yield from graph_source.source(view)
        return
    if page.width is None:
        yield from (line for part in view.graphs for line in _piped(part))
        return
    yield fit(_heading(view), page.width)
    for part in view.graphs:
        yield []
        if part.path:
            yield fit(_title(part), page.width)
        yield from _Drawing(part, page.width).lines()
        for note in part.notes:
            yield from ([("muted", text)] for text in flow(note, page.width))


def _heading(view: GraphView) -> Line:
    name = view.thread_id if view.thread_id is not None else count(view.threads, "thread")
    root = view.graphs[0] if view.graphs else None
    facts = []
    if root is not None:
        nodes = [one for one in root.nodes if one.name not in (START, END)]
        facts = [count(len(nodes), "node"), count(len(root.edges), "edge"), count(root.steps, "step")]
        facts += [count(len(view.graphs) - 1, "subgraph")] if len(view.graphs) > 1 else []
    return [("title", name), ("muted", "   " + f" {BETWEEN} ".join(facts))]


def _title(part: GraphPartView) -> Line:
    path = f" {INSIDE} ".join(part.path.split("|"))
    return [("node", path), ("muted", f"   subgraph {BETWEEN} {count(part.namespaces, 'namespace')}")]


class _Row(NamedTuple):
    """A line of the drawing: that of the node `name`, or of a way to the node `to`, if it is drawn as an arc."""

    line: Line
    name: str | None = None
    to: str | None = None


class _Drawing:
    """One graph; its rows are made first, so that the arcs know where each node is."""

    def __init__(self, part: GraphPartView, width: int) -> None:
        self._width = width
        self._rows: list[_Row] = []
        for name in (UPDATE, COMMAND, UNKNOWN):
            if edges := [
                edge for edge in part.edges if not edge.candidates and edge.source is None and source_of(edge) == name
            ]:
                self._add([("muted", f"{DUE} {name}")], None, edges, None)
        drawn = part.nodes
        for place, node in enumerate(drawn):
            following = drawn[place + 1].name if place + 1 < len(drawn) else None
            edges = [edge for edge in part.edges if edge.source == node.name]
            self._add(_node(node), node.name, edges, following)
        for edge in part.edges:
            if edge.source is None and edge.candidates:
                before = " or ".join([", ".join(edge.candidates[:-1]), edge.candidates[-1]])
                line: Line = [("muted", f"? {edge.count:,}{TIMES} after {before} {LEADS_TO} "), _target(edge)]
                self._rows.append(_Row(line, None, edge.target))

    def lines(self) -> Iterator[Line]:
        """The rows with their arcs; without arcs if there is no room for them."""
        at = {one.name: place for place, one in enumerate(self._rows) if one.name is not None}
        targets: dict[int, list[int]] = {}
        for place, one in enumerate(self._rows):
            if one.to in at:
                targets.setdefault(at[one.to], []).append(place)
        signs = arcs(targets, len(self._rows))
        text = max((line_len(one.line) for one in self._rows), default=0) + _GAP
        room = self._width - text - max(map(len, signs), default=0)
        for place, (one, right) in enumerate(zip(self._rows, signs, strict=True)):
            line = one.line
            if right and room >= 0:
                filler = (" " if right[0] in (" ", LANE) else ACROSS) * (text - line_len(line) - 1)
                start = ARROW if place in targets else filler[:1]
                line = [*line, ("muted", f" {start}{filler[1:]}{right}")]
            yield fit(line, self._width)

    def _add(self, line: Line, name: str | None, edges: Iterable[EdgeView], following: str | None) -> None:
        self._rows.append(_Row(line, name))
        straight = [edge for edge in edges if edge.target == following and following is not None]
        others = [edge for edge in edges if edge not in straight]
        for place, edge in enumerate(others):
            is_last = place == len(others) - 1 and not straight
            rail = (LAST_WAY if is_last else WAY) + (PROVED if edge.proof == "recorded" else UNPROVED)
            words: Line = [("muted", f"{rail} {label(edge)} {LEADS_TO} "), _target(edge), *_remark(edge)]
            is_arc = edge.target not in (END, None) and edge.target != name
            self._rows.append(_Row(words, None, edge.target if is_arc else None))
        for edge in straight:
            rail = WAY_DOWN if edge.proof == "recorded" else UNPROVED_DOWN
            self._rows.append(_Row([("muted", f"{rail}  {label(edge)}"), *_remark(edge)]))


def _target(edge: EdgeView) -> Span:
    return ("muted" if edge.target in (END, None) else "node"), target_of(edge)


def _remark(edge: EdgeView) -> Line:
    if edge.proof == "inferred":
        return [("muted", " (inferred)")]
    return [("muted", " (not proved)")] if edge.proof == "candidates" else []


def _node(node: NodeView) -> Line:
    line: Line = [("muted", f"{CHECKPOINT} "), ("node", node.name)]
    facts: list[Line] = []
    runs = node.runs or node.unrecorded
    sent = f", {node.sent:,} by Send" if node.sent else ""
    if runs and node.name != START:
        finished = " finished" if node.runs and (node.failed or node.asked) else ""
        facts.append([("muted", f"{count(runs, 'run')}{finished}{sent}")])
    facts += [[("muted", f"left no result {node.left:,}{TIMES}")]] if node.left else []
    facts += [] if node.ran or node.left else [[("muted", "no run stored")]]
    facts += [[("waiting", f"asked {node.asked:,}{TIMES}")]] if node.asked else []
    facts += [[("bad", f"failed {node.failed:,}{TIMES}")]] if node.failed else []
    facts += [[("muted", count(node.calls, "call"))]] if node.calls else []
    facts += [[("muted", "subgraph")]] if node.subgraph is not None else []
    for place, fact in enumerate(facts):
        line += [("muted", f" {BETWEEN} " if place else "  "), *fact]
    return line


def _piped(part: GraphPartView) -> Iterator[Line]:
    for node in part.nodes:
        numbers = (node.runs, node.sent, node.asked, node.failed, node.calls, node.unrecorded, node.left)
        yield row([[("key", "node")], [("", part.path)], [("node", node.name)], *([("", str(n))] for n in numbers)])
    for edge in part.edges:
        parts = (edge.source or "", edge.target or "", edge.kind, edge.by, edge.proof, str(edge.count))
        texts = (*parts, ",".join(edge.candidates))
        yield row([[("key", "edge")], [("", part.path)], *([("", text)] for text in texts)])


def count(number: int, noun: str) -> str:
    """``1 run``, ``1,200 runs``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
