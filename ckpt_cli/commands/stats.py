"""``ckpt stats``: what the threads of a database do, what takes its space, and whether limits are kept."""

from enum import StrEnum
from typing import Annotated

import typer

from ckpt_cli.errors import UsageError
from ckpt_cli.parameters.conditions import NAMES, Condition, Unit, parse_conditions, spell_number
from ckpt_cli.parameters.options import Threads
from ckpt_cli.parameters.selector import NOTHING_TYPED, SelectorOptions, parse_selector
from ckpt_cli.queries.fleet import AGENT_KEYS, StatsRequest, run
from ckpt_cli.session import Session
from ckpt_cli.values.counts import count_text
from ckpt_cli.views.stats import CheckLine, Sample, StatsView

_TEXTS = 10  # errors and questions, the most frequent, that become samples: a monitor keeps each for ever

_AT_LEAST = ("waiting", "failed", "oldest_waiting", "oldest_failed")
"""The numbers that may be larger if threads can't be read."""

NEEDS_VALUES = ("done", "unfinished", "unknown", "repeated_bytes")
"""The numbers that are only known if values were read."""


class StatsFormat(StrEnum):
    """The formats in which figures are printed."""

    TEXT = "text"
    OPENMETRICS = "openmetrics"


_By = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        metavar="KEY",
        help="Count threads by this key of their heads' metadata; may be repeated. Default: assistant_id, graph_id.",
        show_default=False,
    ),
]
_Values = Annotated[
    bool,
    typer.Option("--values", help="Read the values too: every status, channels inside checkpoints, repeated values."),
]
_Check = Annotated[
    list[str] | None,
    typer.Option(
        "--check",
        metavar="CONDITION",
        help="Exit with 1 unless it holds: 'waiting == 0', 'bytes < 10GB', 'oldest_waiting < 2h'; may be repeated.",
        show_default=False,
    ),
]
_Format = Annotated[
    StatsFormat,
    typer.Option("--format", metavar="FORMAT", help="text, or openmetrics for a textfile collector of Prometheus."),
]
_Advise = Annotated[
    bool,
    typer.Option("--advise", help="Print SQL or commands that the sizes speak for. They are never run."),
]


def stats(
    session: Session,
    threads: Threads = None,
    selector: SelectorOptions = NOTHING_TYPED,
    by: _By = None,
    values: _Values = False,
    check: _Check = None,
    format_: _Format = StatsFormat.TEXT,
    advise: _Advise = False,
) -> StatsView:
    """Count threads by what they do, and measure what takes space.

    First come the threads that wait or failed, by question and error, the oldest ones by name; then checkpoints, writes
    and bytes by thread, namespace, channel, node, type and age. The sizes come from the database, without reading
    values. What the database can't tell is left out, and said.

    --values reads the values too: for the other statuses, the channels inside checkpoints, and how much is stored
    again in each checkpoint without a change.

    Examples:
      ckpt stats
      ckpt stats support-42 --values
      ckpt stats --since 1d --by user_id
      ckpt stats --check 'waiting == 0' --check 'bytes < 10GB' --check 'oldest_waiting < 2h'
      ckpt stats --format openmetrics > /var/lib/node_exporter/ckpt.prom
      ckpt stats --advise
    """
    conditions = parse_conditions(check or ())
    for condition in conditions:
        if condition.name in NEEDS_VALUES and not values:
            raise UsageError(f"--check {condition.name} needs the values", hint="add --values, which reads them")
    request = StatsRequest(parse_selector(session, selector, threads), by or AGENT_KEYS, values)
    view = run(session, request)
    view.samples = _samples(view) if format_ is StatsFormat.OPENMETRICS else None  # type: ignore[misc]
    view.checks = [_checked(view, condition) for condition in conditions]
    if advise:
        from ckpt_cli.queries.advice import advice

        view.advised = True  # type: ignore[misc]
        view.advice = session.read(lambda reader: advice(reader, view))
    return view


def _checked(view: StatsView, condition: Condition) -> CheckLine:
    """A condition with its number; it doesn't hold if threads that can't be read may break it, or it isn't known."""
    value: float | None = getattr(view, condition.name)
    shown = "unknown" if value is None else spell_number(value, condition.unit)
    holds = value is not None and condition.holds(value)
    if value is not None and view.unreadable and condition.name in _AT_LEAST:
        shown += f", and {count_text(view.unreadable, 'thread')} can't be read"
        holds = holds and condition.is_lower_bound
    return CheckLine(condition.text, value, holds, shown)


def _samples(view: StatsView) -> list[Sample]:
    """The numbers of the view that are known, then threads by status, error and question."""
    database = ("database", view.location)
    units = {Unit.BYTES: "", Unit.SECONDS: "_seconds", Unit.RATE: "_per_hour", Unit.COUNT: ""}
    known = {name: getattr(view, name) for name in NAMES}
    samples = [
        Sample(f"ckpt_{name}{units[NAMES[name].unit]}", NAMES[name].meaning, (database,), value)
        for name, value in known.items()
        if value is not None
    ]
    for kind, lines in (("errors", view.errors), ("questions", view.questions)):
        for one in lines[:_TEXTS]:
            labels = (database, ("node", one.node or ""), ("text", one.text))
            samples.append(
                Sample(f"ckpt_threads_by_{kind}", f"threads by {kind}, the {_TEXTS} most frequent", labels, one.threads)
            )
    return samples
