"""The options that say what ``ckpt prune`` keeps: ``--keep-last N``, ``--keep-within 30d`` and others."""

from typing import Annotated, Any, NamedTuple

import typer

from ckpt_cli.errors import UsageError
from ckpt_cli.history.lineage.typed_times import moment
from ckpt_cli.plans.idle_threads import Idle
from ckpt_cli.plans.retention_policies import Policies
from ckpt_cli.session import Session

_SOURCES = ("input", "loop", "update", "fork")


def _option(name: str, metavar: str | None, text: str, **more: Any) -> Any:
    return typer.Option(name, metavar=metavar, help=text, show_default=False, rich_help_panel="What stays", **more)


class KeepOptions(NamedTuple):
    """The policies, as typed. They add up: a checkpoint stays if one of them keeps it."""

    last: Annotated[int, _option("--keep-last", "N", "The newest N checkpoints of each branch.", min=0)] = 0
    within: Annotated[
        str | None, _option("--keep-within", "TIME", "Checkpoints that are not older: 30d, 12h, 2026-11-01.")
    ] = None
    daily: Annotated[
        int,
        _option("--keep-daily", "N", "The newest of each of the last N days (UTC) that have any.", min=0),
    ] = 0
    inputs: Annotated[bool, _option("--keep-inputs", None, "The inputs; same as --keep-source input.")] = False
    source: Annotated[
        list[str] | None, _option("--keep-source", "SOURCE", "Those with this source: input, loop, update, fork.")
    ] = None
    tips: Annotated[bool, _option("--keep-tips", None, "The tips of branches, as always: nothing more.")] = False
    tags: Annotated[bool, _option("--keep-tag", None, "Tagged checkpoints, as always: nothing more.")] = False
    idle: Annotated[
        str | None,
        typer.Option(
            "--idle",
            metavar="TIME",
            help="Remove whole threads without activity for so long (90d), but none that waits or failed, unless "
            "--status names that.",
            show_default=False,
            rich_help_panel="What goes",
        ),
    ] = None


NO_POLICY = KeepOptions()
"""The default of a command's parameter."""


def parse_idle(session: Session, options: KeepOptions, statuses: tuple[str, ...]) -> Idle | None:
    """Which threads go as a whole; None if none do. Those of these `statuses` go too.

    Raises:
        UsageError: the time can't be parsed.
    """
    return None if options.idle is None else Idle(moment(options.idle, session.clock()), statuses)


def parse_policies(session: Session, options: KeepOptions) -> Policies:
    """The policies that the options name.

    Raises:
        UsageError: a time or a source can't be parsed, or no policy was named.
    """
    sources = dict.fromkeys([*(["input"] if options.inputs else ()), *(options.source or ())])
    if unknown := next((one for one in sources if one not in _SOURCES), None):
        raise UsageError(f"{unknown!r} is no source of a checkpoint", hint=f"it is one of {', '.join(_SOURCES)}")
    policies = Policies(
        last=options.last,
        since=None if options.within is None else moment(options.within, session.clock()),
        within=options.within or "",
        daily=options.daily,
        sources=tuple(sources),
        tips=options.tips,
        tagged=options.tags,
    )
    if policies.is_empty and options.idle is None:
        hint = "--keep-last N, --keep-within 30d, --keep-daily N, --keep-inputs … add up; --keep-tips alone keeps least"
        raise UsageError("what stays? name at least one policy", hint=hint)
    return policies
