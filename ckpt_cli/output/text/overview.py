"""Shows ``ckpt`` without a verb: the verbs below their headings, and the first commands to type."""

from collections.abc import Iterator
from itertools import groupby

from ckpt_cli.output.cells import flow, pad
from ckpt_cli.output.line import Line, Page
from ckpt_cli.output.theme import MORE
from ckpt_cli.views.overview import OverviewView

_NAME = 11
_KIND = 15


def render(view: OverviewView, page: Page) -> Iterator[Line]:
    """The verbs, one per line if it fits, and the database."""
    yield [("title", f"ckpt {view.version}"), ("muted", "  git for the memory of LangGraph agents")]
    for heading, verbs in groupby(view.verbs, key=lambda verb: verb.heading):
        yield []
        yield [("title", heading)]
        for verb in verbs:
            first, *more = _wrapped(verb.help, page, _NAME + 2)
            yield [("", "  "), ("key", pad(verb.name, _NAME)), ("", first)]
            yield from ([("", " " * (_NAME + 2) + part)] for part in more)
    yield []
    yield from _database(view, page)
    yield [("key", "ckpt COMMAND --help"), ("muted", " explains a command, with examples.")]


def _database(view: OverviewView, page: Page) -> Iterator[Line]:
    if view.database is not None:
        yield [("muted", "Database: "), ("id", view.database)]
        yield [("key", "ckpt threads"), ("muted", " shows what is in it.")]
        return
    for part in _wrapped(view.problem, page, 0):
        yield [("muted", part)]
    for part in _wrapped(view.hint, page, 0) if view.hint else ():
        yield [("key", part)]
    yield [
        ("key", "--db DATABASE"),
        ("muted", " or "),
        ("key", f"export CKPT_DB={MORE}"),
        ("muted", " names a database, "),
        ("key", "ckpt demo"),
        ("muted", " writes an example."),
    ]
    for kind in view.kinds:
        yield [("", "  "), ("", pad(kind.label, _KIND)), ("id", kind.example)]
        for part in _wrapped(kind.install, page, _KIND + 2) if kind.install else ():
            yield [("", " " * (_KIND + 2)), ("key", part)]


def _wrapped(text: str, page: Page, indent: int) -> list[str]:
    return [text] if page.width is None else list(flow(text, max(page.width - indent, 20)))
