"""Triggers, rules, foreign keys that a change sets off: refused until accepted, or if altered since."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from types import MappingProxyType

from ckpt_cli.errors import Refused
from ckpt_cli.model import RowChange
from ckpt_cli.operations.log_file import LogFile
from ckpt_cli.savers.about import SideEffect
from ckpt_cli.savers.contract import Saver
from ckpt_cli.views.side_effects import SideEffectLine

_SETTING = "accepted side effects"

Names = tuple[str, str, str, str]
"""Kind, name, table and relation of a side effect, which identify it even if its definition changes."""
_NEVER: Mapping[Names, float] = MappingProxyType({})


def kind_of(change: RowChange) -> str:
    """The kind of a row change: ``add``, ``change`` or ``remove``."""
    if change.before is None:
        return "add"
    return "remove" if change.after is None else "change"


def select_triggered(side_effects: Iterable[SideEffect], done: Collection[tuple[str, str]]) -> list[SideEffect]:
    """The side effects that these changes set off; each change is a pair of table and kind."""
    return [one for one in side_effects if any((one.relation, kind) in done for kind in one.on)]


def must_be_accepted(
    found: Iterable[SideEffect], accepted: Collection[SideEffect], since: Mapping[Names, float] = _NEVER
) -> None:
    """Refuse side effects that nobody accepted.

    Args:
        found: the side effects that would happen.
        accepted: the side effects that a person accepted.
        since: the times when side effects with these names were accepted permanently, in seconds since 1970.

    Raises:
        Refused: the message names each refused side effect, and says which were accepted in an earlier form.
    """
    refused = [one for one in found if one not in accepted]
    if refused:
        altered = [one for one in refused if is_altered(one, accepted)]
        changed = "".join(f"; {_describe_altered(one, since)}" for one in dict.fromkeys(one[:4] for one in altered))
        raise Refused(
            f"the database would do more than this plan: {describe(refused)}{changed}; nothing was written",
            hint="what they do isn't logged and can't be undone; --with-triggers accepts them for this change, "
            "--with-triggers --remember also for later ones",
        )


def is_altered(one: SideEffect, accepted: Collection[SideEffect]) -> bool:
    """Whether an earlier form of a side effect was accepted, but not this one."""
    return one not in accepted and any(other[:4] == one[:4] for other in accepted)


def _describe_altered(names: Names, since: Mapping[Names, float]) -> str:
    at = since.get(names)
    when = "" if at is None else f" on {datetime.fromtimestamp(at, UTC):%Y-%m-%d}"
    return f"{names[0]} {names[1]} was accepted as it was{when or ' then'}, and has changed since"


def describe(side_effects: Iterable[SideEffect]) -> str:
    """The side effects as one text."""
    return ", ".join(dict.fromkeys(f"{one.kind} {one.name} on {one.table}" for one in side_effects))


def make_lines(side_effects: Iterable[SideEffect], accepted: Collection[SideEffect]) -> list[SideEffectLine]:
    """The lines of a view for side effects; each line says whether a person has accepted it."""
    return [
        SideEffectLine(*one[:4], sorted(one.on), one in accepted, is_altered(one, accepted)) for one in side_effects
    ]


def check_side_effects(
    saver: Saver, changes: Iterable[RowChange], accepted: Collection[SideEffect]
) -> Iterator[RowChange]:
    """Give the changes unchanged, inside the transaction, as long as they set off only accepted side effects.

    Raises:
        Refused: a change sets off another side effect, which was created after the plan was shown.
    """
    found: list[SideEffect] | None = None
    checked: set[tuple[str, str]] = set()
    for change in changes:
        pair = change.relation, kind_of(change)
        if pair not in checked:
            checked.add(pair)
            found = list(saver.side_effects()) if found is None else found
            must_be_accepted(select_triggered(found, {pair}), accepted)
        yield change


def load_accepted(log: LogFile) -> list[SideEffect]:
    """The side effects that a person has accepted permanently for this database."""
    return [one for one, _ in _stored(log)]


def load_accepted_times(log: LogFile) -> dict[Names, float]:
    """The stored times when side effects were accepted permanently, in seconds since 1970; some have no time."""
    return {one[:4]: at for one, at in _stored(log) if at is not None}


def _stored(log: LogFile) -> Iterator[tuple[SideEffect, float | None]]:
    for kind, name, table, of, on, says, *at in json.loads(log.setting(_SETTING) or "[]"):
        yield SideEffect(kind, name, table, of, frozenset(on), says), at[0] if at else None


def remember(log: LogFile, side_effects: Iterable[SideEffect], at: float) -> None:
    """Accept more side effects permanently; a new form of a side effect replaces its older form."""
    new = list(side_effects)
    named = {one[:4] for one in new}
    kept = [(one, when) for one, when in _stored(log) if one[:4] not in named]
    stored = [[*one[:4], sorted(one.on), one.definition, when] for one, when in [*kept, *((one, at) for one in new)]]
    log.set_setting(_SETTING, json.dumps(stored))


def forget(log: LogFile) -> list[SideEffect]:
    """Withdraw all acceptances, and give the side effects that were accepted."""
    accepted = load_accepted(log)
    if accepted:
        log.set_setting(_SETTING, None)
    return accepted
