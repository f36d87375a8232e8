"""Shows the first bad checkpoint and what it changed; if it isn't known exactly, the candidates; in a pipe, rows."""

from collections.abc import Iterator, Sequence

from ckpt_cli.output.cells import fit, flow
from ckpt_cli.output.line import Line, Page, row
from ckpt_cli.output.quantities import clock
from ckpt_cli.output.text.diff import difference_lines
from ckpt_cli.output.text.steps import change_summary, made_by, number
from ckpt_cli.output.theme import TIMES
from ckpt_cli.views.bisect import BisectView, Tested
from ckpt_cli.views.steps import StepView


def render(view: BisectView, page: Page) -> Iterator[Line]:
    """The result on a terminal; in a pipe a row for each candidate: id, step, source, nodes, changes, time."""
    if page.width is None:
        yield from (_plain(step) for step in view.first_bad)
        return
    if len(view.first_bad) == 1:
        [step] = view.first_bad
        heading: Line = [*_thread(view), ("id", step.short), ("bad", " is the first bad checkpoint")]
        yield fit([*heading, ("muted", f"  {_tests(view)}")], page.width)
        yield fit([("", "  "), *_about(step)], page.width)
        yield from _unstored([step], page)
        yield from difference_lines(view.changes, page, 2)
    else:
        count = len(view.first_bad)
        heading = [*_thread(view), ("bad", f"the first bad checkpoint is one of these {count}")]
        yield fit([*heading, ("muted", f"  {_tests(view)}")], page.width)
        for step in view.first_bad:
            line: Line = [("", "  "), ("id", step.short), ("", "  "), *_about(step), ("", "  ")]
            yield fit([*line, *change_summary(step, 40)], page.width)
        yield from _wrapped("muted", "Those before the last one were skipped: they can't be tested.", page)
        yield from _unstored(view.first_bad, page)
    for one in view.contrary:
        yield from _wrapped("bad", f"not in order: {_contrary(one)}", page)
    if view.contrary:
        text = "The value changed more than once: this is one of the checkpoints where it turned bad."
        yield from _wrapped("muted", text, page)


def _unstored(steps: Sequence[StepView], page: Page) -> Iterator[Line]:
    """That the step which broke it may be one that isn't stored."""
    for step in steps:
        if step.unstored_steps is None:
            text = (
                "Steps before it are on another branch, or aren't stored: one of them may have been the first bad one."
            )
            yield from _wrapped("waiting", text, page)
        elif count := step.unstored_steps:
            those = "step before it isn't stored: it" if count == 1 else "steps before it aren't stored: one of them"
            yield from _wrapped("waiting", f"{count:,} {those} may have been the first bad one.", page)


def _thread(view: BisectView) -> Line:
    return [("title", view.thread_id), ("muted", f"  {view.ns}" if view.ns else ""), ("", "  ")]


def _about(step: StepView) -> Line:
    from datetime import datetime

    when = "" if step.time is None else clock(datetime.fromisoformat(step.time).timestamp())
    return [
        ("muted", f"step {number(step)}  "),
        *made_by(step, as_input=step.input_id is not None),
        ("muted", f"  {when}"),
    ]


def _tests(view: BisectView) -> str:
    return f"{len(view.tested)} of {view.line:,} tested"


def _contrary(one: Tested) -> str:
    step = "" if one.step is None else f" (step {one.step})"
    return f"{one.short}{step} is {one.verdict}"


def _plain(step: StepView) -> Line:
    nodes = ", ".join(name if n == 1 else f"{name} {TIMES}{n}" for name, n in step.nodes.items())
    changes = "; ".join(change.text for change in step.changes or ())
    return row([[("", c)] for c in (step.checkpoint_id, number(step), step.source, nodes, changes, step.time or "")])


def _wrapped(style: str, text: str, page: Page) -> Iterator[Line]:
    return ([(style, part)] for part in flow(text, page.width or 80))
