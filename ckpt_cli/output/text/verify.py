"""Shows verified threads: a line for each, below it what was found; in a pipe, rows."""

from collections.abc import Iterable, Iterator, Mapping

from ckpt_cli.output.cells import cell_len, fit, pad, wrap
from ckpt_cli.output.line import Line, Page, row
from ckpt_cli.output.theme import TIMES, VERDICTS
from ckpt_cli.values.counts import count_text
from ckpt_cli.views.verify import CheckedChannel, Finding, VerifiedThread, VerifyView

_SHOWN = 3  # checkpoints of a finding that a terminal shows


def render(view: VerifyView, page: Page) -> Iterator[Line]:
    """The threads one by one, and their sum; of several threads, what is merely unknown is only counted."""
    for thread in view.threads:
        if page.width is None:
            yield from _rows(thread)
            continue
        yield _heading(thread, page.width)
        whole = view.of_one or thread.verdict in ("differs", "suspect")
        if view.of_one:
            yield from _channels(thread, page.width)
        for findings in _alike(thread.findings if whole else ()):
            yield from _finding(findings, page.width)
    if page.width is not None and not view.of_one:
        yield [("", f"{count_text(view.count, 'thread')}, {_steps(view.steps, view.verdicts)}.")]


def _heading(thread: VerifiedThread, width: int) -> Line:
    look = VERDICTS[thread.verdict]
    sign: Line = [(look.style, f"{look.sign} ")]
    return fit([*sign, ("title", thread.thread_id), ("", f"  {_steps(thread.steps, thread.verdicts)}")], width)


def _steps(count: int, verdicts: Mapping[str, int]) -> str:
    words = ", ".join(f"{number:,} {VERDICTS[verdict].word}" for verdict, number in verdicts.items())
    steps = count_text(count, "step")
    return f"{steps}: {words}" if words else steps


def _channels(thread: VerifiedThread, width: int) -> Iterator[Line]:
    """The reducer of each channel, the evidence for it, and the steps that it doesn't explain."""
    names = [f"{one.graph}: {one.channel}" if one.graph else one.channel for one in thread.channels]
    column = max(map(cell_len, names), default=0)
    for name, one in zip(names, thread.channels, strict=True):
        for number, part in enumerate(wrap(_channel(one), max(width - column - 4, 20))):
            yield fit([("", "  "), ("key", pad("" if number else name, column)), ("", "  "), ("muted", part)], width)


def _channel(one: CheckedChannel) -> str:
    counts = {"differs": one.differs, "suspect": one.suspect, "unknown": one.unknown}
    rest = [f"{count:,} {VERDICTS[verdict].word}" for verdict, count in counts.items() if count]
    return "; ".join([one.evidence, *rest])


def _alike(findings: Iterable[Finding]) -> Iterable[list[Finding]]:
    """The findings in groups: several channels of the same checkpoints, of which the same is said."""
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for one in findings:
        groups.setdefault((one.verdict, one.kind, one.why, one.count, *one.checkpoints), []).append(one)
    return groups.values()


def _finding(findings: list[Finding], width: int) -> Iterator[Line]:
    one = findings[0]
    look = VERDICTS[one.verdict]
    head: Line = [("", "  "), (look.style, f"{look.sign} {one.verdict}"), ("", f"  {one.kind}")]
    for at in one.checkpoints[:_SHOWN]:
        head += [("", "  "), ("id", at.short), ("muted", f" step {at.step}" if at.step is not None else "")]
    if one.count > _SHOWN:
        head.append(("muted", f"  {TIMES}{one.count:,}"))
    channels = ", ".join(finding.channel for finding in findings if finding.channel)
    if len(findings) == 1 and channels:
        head[3:3] = [("", "  "), ("key", channels)]
    yield fit(head, width)
    if len(findings) > 1:
        yield from ([("", "    "), ("key", part)] for part in wrap(channels, max(width - 4, 20)))
    yield from ([("", "    "), ("muted", part)] for part in wrap(one.why, max(width - 4, 20)))


def _rows(thread: VerifiedThread) -> Iterator[Line]:
    """Rows of thread, verdict, kind, channel, namespace, checkpoint, number of steps or checkpoints, and words."""
    words = ", ".join(f"{count} {verdict}" for verdict, count in thread.verdicts.items())
    yield _row(thread.thread_id, thread.verdict, "steps", "", "", "", str(thread.steps), words)
    for one in thread.channels:
        counts = {"differs": one.differs, "suspect": one.suspect, "unknown": one.unknown, "agrees": one.agrees}
        verdict, steps = next((v for v, count in counts.items() if count), "unknown"), str(sum(counts.values()))
        yield _row(thread.thread_id, verdict, "channel", one.channel, one.graph, "", steps, one.evidence)
    for found in thread.findings:
        for at in found.checkpoints:
            cells = (found.verdict, found.kind, found.channel, at.ns, at.checkpoint_id, str(found.count), found.why)
            yield _row(thread.thread_id, *cells)


def _row(*cells: str) -> Line:
    return row([("", cell)] for cell in cells)
