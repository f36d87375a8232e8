"""An observed graph as source text for Mermaid or Graphviz, dashed where no write shows the edge."""

from collections.abc import Iterator
from typing import NamedTuple

from ckpt_cli.history.state.channels import END, START
from ckpt_cli.output.line import Line
from ckpt_cli.output.text import edges
from ckpt_cli.output.text.graphs import for_mermaid, label, quoted
from ckpt_cli.output.theme import BOXES, TIMES
from ckpt_cli.views.graph import EdgeView, GraphPartView, GraphView, NodeView


class _Arrow(NamedTuple):
    """An arrow between two boxes; solid only if writes record it."""

    start: str
    end: str
    text: str
    solid: bool


class _Boxes:
    """The boxes and arrows of one graph, with ids that no other graph has."""

    def __init__(self, number: int, part: GraphPartView) -> None:
        self._prefix = f"g{number}_"
        self._ids: dict[str, str] = {}
        self.boxes: list[tuple[str, list[str], str]] = []
        self.arrows: list[_Arrow] = []
        for node in part.nodes:
            self._box(node.name, [node.name, *_facts(node)], _kind(node))
        for edge in part.edges:
            self._add(edge)

    def _box(self, name: str, lines: list[str], kind: str) -> str:
        if name not in self._ids:
            self._ids[name] = f"{self._prefix}{len(self.boxes)}"
            self.boxes.append((self._ids[name], lines, kind))
        return self._ids[name]

    def _add(self, edge: EdgeView) -> None:
        end = self._box(edge.target or "", [edges.target_of(edge)], "round" if edge.target == END else "")
        by = edges.source_of(edge)
        sources = [edge.source] if edge.source is not None else list(edge.candidates) or [by]
        text = edges.label(edge) + ("?" if edge.proof == "candidates" else "")
        for source in sources:
            start = self._box(source, [source], "fold" if source == by else "")
            self.arrows.append(_Arrow(start, end, text, edge.proof == "recorded"))


def _facts(node: NodeView) -> list[str]:
    facts = [f"asked {node.asked:,}{TIMES}"] if node.asked else []
    facts += [f"left no result {node.left:,}{TIMES}"] if node.left else []
    return [*facts, *([f"failed {node.failed:,}{TIMES}"] if node.failed else [])]


def _kind(node: NodeView) -> str:
    if node.name == START:
        return "round"
    return "failed" if node.failed else "waiting" if node.asked else ""


def source(view: GraphView) -> Iterator[Line]:
    """The lines of the source text; each subgraph is a group of its own."""
    lines = _mermaid(view) if view.form == "mermaid" else _dot(view)
    yield from ([("", line)] for line in lines)


def _mermaid(view: GraphView) -> Iterator[str]:
    yield "flowchart TD"
    used = set[str]()
    for number, part in enumerate(view.graphs):
        drawn = _Boxes(number, part)
        if part.path:
            yield f'  subgraph g{number}["{label([part.path], for_mermaid, "")}"]'
        for name, lines, kind in drawn.boxes:
            left, right = ('(["', '"])') if kind in ("round", "fold") else ('["', '"]')
            style = f":::{kind}" if kind in BOXES else ""
            used |= {kind} & BOXES.keys()
            yield f"  {name}{left}{label(lines, for_mermaid, '<br/>')}{right}{style}"
        for start, end, text, solid in drawn.arrows:
            yield f'  {start} {"-->" if solid else "-.->"}|"{label([text], for_mermaid, "")}"| {end}'
        if part.path:
            yield "  end"
    yield from (f"  classDef {kind} {BOXES[kind]}" for kind in sorted(used))


def _dot(view: GraphView) -> Iterator[str]:
    yield f"digraph {quoted([view.thread_id or f'{view.threads} threads'])} {{"
    yield '  node [shape=box, style="rounded,filled", fillcolor=white, fontname="sans-serif", fontsize=10]'
    for number, part in enumerate(view.graphs):
        drawn = _Boxes(number, part)
        if part.path:
            yield f"  subgraph cluster_{number} {{"
            yield f"  label={quoted([part.path])}"
        for name, lines, kind in drawn.boxes:
            shape = ", shape=oval" if kind in ("round", "fold") else ""
            style = dict(text.split(":") for text in BOXES[kind].split(",")) if kind in BOXES else {}
            colours = f', fillcolor="{style["fill"]}", color="{style["stroke"]}"' if style else ""
            yield f"  {name} [label={quoted(lines)}{shape}{colours}]"
        if part.path:
            yield "  }"
        for start, end, text, solid in drawn.arrows:
            yield f"  {start} -> {end} [label={quoted([text])}{'' if solid else ', style=dashed'}]"
    yield "}"
