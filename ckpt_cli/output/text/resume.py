"""Waiting questions as text: who asks what, and the id to answer it by; in a pipe one row each."""

from collections.abc import Iterator

from ckpt_cli.output.line import Line, Page, row
from ckpt_cli.output.text.tasks import questions
from ckpt_cli.output.text.values import brief
from ckpt_cli.views.interrupts import InterruptView
from ckpt_cli.views.resume import QuestionLine, QuestionsView


def render(view: QuestionsView, page: Page) -> Iterator[Line]:
    """In the order of their tasks."""
    if page.width is None:
        for one in view.questions:
            cells = (one.id or "", one.node or "", one.ns, brief(one.value, reveal=page.reveal))
            yield row([("", cell)] for cell in cells)
        return
    if not view.questions:
        yield [("muted", "nothing waits for an answer")]
    for one in view.questions:
        yield _head(one)
        yield from questions([InterruptView(one.id, one.value)], page, 4, 4)


def _head(one: QuestionLine) -> Line:
    line: Line = [("waiting", "⏸ "), ("node", one.node or "unknown node")]
    if one.answers:
        line += [("muted", f"  question {one.answers + 1} of its task")]
    return [*line, *([("muted", f"  in {one.ns}")] if one.ns else [])]
