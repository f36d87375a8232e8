"""The answer of ``stats``: what threads do and what takes space, each part in its own moment."""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple, TypeVar

from ckpt_cli.history.lineage import ids
from ckpt_cli.history.state.channels import ERROR, INTERRUPT
from ckpt_cli.history.tasks.snapshot import Status
from ckpt_cli.layouts import read_metadata
from ckpt_cli.output.quantities import iso
from ckpt_cli.parameters.selector import ThreadSelection
from ckpt_cli.queries.fleet_sizes import Periods, add_sizes
from ckpt_cli.queries.fleet_status import FleetStatus, Halted
from ckpt_cli.queries.thread_pages import Heads
from ckpt_cli.reading import Reader
from ckpt_cli.savers.paging import pages
from ckpt_cli.session import Session
from ckpt_cli.views.stats import AgentCount, HaltedView, StatsView, TextCount

T = TypeVar("T")

AGENT_KEYS = ("assistant_id", "graph_id")
"""The keys of metadata by which LangGraph's server names an agent (langgraph-api, config of a run)."""

_AT_ONCE = 500  # threads that are read in one moment
_DIFFERENT, _OTHERS = 2000, "(others)"  # different texts under one key that are kept apart


class StatsRequest(NamedTuple):
    """What the user asked for: about which threads, by which key of metadata, and whether values may be read."""

    chosen: ThreadSelection
    by: Sequence[str] = AGENT_KEYS
    values: bool = False


def run(session: Session, request: StatsRequest) -> StatsView:
    """The view of the database, or of the chosen threads."""
    saver = session.reader.saver
    view = StatsView(session.read(lambda reader: reader.saver.about().location), False, saver.unit)
    view.selected = not request.chosen.is_everything
    heads = session.read(lambda reader: _heads(reader, request))
    _add_status(session, view, request, heads)
    _add_sizes(session, view, heads)
    session.read(lambda reader: _add_agents(reader, view, request, heads))
    if request.values:
        _add_values(session, view, heads)
    session.read(lambda reader: _add_space(reader, view))
    if request.chosen.where is not None and request.chosen.where.undecided:
        session.say(request.chosen.where.complaint or "")
    return view


def _heads(reader: Reader, request: StatsRequest) -> Heads | None:
    """The threads whose heads are looked at one by one; None if the database finds those that wait or failed."""
    if request.chosen.is_everything:
        return Heads(reader.saver.threads()) if request.values else None
    from ckpt_cli.queries.selected_threads import selected_threads

    return Heads(selected_threads(reader, request.chosen))


def _add_status(session: Session, view: StatsView, request: StatsRequest, heads: Heads | None) -> None:
    now = session.clock()
    if heads is None:
        found = session.read(lambda reader: Heads(reader.saver.threads_with([INTERRUPT, ERROR])))
    else:
        found = heads
    status = FleetStatus(session.reader, closely=request.values)
    for page in pages(found, _AT_ONCE):
        session.read(_call(status.add, page))
    view.waiting, view.failed = status.statuses[Status.WAITING], status.statuses[Status.FAILED]
    view.unreadable = status.unreadable
    if request.values:
        view.done, view.unfinished = status.statuses[Status.DONE], status.statuses[Status.UNFINISHED]
        view.unknown = status.statuses[Status.UNKNOWN]
    view.errors = [TextCount(text, at.node, number, at.inside) for (at, text), number in status.errors.most_common()]
    view.questions = [TextCount(text, at.node, number) for (at, text), number in status.questions.most_common()]
    waiting, failed = status.oldest(Status.WAITING), status.oldest(Status.FAILED)
    view.halted = [*_halted("waiting", waiting, now), *_halted("failed", failed, now)]
    view.more_waiting, view.more_failed = view.waiting - len(waiting), view.failed - len(failed)
    view.oldest_waiting = _age(waiting, view.waiting, now)
    view.oldest_failed = _age(failed, view.failed, now)


def _halted(status: str, threads: Sequence[Halted], now: float) -> Iterator[HaltedView]:
    for one in threads:
        age = round(max(now - (one.since or now), 0.0), 3)
        yield HaltedView(one.thread_id, status, iso(one.since), age, one.place.node, one.text, one.place.inside)


