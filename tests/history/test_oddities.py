"""An odd step is suspect only if its value came from nowhere: what honest reducers do now and then is no suspicion."""

from collections.abc import Callable
from typing import Any

import pytest

from ckpt_cli.history.reducers.learning import Tally, add_up
from ckpt_cli.history.reducers.reducers import ABSENT, ChannelStep
from tests.history.recorded import message

Fold = Callable[[Any, Any], Any]

RISING = [[n] for n in range(20)]
NUMBERS = [3, 5, 1, 4, 2, 9, 6, 8, 2, 7, 5, 3, 6, 1, 9, 4, 5, 7]
MORE = NUMBERS * 2


def steps(fold: Fold, writes: list[Any], start: Any) -> list[ChannelStep]:
    """The steps of a channel that begins empty."""
    recorded, before, value = [], ABSENT, start
    for write in writes:
        value = fold(value, write)
        recorded.append(ChannelStep(before, [write], value))
        before = value
    return recorded


def suspected(recorded: list[ChannelStep]) -> list[str]:
    """The reducers that make a step suspect."""
    tally = Tally()
    for step in recorded:
        tally.add(step)
    return [] if tally.candidates else [one.reducer.name for one in tally.suspected]


HONEST: dict[str, tuple[Fold, list[Any], Any]] = {
    "a list is cut": (lambda a, b: (a + b)[-19:], RISING, []),
    "a list is summed up": (lambda a, b: a + b if len(a + b) < 20 else ["19 items", *b], RISING, []),
    "an item comes twice in a row": (lambda a, b: a + [i for i in b if i not in a[-1:]], [*RISING, [19], [3]], []),
    "an item is null": (lambda a, b: [i for i in a + b if i is not None], [*RISING[:9], [None, 2], *RISING[9:]], []),
    "an empty list empties": (lambda a, b: a + b if b else [], [*RISING[:9], [], *RISING[9:]], []),
    "a number is no more than a limit": (lambda _, b: min(b, 9), [*MORE, 12, 4], 0),
    "a sum is no more than a limit": (lambda a, b: min(a + b, 80), NUMBERS, 0),
    "a sum begins again": (lambda a, b: (a + b) % 85, NUMBERS, 0),
    "a negative number": (lambda _, b: b if b >= 0 else 100 - b, [*MORE, -5, 4], 0),
    "a number is rounded": (lambda a, b: round(a + b, 1), [0.5, 1.5] * 8 + [0.25], 0.0),
    "a text is cut": (lambda _, b: b[:4], [*"abcdefghijkl", "longer", "m"], ""),
    "an empty text": (lambda _, b: b or "none", [*"abcdefghijkl", "", "m"], ""),
    "a text is in small letters": (lambda _, b: b.lower(), [*"abcdefghijkl", " Upper ", "m"], ""),
    "the greater value of a key": (
        lambda a, b: {k: max(v, a.get(k, v)) for k, v in {**a, **b}.items()},
        [*({f"k{n % 7}": n} for n in range(20)), {"k1": 2}, {"k2": 30}],
        {},
    ),
    "the first key that comes again is counted": (
        lambda a, b: {**a, **{k: a.get(k, 0) + v for k, v in b.items()}},
        [*({f"k{n}": n + 1} for n in range(12)), {"k4": 5}],
        {},
    ),
}
FORGED: dict[str, tuple[Fold, list[Any], Any, Any]] = {
    "a list": (lambda a, b: a + b, RISING, [], ["forged"]),
    "a number": (lambda _, b: b, MORE, 0, 99),
    "a number that is less": (lambda _, b: b, [n + 10 for n in MORE], 0, 3),
    "a sum": (lambda a, b: a + b, NUMBERS, 0, 1000),
    "a text": (lambda _, b: b, [*"abcdefghijkl"], "", "forged"),
    "a dict": (lambda a, b: {**a, **b}, [{f"k{n % 7}": n} for n in range(20)], {}, {"k1": "forged"}),
}


