"""Who gave parts of a value; of equal elements that can't be distinguished, all candidates."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from ckpt_cli.history.diff.equal_elements import When
from ckpt_cli.history.diff.part_moments import Alternatives
from ckpt_cli.history.tasks.value_credit import name_of
from ckpt_cli.history.tasks.write_signs import Explains
from ckpt_cli.history.tasks.written_parts import adds
from ckpt_cli.queries.origins import Origins
from ckpt_cli.views.blame import Origin

_NAMED = 5  # steps that the reason names
_EQUAL = "it can't be distinguished from equal elements"
_UNREAD = "the value isn't known at the checkpoints in between"
_REASONS = {
    When.UNSEEN: "it may have gone and come again in steps that aren't stored",
    When.BETWEEN: _UNREAD,
    When.UNREAD: _UNREAD,
}


class Arrival(NamedTuple):
    """A part that came at the checkpoint with this number, or at one of the `others`."""

    number: int
    path: Sequence[Any]
    value: Any
    explains: Explains
    others: Alternatives


def part_origins(origins: Origins, arrivals: Sequence[Arrival]) -> Iterator[Origin]:
    """The origin of each part; where there are several, the newest, which isn't said to be proved."""
    numbers = _possible(origins, arrivals)
    wanted: dict[int, list[Explains]] = {}
    for one, some in zip(arrivals, numbers, strict=True):
        for number in some:
            wanted.setdefault(number, []).append(one.explains)
    found = {number: iter(some) for number, some in origins.read(wanted)}
    return (
        _joined([next(found[number]) for number in some], one.others)
        for one, some in zip(arrivals, numbers, strict=True)
    )


def _possible(origins: Origins, arrivals: Sequence[Arrival]) -> list[list[int]]:
    """The numbers of the checkpoints at which each part may have come, oldest first, as far as the writes show."""
    asked = [
        (place, number)
        for place, one in enumerate(arrivals)
        for number, other in one.others.items()
        if other.when in (When.WRITTEN, When.UNREAD)
    ]
    wanted: dict[int, list[Explains]] = {}
    for place, number in asked:
        one, other = arrivals[place], arrivals[place].others[number]
        is_unread = other.when is When.UNREAD
        explains = one.explains if is_unread else partial(adds, steps=one.path, value=one.value, size=other.size)
        wanted.setdefault(number, []).append(explains)
    answers: Mapping[int, Iterator[bool]] = {n: iter(some) for n, some in origins.check(wanted).items()}
    written = {pair: next(answers[pair[1]]) for pair in asked}
    possible = list[list[int]]()
    for place, one in enumerate(arrivals):
        left = (number for number in one.others if written.get((place, number), True))
        possible.append(sorted({one.number, *left}))
    return possible


def _joined(some: Sequence[Origin], others: Alternatives) -> Origin:
    newest = some[-1]
    if len(some) == 1:
        return newest
    names = dict.fromkeys(name for one in some for name in ([name_of(one.by, one.node)] if one.by else one.candidates))
    steps = [one.short if one.step is None else str(one.step) for one in some]
    older = ", or earlier" if len(steps) > _NAMED else ""
    at = f"{', '.join(steps[-_NAMED:-1])} or {steps[-1]}{older}"
    whens = {one.when for one in others.values()}
    reason = next((words for when, words in _REASONS.items() if when in whens), _EQUAL)
    why = f"{reason}: it came at step {at}"
    or_at = [one.checkpoint_id for one in some[:-1]]
    return newest._replace(by="", node=None, task=None, candidates=[*names], why=why, copied_from=None, or_at=or_at)
