"""Shows what was added to a bundle: a line for each thread, and the sums."""

from collections.abc import Iterator
from dataclasses import replace

from ckpt_cli.output.cells import fit
from ckpt_cli.output.line import Line, Page, row
from ckpt_cli.output.quantities import size
from ckpt_cli.output.theme import LEADS_TO
from ckpt_cli.values.counts import count_text
from ckpt_cli.views.export import ExportLine, ExportView, PlaceLine, RedactionReport

_PLACES = 15  # places that a terminal shows; --json has all


def render(view: ExportView, page: Page) -> Iterator[Line]:
    """The threads that are in the bundle now, and those that were left out."""
    if page.width is None:
        for one in view.threads:
            numbers = [("muted", str(number)) for number in (one.checkpoints, one.writes, one.bytes)]
            yield row([cell] for cell in [("title", one.thread_id), *numbers, ("bad", one.refused), ("", one.renamed)])
        yield from _piped(view.redaction) if view.redaction is not None else ()
        return
    for one in view.threads:
        yield _line(one)
    bundle = "nothing was written" if view.size is None else f"{view.file} has {size(view.size)} now"
    total = sum(one.bytes for one in view.threads)
    exported = sum(not one.refused for one in view.threads)
    yield [("head", f"{exported} thread{'' if exported == 1 else 's'}"), ("", f", {size(total)} of values; {bundle}")]
    if view.redaction is not None:
        yield from _audit(view.redaction, page.width)


def _line(one: ExportLine) -> Line:
    if one.renamed:
        renamed = _line(replace(one, thread_id=one.renamed, renamed=""))
        return [("title", one.thread_id), ("muted", f" {LEADS_TO} "), *renamed]
    if one.refused:
        return [("title", one.thread_id), ("", "  "), ("bad", f"left out: {one.refused}")]
    if not one.checkpoints and not one.writes:
        return [("title", one.thread_id), ("", "  "), ("muted", "the bundle has all of it")]
    counts = f"{count_text(one.checkpoints, 'checkpoint')}, {count_text(one.writes, 'write')}, {size(one.bytes)}"
    return [("title", one.thread_id), ("", "  "), ("muted", counts)]


def _piped(report: RedactionReport) -> Iterator[Line]:
    for one in report.places:
        numbers = [("muted", str(number)) for number in (one.replaced, one.opaque, one.left)]
        yield row([cell] for cell in [("head", "redacted"), ("", one.kind), ("", one.path), *numbers])


def _audit(report: RedactionReport, width: int) -> Iterator[Line]:
    """What was replaced, what is left, and where."""
    replaced, opaque = sum(one.replaced for one in report.places), sum(one.opaque for one in report.places)
    left = sum(one.left for one in report.places)
    whole = f", {opaque:,} of them whole, as nothing can look into them" if opaque else ""
    yield [("head", f"redacted: {replaced + opaque:,} values replaced"), ("", f"{whole}; {left:,} are left")]
    for rule in report.rules:
        if not rule.matches:
            yield [("", "  "), ("waiting", f"{rule.rule} matched nothing")]
    touched = sorted(report.places, key=lambda one: (-one.replaced - one.opaque, one.kind, one.path))
    touched = [one for one in touched if one.replaced or one.opaque]
    for one in touched[:_PLACES]:
        yield fit([("", "  "), ("title", f"{one.kind} {one.path}"), ("muted", _counts(one))], width)
    if len(touched) > _PLACES:
        yield [("muted", f"  {len(touched) - _PLACES} more places: --json")]


def _counts(one: PlaceLine) -> str:
    parts = ((one.replaced, "replaced"), (one.opaque, "replaced whole"), (one.left, "left"))
    return "  " + ", ".join(f"{number:,} {word}" for number, word in parts if number)
