"""``ckpt`` alone: the verbs by their headings, and what to type first."""

from collections.abc import Iterator
from itertools import groupby

from ckpt_cli.output.cells import pad, wrap
from ckpt_cli.output.line import Line, Page
from ckpt_cli.views.overview import OverviewView

_NAME = 10


def render(view: OverviewView, page: Page) -> Iterator[Line]:
    """One verb a line where they fit."""
    yield [("title", f"ckpt {view.version}"), ("muted", "  git for the memory of LangGraph agents")]
    for heading, verbs in groupby(view.verbs, key=lambda verb: verb.heading):
        yield []
        yield [("title", heading)]
        for verb in verbs:
            parts = [verb.help] if page.width is None else list(wrap(verb.help, max(page.width - _NAME - 2, 20)))
            yield [("", "  "), ("key", pad(verb.name, _NAME)), ("", parts[0])]
            yield from ([("", " " * (_NAME + 2) + part)] for part in parts[1:])
    yield []
    if view.database is None:
        yield [
            ("muted", "No database here: name one with --db, or write an example with "),
            ("key", "ckpt demo"),
            ("muted", "."),
        ]
    else:
        yield [
            ("muted", "Database: "),
            ("id", view.database),
            ("muted", ". Begin with "),
            ("key", "ckpt threads"),
            ("muted", "."),
        ]
    yield [("key", "ckpt VERB --help"), ("muted", " explains a verb, with examples.")]
