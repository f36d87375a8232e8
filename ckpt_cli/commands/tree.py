"""``ckpt tree``: draws a whole thread with its branches, forks and subgraphs; long runs are folded."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import partial
from typing import Annotated

import typer

from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.lineage.tree import Marked, Row, rows
from ckpt_cli.history.tasks import nesting
from ckpt_cli.history.tasks.nesting import Call
from ckpt_cli.model import CheckpointRow
from ckpt_cli.parameters.options import Ns, Thread
from ckpt_cli.queries.step_lines import StepLines
from ckpt_cli.queries.tree_outline import TreeOutline
from ckpt_cli.reading import Reader
from ckpt_cli.savers.paging import pages
from ckpt_cli.session import Session
from ckpt_cli.values.langgraph_values import message
from ckpt_cli.views.base import Rows
from ckpt_cli.views.steps import ChangeView, StepView
from ckpt_cli.views.tree import AsideView, BranchView, FoldView, SubgraphView, TreeRow, TreeView

# Metadata is read for the newest checkpoints, up to this many bytes of checkpoints in all. To reach the metadata of a
# checkpoint, SQLite reads all pages of the checkpoint; a gigabyte takes 0.3 s.
_METADATA_BYTES = 2_000_000_000
_WHOLE = 2_000  # with so many checkpoints, a tree that is drawn whole is made in one go
_AT_ONCE = 500


class TreeFormat(StrEnum):
    """The formats in which a tree is printed."""

    TEXT = "text"
    MERMAID = "mermaid"
    DOT = "dot"


def run(reader: Reader, thread_id: str, ns: str | None = None, *, full: bool = False, form: str = "text") -> TreeView:
    """The view of a tree. `run` reads all ids and metadata, the writes of the drawn checkpoints, and the tips' states.

    Raises:
        ThreadNotFound; NotFound: there is no such namespace.
    """
    head = reader.thread(thread_id).head
    ns = head.ns if ns is None else ns
    members = _ids_by_namespace(reader.rows(thread_id))
    ns = nesting.named(members, ns)
    namespaces = sorted(members)
    drawing = _Drawing(reader, thread_id, ns, members, namespaces, full)
    inner_namespaces = nesting.inside_sorted(namespaces, ns)
    is_large = full and sum(len(members.get(one, ())) for one in [ns, *inner_namespaces]) > _WHOLE
    drawn_rows = drawing.paged_rows() if is_large else drawing.all_rows()
    lineage = drawing.lines.lineage
    return TreeView(
        thread_id=thread_id,
        ns=ns,
        head=lineage.head or "",
        status=drawing.lines.status(lineage.head or ""),
        checkpoints=len(lineage),
        namespaces=len(inner_namespaces),
        subgraph_checkpoints=sum(len(members[other]) for other in inner_namespaces),
        branches=[BranchView(b.number, b.first, b.tip) for b in lineage.branches],
        rows=drawn_rows,
        problem=drawing.lines.problems.get(lineage.head or ""),
        form=form,
        full=full,
    )


def _ids_by_namespace(rows: Iterable[CheckpointRow]) -> dict[str, tuple[str, ...]]:
    by_ns: dict[str, list[str]] = {}
    for row in rows:
        by_ns.setdefault(row.ns, []).append(row.checkpoint_id)
    return {ns: tuple(checkpoint_ids) for ns, checkpoint_ids in by_ns.items()}


class _Pages(Rows):
    """The rows of a large tree. Each page is read in a moment of its own, whenever it is printed or measured."""

    def __init__(self, reader: Reader, drawn: list[Row], read: Callable[[list[Row]], list[TreeRow]]) -> None:
        self._reader, self._drawn, self._read = reader, drawn, read

    def __iter__(self) -> Iterator[TreeRow]:
        for page in pages(self._drawn, _AT_ONCE):
            yield from self._reader.moment(partial(self._read, page))


class _Drawing:
    """The tree rows of one namespace. With `only`, just the checkpoints that one call of the subgraph made."""

    def __init__(
        self,
        reader: Reader,
        thread_id: str,
        ns: str,
        members: dict[str, tuple[str, ...]],
        namespaces: Sequence[str],
        full: bool,
        only: Sequence[str] | None = None,
    ) -> None:
        self._members = members
        self._namespaces = namespaces
        self._full = full
        self.lines = StepLines(reader, thread_id, ns)
        lineage = self.lines.lineage
        drawn = lineage if only is None else Lineage(lineage.rows[i] for i in only)
        self._outline = self._read_outline(drawn)
        self._calls = self._calls_by_caller()
        self._drawn = list(rows(drawn, self._marked_rows(drawn), full=full))

    def all_rows(self) -> list[TreeRow]:
        """All rows."""
        return list(self._views(self._drawn))

    def paged_rows(self) -> "_Pages":
        """All rows of a large tree that is drawn whole, made when they are printed."""
        self.lines.reader.pin(self.lines.thread_id)
        self.lines.read_tips()
        return _Pages(self.lines.reader, self._drawn, self._page)

    def _page(self, drawn_rows: list[Row]) -> list[TreeRow]:
        """Some rows in another moment than the tree: a checkpoint may have been deleted since."""
        if not self._outline.is_whole:
            self.lines.forget()
        drawn = [row.checkpoint_id for row in drawn_rows if row.checkpoint_id is not None]
        gone = {*drawn}.difference(self.lines.existing(drawn))
        last = drawn_rows[-1] is self._drawn[-1]
        return list(self._views([row for row in drawn_rows if row.checkpoint_id not in gone], is_last=last))

    def _read_outline(self, drawn: Lineage) -> TreeOutline:
        """Read metadata and the names of written channels. Both decide which checkpoints get a line."""
        bytes_left, to_read, roots = _METADATA_BYTES, [], set(drawn.roots)
        for checkpoint_id, row in sorted(drawn.rows.items(), reverse=True):
            bytes_left -= row.size or 0
            if bytes_left > 0 or checkpoint_id not in drawn.children or checkpoint_id in roots:
                to_read.append(checkpoint_id)
        has_subgraphs = bool(nesting.inside_sorted(self._namespaces, self.lines.ns))
        return TreeOutline(self.lines, to_read, with_callers=has_subgraphs)

    def _calls_by_caller(self) -> dict[str | None, list[Call]]:
        """The subgraph calls of each checkpoint; calls with an unknown caller are under None."""
        callers = self._outline.callers
        calls: dict[str | None, list[Call]] = {}
        inner = {ns: self._members[ns] for ns in nesting.inside_sorted(self._namespaces, self.lines.ns)}
        for call in nesting.calls(self.lines.ns, inner, callers, self._callers_from_metadata(callers)):
            is_known = call.caller is not None and call.caller in self.lines.lineage
            calls.setdefault(call.caller if is_known else None, []).append(call)
        return calls

    def _callers_from_metadata(self, callers: dict[str, str]) -> dict[tuple[str, str], str]:
        """The callers that the metadata of subgraph checkpoints names, if the task id doesn't show the caller."""
        lines, ns = self.lines, self.lines.ns
        called = nesting.called_from(ns, nesting.inside_sorted(self._namespaces, ns))
        unknown = [child for child in called if nesting.caller_task(child) not in callers]
        parents = {}
        for child in unknown:
            inner = StepLines(lines.reader, lines.thread_id, child)
            for checkpoint_id, note in inner.notes(self._members[child]).items():
                if ns in note.parents:
                    parents[child, checkpoint_id] = note.parents[ns]
        return parents

    def _marked_rows(self, drawn: Lineage) -> Marked:
        sources, halted = self._outline.sources, {i for i in drawn.children if i in self._outline.halted}
        return Marked(
            edits={i for i in drawn.rows if sources.get(i) in ("update", "fork")} | halted | self._outline.late,
            turns={i for i in drawn.rows if i in self._calls or sources.get(i) == "input"},
            always={drawn.head} if drawn.head is not None else set(),
        )

    def _views(self, drawn_rows: list[Row], *, is_last: bool = True) -> Iterator[TreeRow]:
        shown = [row.checkpoint_id for row in drawn_rows if row.checkpoint_id is not None]
        folded = [i for row in drawn_rows for i in row.run]
        if not self._outline.is_whole:
            self.lines.notes([row.run[0] for row in drawn_rows if row.run])
            folded = []
        steps = {step.checkpoint_id: step for step in self.lines.views(shown, folded=folded)}
        replaced = self._replaced_messages(drawn_rows, steps)
        for row in drawn_rows:
            yield self._view(row, steps.get(row.checkpoint_id or ""), replaced)
        if is_last and None in self._calls:
            yield TreeRow(0, False, True, subgraphs=[self._subgraph(call) for call in self._calls[None]])

    def _replaced_messages(self, drawn_rows: list[Row], steps: Mapping[str, StepView]) -> dict[str, list[ChangeView]]:
        """The changes of each folded step that took in an input, and replaced messages by those of the same id."""
        firsts = [row.run[0] for row in drawn_rows if row.run]
        given = {i: steps.get(self._outline.input_taken(i) or "") for i in firsts}
        to_read = [i for i, step in given.items() if step is not None and _gives_message_ids(step)]
        taken = {step.checkpoint_id: step.changes or [] for step in self.lines.views(to_read)}
        return {i: changes for i, changes in taken.items() if any(change.edited for change in changes)}

    def _view(self, row: Row, step: StepView | None, replaced: Mapping[str, list[ChangeView]]) -> TreeRow:
        aside = AsideView(row.branches, len(row.aside)) if row.branches else None
        subgraphs = [self._subgraph(call) for call in self._calls.get(row.checkpoint_id or "", ())]
        fold = replace(self._fold(row), changes=replaced.get(row.run[0])) if row.run else None
        return TreeRow(row.depth, row.joint, row.ends, step, fold, aside, subgraphs)

    def _fold(self, row: Row) -> FoldView:
        nodes = Counter[str]()
        outline = self._outline
        sources = [outline.source(checkpoint_id) for checkpoint_id in row.run]
        for checkpoint_id in row.run:
            nodes.update(outline.nodes(checkpoint_id))
        hidden_calls = [call for i in (*row.run, *row.aside) for call in self._calls.get(i, ())]
        return FoldView(
            checkpoints=len(row.run),
            first=row.run[0],
            last=row.run[-1],
            nodes=dict(nodes),
            turns=sources.count("input"),
            edits=sources.count("update") + sources.count("fork"),
            subgraphs=sum(len(call.checkpoint_ids) + call.nested for call in hidden_calls),
            input_id=outline.input_taken(row.run[0]),
            inputs_taken=sum(outline.input_taken(i) is not None for i in row.run),
            first_short=self.lines.reader.short(self.lines.thread_id)(row.run[0]),
            first_step=self.lines.attribution.note(row.run[0]).step,
        )

    def _subgraph(self, call: Call) -> SubgraphView:
        inner: list[TreeRow] = []
        if self._full:
            lines = self.lines
            only = call.checkpoint_ids if len(call.checkpoint_ids) < len(self._members[call.ns]) else None
            inner = _Drawing(
                lines.reader, lines.thread_id, call.ns, self._members, self._namespaces, True, only
            ).all_rows()
        return SubgraphView(call.ns, nesting.node(call.ns), len(call.checkpoint_ids), call.nested, inner)


