"""A tree as source text for Mermaid or Graphviz, labels escaped. The ids are made here; data appears only in labels."""

from collections.abc import Callable, Iterable, Iterator

from ckpt_cli.output.clean import clean
from ckpt_cli.output.line import Line, plain
from ckpt_cli.output.text.steps import made_by
from ckpt_cli.output.theme import BETWEEN, BOXES, MORE, PLAIN_BOX, TIMES
from ckpt_cli.values.counts import count_text
from ckpt_cli.views.tree import TreeRow, TreeView

_LABEL = 80
_HARMLESS = f" .,:-_/@{MORE}{BETWEEN}{TIMES}"


def source(view: TreeView) -> Iterator[Line]:
    """The lines of the source text."""
    lines = _mermaid(view) if view.form == "mermaid" else _dot(view)
    yield from ([("", line)] for line in lines)


class _Graph:
    """Numbered boxes for the rows of a tree, and the arrows between the boxes.

    Attributes:
        boxes: id, lines of the label, and kind of each box.
        arrows: the ids of two boxes; and whether the arrow is dotted, which means from a caller to its subgraph.
    """

    def __init__(self, view: TreeView) -> None:
        self.boxes: list[tuple[str, list[str], str]] = []
        self.arrows: list[tuple[str, str, bool]] = []
        self._add(view.rows, None)

    def _add(self, rows: Iterable[TreeRow], caller: str | None) -> None:
        last_in_lane: dict[int, str] = {}
        for row in rows:
            name = f"c{len(self.boxes)}"
            self.boxes.append((name, _label(row), _kind(row)))
            previous = last_in_lane.get(row.depth - row.joint)
            has_parent = not row.lacks_caller and (row.step is None or (row.step.parent_id and not row.step.missing))
            if previous is not None and has_parent:
                self.arrows.append((previous, name, False))
            elif caller is not None and previous is None:
                self.arrows.append((caller, name, True))
            last_in_lane = {depth: other for depth, other in last_in_lane.items() if depth < row.depth} | {
                row.depth: name
            }
            for subgraph in row.subgraphs:
                if subgraph.rows:
                    self._add(subgraph.rows, name)
                    continue
                inner = f"c{len(self.boxes)}"
                self.boxes.append(
                    (inner, [subgraph.node, count_text(subgraph.checkpoints + subgraph.nested, "checkpoint")], "fold")
                )
                self.arrows.append((name, inner, True))


def _label(row: TreeRow) -> list[str]:
    if row.step is not None:
        step = row.step
        id_and_step = f"{step.short} {BETWEEN} {step.step}" if step.step is not None else step.short
        marks = [
            mark
            for mark, is_shown in (("@", step.head), (step.status or "", step.status not in (None, "done")))
            if is_shown
        ]
        return [" ".join([id_and_step, *marks]), plain(made_by(step))]
    if row.fold is not None:
        return [count_text(row.fold.checkpoints, "step"), ", ".join(list(row.fold.nodes)[:4])]
    if row.aside is not None:
        return [f"{row.aside.branches} branches", count_text(row.aside.checkpoints, "checkpoint")]
    return ["caller not stored or not known"]


def _kind(row: TreeRow) -> str:
    if row.step is None:
        return "fold"
    if row.step.status in ("waiting", "failed"):
        return row.step.status
    return "head" if row.step.head else row.step.source if row.step.source in ("input", "update", "fork") else "step"


def label(lines: list[str], escape: Callable[[str], str], newline: str) -> str:
    """The escaped text of a label; each line is cut, and empty lines are left out."""
    return newline.join(escape(clean(line)[:_LABEL]) for line in lines if line)


def _mermaid(view: TreeView) -> Iterator[str]:
    graph = _Graph(view)
    yield "flowchart TD"
    for name, lines, kind in graph.boxes:
        left, right = ('(["', '"])') if kind == "fold" else ('["', '"]')
        yield f"  {name}{left}{label(lines, for_mermaid, '<br/>')}{right}" + (f":::{kind}" if kind in BOXES else "")
    for start, end, dotted in graph.arrows:
        yield f"  {start} {'-.->' if dotted else '-->'} {end}"
    used = {kind for _, _, kind in graph.boxes}
    yield from (f"  classDef {kind} {style}" for kind, style in BOXES.items() if kind in used)


def for_mermaid(text: str) -> str:
    """A label for Mermaid. Characters that could end the label or start markup become entity codes (``#34;``)."""
    return "".join(c if c.isalnum() or c in _HARMLESS else f"#{ord(c)};" for c in text)


def _dot(view: TreeView) -> Iterator[str]:
    graph = _Graph(view)
    yield f"digraph {quoted([view.thread_id])} {{"
    yield '  node [shape=box, style="rounded,filled", fillcolor=white, fontname="sans-serif", fontsize=10]'
    for name, lines, kind in graph.boxes:
        style = dict(part.split(":") for part in BOXES.get(kind, PLAIN_BOX).split(","))
        shape = ', shape=plaintext, style=""' if kind == "fold" else ""
        yield f'  {name} [label={quoted(lines)}, fillcolor="{style["fill"]}", color="{style["stroke"]}"{shape}]'
    for start, end, dotted in graph.arrows:
        yield f"  {start} -> {end}" + (" [style=dashed]" if dotted else "")
    yield "}"


def quoted(lines: list[str]) -> str:
    """A label for Graphviz, in quotes."""
    return '"' + label(lines, lambda text: text.replace("\\", "\\\\").replace('"', '\\"'), "\\n") + '"'
