"""Triggers, rules and foreign keys that a change would set off: refused until a person accepts each as it is."""

import json
from collections.abc import Collection, Iterable, Iterator

from ckpt_cli.errors import Refused
from ckpt_cli.model import RowChange
from ckpt_cli.operations.file import LogFile
from ckpt_cli.savers.about import SideEffect
from ckpt_cli.savers.contract import Saver
from ckpt_cli.views.side_effects import SideEffectLine

_SETTING = "accepted side effects"


def kind_of(change: RowChange) -> str:
    """What is done to a row: ``add``, ``change`` or ``remove``."""
    if change.before is None:
        return "add"
    return "remove" if change.after is None else "change"


def set_off(side_effects: Iterable[SideEffect], done: Collection[tuple[str, str]]) -> list[SideEffect]:
    """Those that fire for what is done, in pairs of table and kind."""
    return [one for one in side_effects if any((one.relation, kind) in done for kind in one.on)]


def must_be_accepted(found: Iterable[SideEffect], accepted: Collection[SideEffect]) -> None:
    """Refuse side effects that nobody accepted.

    Raises:
        Refused: naming each.
    """
    refused = [one for one in found if one not in accepted]
    if refused:
        raise Refused(
            f"the database would do more than this plan: {listed(refused)}; nothing was written",
            hint="what they do isn't logged and isn't undone; --with-triggers goes on, "
            "--with-triggers --remember also from now on",
        )


def listed(side_effects: Iterable[SideEffect]) -> str:
    """Side effects in words."""
    return ", ".join(dict.fromkeys(f"{one.kind} {one.name} on {one.table}" for one in side_effects))


def lines(side_effects: Iterable[SideEffect], accepted: Collection[SideEffect]) -> list[SideEffectLine]:
    """Side effects for a view, with whether each is accepted."""
    return [SideEffectLine(*one[:4], sorted(one.on), one in accepted) for one in side_effects]


def watched(saver: Saver, changes: Iterable[RowChange], accepted: Collection[SideEffect]) -> Iterator[RowChange]:
    """Changes as they are, as long as they set off nothing but what is accepted; inside the transaction.

    Raises:
        Refused: something else would happen too, which was made since the plan was shown.
    """
    found: list[SideEffect] | None = None
    done: set[tuple[str, str]] = set()
    for change in changes:
        pair = change.relation, kind_of(change)
        if pair not in done:
            done.add(pair)
            found = list(saver.side_effects()) if found is None else found
            must_be_accepted(set_off(found, {pair}), accepted)
        yield change


def remembered(log: LogFile) -> list[SideEffect]:
    """What a person has accepted for this database for good."""
    stored = json.loads(log.setting(_SETTING) or "[]")
    return [SideEffect(kind, name, table, of, frozenset(on), says) for kind, name, table, of, on, says in stored]


def remember(log: LogFile, side_effects: Iterable[SideEffect]) -> None:
    """Accept some for good, beside those accepted before; an older form of one of them is forgotten."""
    new = list(side_effects)
    named = {one[:4] for one in new}
    _store(log, [*(one for one in remembered(log) if one[:4] not in named), *new])


def forget(log: LogFile) -> list[SideEffect]:
    """Accept none any more, and return those that were."""
    found = remembered(log)
    if found:
        log.set_setting(_SETTING, None)
    return found


def _store(log: LogFile, side_effects: Iterable[SideEffect]) -> None:
    plain = [[*one[:4], sorted(one.on), one.definition] for one in side_effects]
    log.set_setting(_SETTING, json.dumps(plain))
