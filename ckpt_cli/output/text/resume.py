"""Shows open questions: which node asks what, and the command that answers; in a pipe, one row each."""

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

_MIN_ID = 8  # an id is shortened to at least this many characters
_STALE = "out of date: the subgraph was changed after it asked, so the next run asks again, maybe something else"
_HOW = "to answer, with true, '\"yes\"', '{\"approved\": true}' or the like for JSON:"


def render(view: QuestionsView, page: Page) -> Iterator[Line]:
    """The questions, in the order of their tasks."""
    if page.width is None:
        for question_line in view.questions:
            cells = (
                question_line.id or "",
                question_line.node or "",
                question_line.ns,
                brief(question_line.value, reveal=page.reveal),
            )
            yield row([("", cell)] for cell in cells)
        return
    if not view.questions:
        yield [("muted", "nothing waits for an answer")]
    for question_line in view.questions:
        yield fit(_head(question_line), page.width)
        yield from questions([InterruptView(question_line.id, question_line.value)], page, 4, 4, is_open=True)
        if question_line.changed is not None:
            yield from ([("waiting", f"    {part}")] for part in flow(_STALE, page.width - 4))
    yield from _answer(view, page.width)


def _answer(view: QuestionsView, width: int) -> Iterator[Line]:
    """The command that answers, to be copied and edited. Unedited, it is refused: the word JSON isn't valid JSON."""
    open_ = [question_line for question_line in view.questions if question_line.id != PLACEHOLDER]
    if not open_:
        return
    dashed = view.thread.startswith("-")
    head = "    ckpt resume" if dashed else f"    ckpt resume {argument(view.thread)}"
    words = (
        [f"-i {_interrupt_argument(question_line, view.questions)}=JSON" for question_line in open_]
        if len(view.questions) > 1
        else ["--value JSON"]
    )
    words += [f"--ns {argument(view.ns)}"] if view.ns else []
    words += [f"-- {argument(view.thread)}"] if dashed else []
    line = " ".join([head, *words])
    parts = [line] if cell_len(line) <= width else [head, *(f"        {word}" for word in words)]
    yield []
    yield from ([("muted", part)] for part in flow(_HOW, width))
    yield from ([("", f"{part} \\")] for part in parts[:-1])
    yield [("", parts[-1])]


def _interrupt_argument(question_line: QuestionLine, others: Sequence[QuestionLine]) -> str:
    """The argument for ``--interrupt``: the node if it asks only one question, else a unique beginning of the id."""
    if (
        question_line.node
        and "=" not in question_line.node
        and sum(question_line.node in (other.node, other.id) for other in others) == 1
    ):
        return argument(question_line.node)
    name = question_line.id or ""
    ids = [other.id for other in others if other.id]
    for length in range(_MIN_ID, len(name)):
        if sum(other.startswith(name[:length]) for other in ids) == 1:
            return argument(name[:length])
    return argument(name)


def _head(question_line: QuestionLine) -> Line:
    line: Line = [("waiting", f"{WAITING} "), ("node", question_line.node or "unknown node")]
    if question_line.answers:
        line += [("muted", f"  question {question_line.answers + 1} of its task")]
    return [*line, *([("muted", f"  in {question_line.ns}")] if question_line.ns else [])]
