"""Shows waiting questions: who asks what, and the command that answers; in a pipe, one row each."""

from collections.abc import Iterator, Sequence

from ckpt_cli.history.tasks.answers import PLACEHOLDER
from ckpt_cli.output.cells import cell_len, fit, flow
from ckpt_cli.output.line import Line, Page, row
from ckpt_cli.output.text.tasks import questions
from ckpt_cli.output.text.values import brief
from ckpt_cli.output.theme import WAITING
from ckpt_cli.shell_words import argument
from ckpt_cli.views.interrupts import InterruptView
from ckpt_cli.views.resume import QuestionLine, QuestionsView

_BEGINNING = 8  # characters of an id
_STALE = "out of date: its subgraph was changed since it asked, and the next run asks again, maybe something else"
_HOW = "to answer, with true, '\"yes\"', '{\"approved\": true}' or the like for JSON:"


def render(view: QuestionsView, page: Page) -> Iterator[Line]:
    """The questions, in the order of their tasks."""
    if page.width is None:
        for one in view.questions:
            cells = (one.id or "", one.node or "", one.ns, brief(one.value, reveal=page.reveal))
            yield row([("", cell)] for cell in cells)
        return
    if not view.questions:
        yield [("muted", "nothing waits for an answer")]
    for one in view.questions:
        yield fit(_head(one), page.width)
        yield from questions([InterruptView(one.id, one.value)], page, 4, 4)
        if one.changed is not None:
            yield from ([("waiting", f"    {part}")] for part in flow(_STALE, page.width - 4))
    yield from _answer(view, page.width)


def _answer(view: QuestionsView, width: int) -> Iterator[Line]:
    """The command that answers, to be pasted. Unedited it records nothing, since the word JSON in it isn't JSON."""
    open_ = [one for one in view.questions if one.id != PLACEHOLDER]
    if not open_:
        return
    dashed = view.thread.startswith("-")
    head = "    ckpt resume" if dashed else f"    ckpt resume {argument(view.thread)}"
    words = [f"-i {_named(one, view.questions)}=JSON" for one in open_] if len(view.questions) > 1 else ["--value JSON"]
    words += [f"--ns {argument(view.ns)}"] if view.ns else []
    words += [f"-- {argument(view.thread)}"] if dashed else []
    line = " ".join([head, *words])
    parts = [line] if cell_len(line) <= width else [head, *(f"        {word}" for word in words)]
    yield []
    yield from ([("muted", part)] for part in flow(_HOW, width))
    yield from ([("", f"{part} \\")] for part in parts[:-1])
    yield [("", parts[-1])]


def _named(one: QuestionLine, others: Sequence[QuestionLine]) -> str:
    """The argument for ``--interrupt``: the node if it asks only this, else as much of the id as is needed."""
    if one.node and "=" not in one.node and sum(one.node in (other.node, other.id) for other in others) == 1:
        return argument(one.node)
    name = one.id or ""
    known = [other.id for other in others if other.id]
    for length in range(_BEGINNING, len(name)):
        if sum(other.startswith(name[:length]) for other in known) == 1:
            return argument(name[:length])
    return argument(name)


def _head(one: QuestionLine) -> Line:
    line: Line = [("waiting", f"{WAITING} "), ("node", one.node or "unknown node")]
    if one.answers:
        line += [("muted", f"  question {one.answers + 1} of its task")]
    return [*line, *([("muted", f"  in {one.ns}")] if one.ns else [])]