def _age(oldest: Sequence[Halted], number: int, now: float) -> float | None:
    """The seconds since the oldest head was made: 0 if there is none, None if no head's time is known."""
    if not oldest:
        return None if number else 0.0
    return round(max(now - (oldest[0].since or now), 0.0), 3)


def _add_sizes(session: Session, view: StatsView, heads: Heads | None) -> None:
    now = session.clock()
    only = heads if view.selected else None
    view.threads, newest = session.read(_totals) if only is None else (len(only), _newest(only))
    view.idle = None if newest is None else round(max(now - newest, 0.0), 3)
    periods = Periods(now if newest is None else newest, now)
    session.read(lambda reader: add_sizes(reader, view, None if only is None else _id_pages(only), periods, now))
    if view.bytes is None:
        view.notes.append(
            "this database can't tell the bytes of checkpoints without reading them: --values adds them up"
        )


def _totals(reader: Reader) -> tuple[int, float | None]:
    totals = reader.saver.totals()
    return totals.threads, ids.unix_time(totals.newest or "")


def _newest(heads: Heads) -> float | None:
    times = (ids.unix_time(thread.head.checkpoint_id) for thread in heads)
    return max((when for when in times if when is not None), default=None)


def _id_pages(heads: Heads) -> Iterator[Collection[str]]:
    """The ids of the chosen threads, page by page."""
    for page in pages(heads, _AT_ONCE):
        yield [thread.thread_id for thread in page]


def _add_agents(reader: Reader, view: StatsView, request: StatsRequest, heads: Heads | None) -> None:
    counted = None if view.selected else reader.saver.heads_by(request.by)
    if counted is None and heads is None and request.by is AGENT_KEYS:
        view.notes.append("threads by agent need the metadata of every head: --by KEY or --values")
        return
    by_key: dict[str, Counter[str | None]] = {key: Counter() for key in request.by}
    for texts, number in _by_metadata(reader, request.by, heads) if counted is None else counted:
        for key, text in zip(request.by, texts, strict=True):
            by_key[key][text if text in by_key[key] or len(by_key[key]) < _DIFFERENT else _OTHERS] += number
    for key, counts in by_key.items():
        known = sorted(
            ((text, number) for text, number in counts.items() if number),
            key=lambda item: (-item[1], item[0] is None, item[0] or ""),
        )
        if any(text is not None for text in counts) or request.by is not AGENT_KEYS:
            view.agents += [AgentCount(key, text, number) for text, number in known]


def _by_metadata(
    reader: Reader, keys: Sequence[str], heads: Heads | None
) -> Iterator[tuple[tuple[str | None, ...], int]]:
    """The texts in the metadata of each head, by reading it."""
    for page in pages(reader.saver.threads() if heads is None else heads, _AT_ONCE):
        left = len(page)
        for _, payload in reader.saver.metadata([thread.head for thread in page]):
            metadata = read_metadata(reader.value(payload))[0]
            yield tuple(_as_text(metadata.get(key)) for key in keys), 1
            left -= 1
        yield (None,) * len(keys), left


def _as_text(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, default=str)


def _add_values(session: Session, view: StatsView, heads: Heads | None) -> None:
    from ckpt_cli.queries.fleet_values import ChannelSizes

    sizes = ChannelSizes(session.reader)
    for page in pages(heads or (), _AT_ONCE):
        session.read(_call(sizes.add, [thread.thread_id for thread in page]))
    sizes.fill(view)
    if sizes.apart:
        view.notes.append("this database stores each version of a channel once, apart from its checkpoints")


def _add_space(reader: Reader, view: StatsView) -> None:
    space = reader.saver.space()
    view.file_bytes = reader.saver.about().size if space.bytes is None else space.bytes
    view.free_bytes, view.after_delete, view.tables = space.free, space.after_delete, dict(space.tables)


def _call(work: Callable[[T], None], page: T) -> Callable[[Reader], None]:
    return lambda _: work(page)