def _gives_message_ids(step: StepView) -> bool:
    """Whether an input has a message with an id, which may replace one."""
    given = [change.after for change in step.changes or () if change.kind == "given"]
    parts = (message(part) for value in given for part in (value if isinstance(value, list) else [value]))
    return any(part is not None and part.id for part in parts)


def tree(
    session: Session,
    thread: Thread,
    ns: Ns = "",
    full: Annotated[bool, typer.Option("--full", help="Draw every checkpoint, also those of subgraphs.")] = False,
    form: Annotated[
        TreeFormat, typer.Option("--format", metavar="FORMAT", help="text, mermaid or dot.", show_default=True)
    ] = TreeFormat.TEXT,
) -> TreeView:
    """Draw a thread: how its checkpoints descend from each other, what each step did, where it waits or failed.

    The head (@) and its ancestors form one vertical line; other branches leave this line to the right. A later
    checkpoint without a parent is drawn below the line before it, with the words "no parent". A run of checkpoints
    without a branch is folded into one line. Subgraphs are folded too, below the checkpoint that called them; if that
    isn't stored, at the end.

    Examples:
      ckpt tree support-42
      ckpt tree support-42 --full
      ckpt tree support-42 --ns 'orders:4e19…'
      ckpt tree support-42 --format mermaid > tree.mmd
    """
    view = session.read(lambda reader: run(reader, thread, ns or None, full=full, form=form.value))
    session.say_lost_differences()
    if view.problem:
        session.say(view.problem)
    return view