@pytest.mark.parametrize("name", HONEST)
def test_what_an_honest_reducer_does_once_is_not_suspect(name: str) -> None:
    """It does what a known one does in all other steps, and the odd one is one of them."""
    recorded = steps(*HONEST[name])
    tally = Tally()
    for step in recorded:
        tally.add(step)
    assert tally.lacks_one and len(recorded) > 11
    assert suspected(recorded) == []


@pytest.mark.parametrize("name", FORGED)
@pytest.mark.parametrize("back", [1, 5])
def test_a_value_from_nowhere_is_suspect(name: str, back: int) -> None:
    """At the head, and where the agent went on from it."""
    fold, writes, start, forged = FORGED[name]
    recorded = steps(fold, writes[:-back], start)
    recorded[-1] = recorded[-1]._replace(after=forged)
    for write in writes[len(writes) - back + 1 :]:
        before = recorded[-1].after
        recorded.append(ChannelStep(before, [write], fold(before, write)))
    assert suspected(recorded) != []


@pytest.mark.parametrize("name", ["a list", "a dict"])
def test_what_the_next_step_did_not_see_is_suspect_whatever_it_is(name: str) -> None:
    """A part that is gone may be honest, but not if the next step has it again."""
    fold, writes, start, _ = FORGED[name]
    recorded = steps(fold, writes, start)
    lost = recorded[9].after[1:] if name == "a list" else {"k1": recorded[9].after["k1"]}
    at_head = [*recorded[:9], recorded[9]._replace(after=lost)]
    assert suspected(at_head) == []
    assert suspected([*at_head, recorded[10]._replace(before=lost), *recorded[11:]]) != []


def test_other_threads_show_what_is_usual() -> None:
    """An empty text that only this thread wrote is rare; once three other steps have it, the odd value is suspect."""
    odd, usual = steps(lambda _, b: b or "none", [*"abcdefghij", ""], ""), steps(lambda _, b: b, [""] * 3, "")
    tallies = [Tally(), Tally()]
    for tally, recorded in zip(tallies, (odd, usual), strict=True):
        for step in recorded:
            tally.add(step)
    assert add_up(tallies[:1]).suspected == []
    assert [one.reducer.name for one in add_up(tallies).suspected][:1] == ["last value"]


def test_a_message_with_another_text_is_suspect_and_one_that_is_trimmed_is_not() -> None:
    """A custom merge that forgets old messages gives ids to new ones."""
    talk = [message(f"text {n}", str(n)) for n in range(12)]
    recorded = [ChannelStep(talk[:n], [[talk[n]]], talk[: n + 1]) for n in range(1, 11)]
    last = ChannelStep(talk[:11], [[message("text 11")]], [])
    assert suspected([*recorded, last._replace(after=[*talk[5:11], message("text 11", "id")])]) == []
    assert suspected([*recorded, last._replace(after=[*talk[:11], message("forged", "id")])]) != []


def test_values_nested_at_any_depth_are_taken() -> None:
    """What is too deep to look into is no suspicion, and no error."""
    deep: Any = "x"
    for _ in range(5000):
        deep = [deep]
    recorded = steps(lambda _, b: b, [["y"]] * 12, [])
    assert suspected([*recorded, recorded[-1]._replace(after=[deep])]) == []


def test_what_was_there_is_no_kind_of_what_is_written() -> None:
    """A key that held an empty text, or a negative number, shows nothing of the new value under it."""
    tally = Tally()
    for step in steps(lambda a, b: {**a, **b}, [{"a": ""}, {"b": "x"}, {"c": -1}], {}):
        tally.add(step)
    assert tally.shows_kinds_of(ChannelStep({"a": "", "c": -1}, [{"a": "full", "c": 2}], {}))
    assert not tally.shows_kinds_of(ChannelStep({"a": "x"}, [{"a": None}, []], {}))
