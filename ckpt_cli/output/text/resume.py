"""Shows open questions: which node asks what, and the command that answers; in a pipe, one row each."""

from collections.abc import Iterator

from ckpt_cli.history.tasks.nesting import callers
from ckpt_cli.history.tasks.task_names import numbered
from ckpt_cli.output.cells import fit, flow
from ckpt_cli.output.line import Line, Page, row
from ckpt_cli.output.text.answer_commands import answer_lines, ask_again_lines
from ckpt_cli.output.text.brief import UNCUT
from ckpt_cli.output.text.questions import cell
from ckpt_cli.output.text.sends import argument, argument_lines, beside_questions, send_cells
from ckpt_cli.output.text.tasks import old_answers, questions
from ckpt_cli.output.theme import FAILED, INSIDE, WAITING
from ckpt_cli.shell_words import command
from ckpt_cli.views.interrupts import InterruptView
from ckpt_cli.views.resume import QuestionLine, QuestionsView

_STALE = "out of date: the subgraph was changed after it asked, so the next run may ask again, or something else"


def render(view: QuestionsView, page: Page) -> Iterator[Line]:
    """The questions, in the order of their tasks; for a person who left all of them open, how to be asked again."""
    if view.asked:
        yield from ask_again_lines(view.thread, view.ns, page.width or UNCUT)
        return
    if page.width is None:
        for question_line in view.questions:
            cells = (
                question_line.id or "",
                question_line.node or "",
                question_line.ns,
                cell(question_line, reveal=page.reveal),
            )
            yield row([cell] for cell in [*(("", cell) for cell in cells), *send_cells(question_line.send, page)])
        return
    if not view.questions:
        yield from _nothing(view, page.width)
    for question_line in view.questions:
        yield from question_lines(question_line, page)
    yield from old_answers(view.old_answers, page)
    open_questions = [question_line for question_line in view.questions if not question_line.past]
    lines = list(answer_lines(view.thread, open_questions, view.ns, page.width))
    yield from ([[], *lines] if lines else [])


def question_lines(question_line: QuestionLine, page: Page) -> Iterator[Line]:
    """The lines of one question, whole."""
    head, send = _head(question_line), beside_questions(question_line.send, [question_line])
    if question_line.ns:
        yield fit(head, page.width)
        yield from argument_lines(send, "waiting", page, 4)
    else:
        yield fit([*head, *argument(send, None, reveal=page.reveal)], page.width)
    schema = question_line.response_schema
    one = InterruptView(question_line.id, question_line.value, question_line.requests, None, schema)
    yield from questions([one], page, 4, 4, is_open=True, full=True)
    if question_line.changed is not None:
        stale = f"out of date: {question_line.past}" if question_line.past else _STALE
        yield from ([("waiting", f"    {part}")] for part in flow(stale, (page.width or UNCUT) - 4))


def _nothing(view: QuestionsView, width: int) -> Iterator[Line]:
    """That nothing waits; for a thread that failed, what can be done instead."""
    if not view.failed:
        yield from ([("muted", part)] for part in flow(view.nothing or "nothing waits for an answer", width))
        return
    names = ", ".join(dict.fromkeys(node or "a task" for node in view.failed))
    yield [("muted", "nothing waits for an answer: "), ("bad", f"{FAILED} {names} failed")]
    commit = ", and --commit to give it up" if view.can_commit else ""
    remark = f"graph.invoke(None, config) runs it again. What finished beside it{commit}:"
    yield from _remark_and_command(remark, command("ckpt replay", view.thread), width)
    if not view.by_goto:  # a fork has no goto of a Command
        remark = "to make this step anew, with its finished tasks too:"
        yield from _remark_and_command(remark, command("ckpt fork", view.thread, "@"), width)


def _remark_and_command(remark: str, line: str, width: int) -> Iterator[Line]:
    yield from ([("muted", part)] for part in flow(remark, width))
    yield [("", f"    {line}")]


def _head(question_line: QuestionLine) -> Line:
    first, *inner = [*callers(question_line.ns), question_line.node or "unknown node"]
    names = [numbered(first, question_line.send), *inner]
    line: Line = [("waiting", f"{WAITING} "), ("node", f" {INSIDE} ".join(names))]
    if question_line.answers:
        line += [("muted", f"  question {question_line.answers + 1} of its task")]
    return [*line, *([("muted", f"  in {question_line.ns}")] if question_line.ns else [])]
