"""The verdict of ``verify`` and ``replay --to``: whether a step's writes make the recorded state.

The reducers apply the writes stored on a checkpoint, and the result is its first ``loop`` child (langgraph 1.2
``pregel/_algo.py: apply_writes``). Updates, copies and second children have their own writes or none.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import permutations
from types import MappingProxyType
from typing import Any, NamedTuple

from ckpt_cli.history.reducers.agreement import is_empty
from ckpt_cli.history.reducers.channel_facts import (
    NOTHING,
    Change,
    ChannelFacts,
    channel_facts,
    channel_step,
    unreadable,
)
from ckpt_cli.history.reducers.explaining import BITS
from ckpt_cli.history.reducers.known_reducers import Reducers
from ckpt_cli.history.reducers.reducers import APPEND, GATHER, Reducer
from ckpt_cli.history.reducers.stretches import Stretch
from ckpt_cli.history.reducers.verdict import Verdict

ORDERED = 5
"""The most tasks of a step whose writes are tried in every order."""


class Judgement(NamedTuple):
    """The verdict about a step.

    Attributes:
        why: the reason in words; "" if all channels agree.
        channels: the channels that the writes don't explain.
    """

    verdict: Verdict
    why: str = ""
    channels: Sequence[str] = ()


def judge(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    written: Mapping[str, list[Any]],
    reducers: Reducers,
    *,
    moved: Collection[str] = (),
    rebuilt: Collection[str] = (),
    by_command: Mapping[str, list[Any]] = NOTHING,
    kept: Collection[str] = (),
    early: Mapping[str, Change] = MappingProxyType({}),
    ended: Mapping[str, Stretch] = MappingProxyType({}),
    learned: Mapping[str, int] = MappingProxyType({}),
    is_counted: bool = True,
) -> Judgement:
    """Apply the writes to the state `before`, and compare the result with the recorded state `after`.

    Args:
        before: channel to value.
        after: channel to value.
        written: channel to the values that were written to it.
        reducers: what is known of the channels.
        moved: the channels that got a new version; only such a channel can have changed.
        rebuilt: delta channels without a recorded value after the step; there is nothing to compare.
        by_command: channel to the values that a ``Command`` given as input wrote to it before the step.
        kept: the channels that have the same version as before.
        early: the channels that were stored with items of the next steps, which `after` leaves out, and how.
        ended: the stretches of delta channels that end with this step, each with all writes since the value before.
        learned: the bits of the reducers that explain channels which went on from another value than `before` has.
        is_counted: whether the evidence for reducers counts the step, as it counts those of runs.
    """
    came_early = ((channel, finding(channel, ChannelFacts(how), reducers)) for channel, how in early.items())
    findings = {channel: found for channel, found in came_early if found is not None}
    for channel in dict.fromkeys([*before, *after, *written, *by_command]):
        if channel in rebuilt or early.get(channel) is Change.PERHAPS_EARLY:
            continue
        stretch = ended.get(channel)
        part = channel_step(channel, before, written, after, by_command, moved=moved, kept=kept)
        step = part if stretch is None else stretch.last_part
        facts = channel_facts(step, reducers.tried(channel), learned.get(channel))
        if facts is None:
            found = stayed_full(channel, step.after, reducers) if is_counted else None
        else:
            found = finding(channel, facts._replace(counted=is_counted), reducers)
        if found is not None:
            doubt = stretch.doubt if stretch is not None else ""
            findings[channel] = (Verdict.UNKNOWN, doubt) if doubt else found
    is_unreadable = any(unreadable(one.get(c)) for c in findings for one in (before, after, written, by_command))
    return _sum_up(findings, is_unreadable=is_unreadable)


def _sum_up(findings: Mapping[str, tuple[Verdict, str]], *, is_unreadable: bool) -> Judgement:
    """The verdict about a step, from those about its channels."""
    if not findings:
        return Judgement(Verdict.AGREES)
    why = "; ".join(f"{channel}: {words}" for channel, (_, words) in findings.items())
    verdict = Verdict.UNKNOWN if is_unreadable else worst({one for one, _ in findings.values()})
    return Judgement(verdict, why, list(findings))


_WORST_FIRST = (Verdict.DIFFERS, Verdict.SUSPECT, Verdict.UNKNOWN)


def worst(verdicts: Collection[Verdict]) -> Verdict:
    """The verdict on a whole, from those on its parts."""
    return next((verdict for verdict in _WORST_FIRST if verdict in verdicts), Verdict.AGREES)


def stayed_full(channel: str, value: Any, reducers: Reducers) -> tuple[Verdict, str] | None:
    """The verdict about a channel that a run's step left as it was, if a person named a reducer that would empty it.

    LangGraph tells each channel of a step that nothing was written to it (1.2 ``pregel/_algo.py: apply_writes``); a
    channel that the run's graph doesn't have keeps its version, and where that names the value, its value.
    """
    named = reducers.named.get(channel)
    if named is None or not named.fades or is_empty(value):
        return None
    why = f"nothing wrote to it, and it kept its value; {named.name} would have emptied it"
    if reducers.outlasting:
        return Verdict.UNKNOWN, f"{why}, if the graph of that run had the channel"
    return Verdict.DIFFERS, why


def finding(channel: str, facts: ChannelFacts, reducers: Reducers) -> tuple[Verdict, str] | None:
    """The verdict about one channel and the reason; None if the recorded value is what the writes make."""
    if facts.change is not Change.WRITTEN:
        return _unwritten(channel, facts, reducers)
    known = reducers.of(channel)
    if any(facts.fits & BITS[reducer.name] for reducer in known):
        return None
    if facts.recoded:
        return Verdict.UNKNOWN, "its objects are stored in another encoding than before"
    if channel in reducers.named:
        return _other_than_named(known[0], facts)
    if channel in reducers.deltas and facts.replaced:
        return None  # an Overwrite decides, whatever the reducer
    if facts.not_replaced:
        if facts.mutable:
            why = "not the value that replaced it; a reducer that changes values in place does so too"
            return Verdict.SUSPECT, why
        return Verdict.DIFFERS, "not the value that replaced it"
    if not known:
        return Verdict.UNKNOWN, _by_none(channel, facts, reducers)
    if reducers.is_strong(channel, facts.odd):
        tally = reducers.tallies.get(channel)
        where = "in the other steps and threads" if tally is not None and tally.threads else "in the other steps"
        why = f"not what {known[0].name} makes of the writes, as it does {where}"
        return Verdict.SUSPECT, f"{why}; a reducer that ckpt doesn't know may do so too"
    return Verdict.UNKNOWN, f"not what {known[0].name} makes of the writes"


def _by_none(channel: str, facts: ChannelFacts, reducers: Reducers) -> str:
    """Why no reducer is known; a reducer that explains most steps is named, and whether this is one of them."""
    unit = reducers.unit(channel)
    none = "no known reducer" if unit == "steps" else "no reducer that ckpt tries on delta channels"
    if (near := reducers.nearest(channel)) is not None:
        others = unit if facts.counted else f"other {unit}"
        explained = f"{near.names} explains {near.explained:,} of {near.steps:,} {others}"
        if facts.fits & BITS[near.reducer.name]:
            return f"{none} explains all its {unit}; {explained}, and this one"
        return f"{none} explains all its {unit}; {explained}, and not this one"
    if not reducers.has_evidence(channel):
        return "no step shows its reducer"
    tally = reducers.tallies.get(channel)
    every = "all " if tally is not None and tally.most else ""
    return f"{none} explains {every}its {unit}"


def _other_than_named(reducer: Reducer, facts: ChannelFacts) -> tuple[Verdict, str] | None:
    if facts.ties & BITS[reducer.name]:
        return None
    if facts.undecided & BITS[reducer.name]:
        return Verdict.UNKNOWN, f"what {reducer.name} makes of such values isn't known"
    return Verdict.DIFFERS, f"not what {reducer.name} makes of the writes"


def _unwritten(channel: str, facts: ChannelFacts, reducers: Reducers) -> tuple[Verdict, str] | None:
    if facts.empties and reducers.fades(channel):
        return None
    if facts.change is Change.EARLY:
        near = reducers.nearest(channel)
        return _early(reducers.of(channel) if near is None else [near.reducer, *near.equals])
    if facts.change in (Change.MOVED, Change.BUMPED) and reducers.only_writes_move(channel):
        what = "changed" if facts.change is Change.MOVED else "got a new version"
        return Verdict.SUSPECT, f"{what}, and no stored write explains it; in the other steps only writes change it"
    return _UNWRITTEN.get(facts.change)


def _early(known: Sequence[Reducer]) -> tuple[Verdict, str] | None:
    """Only a Topic that accumulates is stored so, and a list that code extends in place; no append is.

    Of another known reducer it is no more than unknown: the graph may have got the Topic by a later deployment.
    """
    if GATHER in known and APPEND not in known:
        return None
    return Verdict.UNKNOWN, "it has the items that the next steps wrote, as a Topic that accumulates may have"


_UNVERSIONED = "changed without a new version, and nothing wrote it"
_UNWRITTEN = {
    Change.MOVED: (Verdict.UNKNOWN, "changed, and no stored write explains it"),
    Change.IN_PLACE: (
        Verdict.SUSPECT,
        f"{_UNVERSIONED}; code that changes a value in place does that, and a Topic that accumulates does so too",
    ),
    Change.GREW: (
        Verdict.UNKNOWN,
        "its set has more elements without a new version, as that of a NamedBarrierValue has that is stored late",
    ),
    Change.ASKED: (
        Verdict.UNKNOWN,
        "it differs in __interrupt__ alone, which LangGraph adds to what an entrypoint returned when the next run asks",
    ),
    Change.STORED_WHOLE: (
        Verdict.UNKNOWN,
        "its value is stored whole here, and no reducer is proven that makes it of the writes before",
    ),
    Change.CAME_BACK: (
        Verdict.UNKNOWN,
        "a value is stored without a new version, and there was none; a graph that has this channel again, or newly in "
        "LangGraph.js, leaves such a record, and so does an edit",
    ),
    Change.PERHAPS_EARLY: (
        Verdict.UNKNOWN,
        "it has more items than its step made, as a Topic that accumulates may have; later steps, which may have "
        "written them, may be gone",
    ),
    Change.LEFT_OUT: (
        Verdict.UNKNOWN,
        "no value is stored any more, under the same version; a graph that no longer has this channel leaves such a "
        "record, and so does an edit",
    ),
    Change.UNVERSIONED: (Verdict.DIFFERS, _UNVERSIONED),
}


def in_another_order(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    tasks: Sequence[Mapping[str, list[Any]]],
    reducers: Reducers,
    by_command: Mapping[str, list[Any]] = NOTHING,
) -> bool:
    """Whether the tasks' writes make the recorded state in some order; if there are many tasks, True without a test.

    langgraph 0.1 and 0.2 applied tasks in the order of the graph's nodes (``pregel/algo.py: apply_writes``). This order
    is recorded nowhere. Later versions sort the tasks by path.
    """
    if len(tasks) > ORDERED:
        return True
    for order in permutations(tasks):
        written: dict[str, list[Any]] = {}
        for channel, values in (pair for task in order for pair in task.items()):
            written.setdefault(channel, []).extend(values)
        if judge(before, after, written, reducers, by_command=by_command).verdict is Verdict.AGREES:
            return True
    return False
