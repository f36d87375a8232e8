"""The options that say what ``ckpt prune`` keeps: ``--keep-last N``, ``--max-bytes``, ``--policy``."""

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import typer

from ckpt_cli.completion.names import complete_policy, complete_reducer
from ckpt_cli.errors import UsageError
from ckpt_cli.history.lineage.typed_times import moment
from ckpt_cli.history.reducers.reducers import Reducer
from ckpt_cli.parameters.conditions import parse_size
from ckpt_cli.parameters.policy_file import read_policy
from ckpt_cli.parameters.reducers import named_reducers
from ckpt_cli.plans.idle_threads import Idle
from ckpt_cli.plans.prune import Rules
from ckpt_cli.plans.retention_policies import Policies
from ckpt_cli.session import Session

_SOURCES = ("input", "loop", "update", "fork")


def _option(name: str, metavar: str | None, text: str, panel: str = "What stays", **more: Any) -> Any:
    return typer.Option(name, metavar=metavar, help=text, show_default=False, rich_help_panel=panel, **more)


class KeepOptions(NamedTuple):
    """The policies, as typed. They add up: a checkpoint stays if one of them keeps it."""

    last: Annotated[int | None, _option("--keep-last", "N", "The newest N checkpoints of each branch.", min=0)] = None
    within: Annotated[
        str | None, _option("--keep-within", "TIME", "Checkpoints that are not older: 30d, 12h, 2026-11-01.")
    ] = None
    daily: Annotated[
        int | None,
        _option("--keep-daily", "N", "The newest of each of the last N days (UTC) that have any.", min=0),
    ] = None
    inputs: Annotated[bool, _option("--keep-inputs", None, "The inputs; same as --keep-source input.")] = False
    source: Annotated[
        list[str] | None, _option("--keep-source", "SOURCE", "Those with this source: input, loop, update, fork.")
    ] = None
    bytes: Annotated[
        str | None,
        _option(
            "--max-bytes",
            "SIZE",
            "The newest, as long as the thread takes at most so much (20MB): the oldest go first. What another option "
            "keeps stays, also if it takes more.",
        ),
    ] = None
    tips: Annotated[bool, _option("--keep-tips", None, "The tips of branches, as always: nothing more.")] = False
    tags: Annotated[bool, _option("--keep-tag", None, "Tagged checkpoints, as always: nothing more.")] = False
    idle: Annotated[
        str | None,
        _option(
            "--idle",
            "TIME",
            "Remove whole threads without activity for so long (90d), but none that waits or failed, unless "
            "--status names that.",
            "What goes",
        ),
    ] = None
    snapshot: Annotated[
        bool,
        _option(
            "--snapshot",
            None,
            "Store delta channels whole in checkpoints that stay, so that the ancestors from which they are rebuilt "
            "go too.",
            "What goes",
        ),
    ] = False
    reducer: Annotated[
        list[str] | None,
        _option(
            "--reducer",
            "CHANNEL=NAME",
            "For --snapshot: how a delta channel combines writes, where the history doesn't prove it: append, "
            "messages, …; may be repeated.",
            "What goes",
            autocompletion=complete_reducer,
        ),
    ] = None
    policy: Annotated[
        str | None,
        _option(
            "--policy",
            "NAME",
            "The options below policies.NAME in the config file; those that are typed too count instead.",
            autocompletion=complete_policy,
        ),
    ] = None


NO_POLICY = KeepOptions()
"""The default of a command's parameter."""

_KEYS = {
    "keep-last": "last",
    "keep-within": "within",
    "keep-daily": "daily",
    "keep-inputs": "inputs",
    "keep-source": "source",
    "max-bytes": "bytes",
    "keep-tips": "tips",
    "keep-tag": "tags",
    "idle": "idle",
    "snapshot": "snapshot",
    "reducer": "reducer",
}
_TEXTS = frozenset({"within", "bytes", "idle"})
_NUMBERS = frozenset({"last", "daily"})
_LISTS = frozenset({"source", "reducer"})


def parse_rules(session: Session, typed: KeepOptions, statuses: tuple[str, ...]) -> Rules:
    """What stays and what goes, as the options and the named policy say.

    Raises:
        UsageError: a value can't be parsed, there is no such policy in the config file, or no policy was named at all.
    """
    options = _with_named_policy(typed)
    idle = None if options.idle is None else Idle(moment(options.idle, session.clock()), statuses)
    policies = _parse_policies(session, options)
    if policies.is_empty and idle is None:
        hint = (
            "--keep-last N, --keep-within 30d, --keep-daily N, --keep-inputs … add up; --keep-tips alone keeps least; "
            "--policy NAME takes them from the config file"
        )
        raise UsageError("what stays? name at least one policy that keeps something", hint=hint)
    return Rules(policies, idle, _parse_reducers(session, options))


def _with_named_policy(typed: KeepOptions) -> KeepOptions:
    """The options with those of the named policy; what was typed counts."""
    if typed.policy is None:
        return typed
    kinds = {key: _kind(field) for key, field in _KEYS.items()}
    named = {_KEYS[key]: value for key, value in read_policy(typed.policy, kinds).items()}
    changed = {name: value for name, value in typed._asdict().items() if value != NO_POLICY._asdict()[name]}
    return NO_POLICY._replace(**{**named, **changed})


def _kind(field: str) -> type:
    if field in _TEXTS:
        return str
    if field in _NUMBERS:
        return int
    return list if field in _LISTS else type(NO_POLICY._asdict()[field])


def _parse_policies(session: Session, options: KeepOptions) -> Policies:
    sources = dict.fromkeys([*(["input"] if options.inputs else ()), *(options.source or ())])
    if unknown := next((one for one in sources if one not in _SOURCES), None):
        raise UsageError(f"{unknown!r} is no source of a checkpoint", hint=f"it is one of {', '.join(_SOURCES)}")
    return Policies(
        last=options.last or 0,
        since=None if options.within is None else moment(options.within, session.clock()),
        within=options.within or "",
        daily=options.daily or 0,
        sources=tuple(sources),
        bytes=None if options.bytes is None else parse_size(options.bytes),
        tips=options.tips,
        tagged=options.tags,
    )


def _parse_reducers(session: Session, options: KeepOptions) -> Mapping[str, Reducer] | None:
    """The reducers that were named, now or earlier, if snapshots are wanted."""
    if options.snapshot:
        return named_reducers(session, options.reducer).reducers
    if options.reducer:
        raise UsageError("--reducer names the reducer of a delta channel, of which --snapshot stores the value")
    return None
