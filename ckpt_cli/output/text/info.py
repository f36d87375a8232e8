"""Shows a database: one fact per line, after its label."""

from collections.abc import Iterator
from datetime import datetime

from ckpt_cli.output.cells import flow, pad
from ckpt_cli.output.line import Line, Page, Span, row
from ckpt_cli.output.quantities import ago, clock, size
from ckpt_cli.output.theme import ROW_CHANGES
from ckpt_cli.views.info import InfoView
from ckpt_cli.views.side_effects import SideEffectLine

_LABEL = 14
_ABILITIES = {
    "write": "writing",
    "atomic": "atomic changes",
    "moment": "consistent reads",
    "skips": "quick listing",
    "task_paths": "task paths",
}


def render(view: InfoView, page: Page) -> Iterator[Line]:
    """The database, its contents, and facts from a sample of checkpoints."""
    for label, (style, text) in _facts(view, page):
        if page.width is None:
            yield row([[("key", label)], [(style, text)]])
            continue
        for number, part in enumerate(flow(text, max(page.width - _LABEL - 1, 20))):
            yield [("key", pad("" if number else label, _LABEL) + " "), (style, part)]


def _facts(view: InfoView, page: Page) -> Iterator[tuple[str, Span]]:
    yield "database", ("title", view.location)
    yield "engine", ("", view.backend + (f", {size(view.size)}" if view.size is not None else ""))
    yield "schema", ("", view.generation)
    for label, text in view.facts.items():
        yield label, ("", text)
    yield "threads", ("", f"{view.threads:,}")
    yield "checkpoints", ("", f"{view.checkpoints:,}")
    yield "writes", ("", f"{view.writes:,}")
    if view.oldest and view.newest:
        yield "oldest", ("", _when(view.oldest, page))
        yield "newest", ("", _when(view.newest, page))
    if view.sampled:
        yield "written by", ("", f"{_counts(view.eras) or 'unknown'}{_of_sample(view)}")
        yield "encodings", ("", _counts(view.encodings))
        yield "encryption", _encryption(view)
    if view.corrupt:
        yield "unreadable", ("bad", f"{view.corrupt}{_of_sample(view)}")
    if view.unwritable:
        yield "changes", ("bad", f"refused: {view.unwritable.removeprefix(f'{view.location}: ')}")
    for one in view.side_effects:
        yield "side effect", ("" if one.accepted else "waiting", _side_effect(one))
    for channel, name in view.reducers.items():
        yield "reducer", ("", f"{channel} {name}, remembered (ckpt operations --forget-reducer forgets)")
    for caveat in view.caveats:
        yield "caveat", ("waiting", caveat)
    able = [one for one in view.abilities if not view.unwritable or one not in ("write", "atomic")]
    yield "supports", ("", ", ".join(_ABILITIES.get(ability, ability) for ability in able) or "reading")


def _side_effect(one: SideEffectLine) -> str:
    consent = "accepted" if one.accepted else "changes need --with-triggers"
    if one.altered:
        consent = f"it was accepted and has changed since: {consent}"
    on_table = "" if one.table == one.relation else f" on {one.table}"
    changes = " or ".join(ROW_CHANGES[kind][1] for kind in one.on)
    return f"{one.kind} {one.name}{on_table} fires when a row is {changes} {one.relation}; {consent}"


def _when(text: str, page: Page) -> str:
    if page.width is None:
        return text
    then = datetime.fromisoformat(text).timestamp()
    since = ago(then, page.now)
    return f"{clock(then)} ({since})" if since.endswith("ago") else clock(then)


def _counts(counts: dict[str, int]) -> str:
    if len(counts) == 1:
        return next(iter(counts)) or "untagged"
    return ", ".join(f"{name or 'untagged'} ({count:,})" for name, count in counts.items())


def _of_sample(view: InfoView) -> str:
    return f" (of {view.sampled:,} checkpoints read)" if view.sampled != 1 else " (one checkpoint read)"


def _encryption(view: InfoView) -> Span:
    ciphers = sorted({tag.split("+", 1)[1] for tag in view.encodings if "+" in tag})
    if not ciphers:
        return "", "none seen"
    if view.locked:
        some = f"{view.locked:,} of {view.sampled:,} checkpoints read"
        why = f"the key doesn't fit {some}" if view.key == "wrong" else f"no key was given, {some} need one"
        return "bad", f"{', '.join(ciphers)}; {why} (--key-env NAME)"
    return "good", f"{', '.join(ciphers)}; the key fits"
