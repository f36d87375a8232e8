"""Learning reducers step by step gives the same as judging every step by itself."""

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ckpt_cli.history.reducers.agreement import explains
from ckpt_cli.history.reducers.candidates import outcomes
from ckpt_cli.history.reducers.evidence import evidence
from ckpt_cli.history.reducers.learning import Merging, Tally, add_up
from ckpt_cli.history.reducers.reducers import (
    ABSENT,
    APPEND,
    LAST,
    MESSAGES,
    REDUCERS,
    REMOVE_ALL,
    ChannelStep,
    Reducer,
    Unfit,
)
from tests.history.recorded import message

IDS = st.sampled_from(["1", "2", "3", None])
MESSAGE = st.builds(message, st.sampled_from("abc"), IDS)
REMOVAL = st.builds(lambda named: message("", named, "remove"), st.sampled_from(["1", "2", REMOVE_ALL]))
OTHER = st.sampled_from(["text", ["user", "hi"], {"__overwrite__": []}, 5])
WRITE = st.lists(st.one_of(MESSAGE, MESSAGE, MESSAGE, REMOVAL, OTHER), max_size=2) | MESSAGE | OTHER


def after(before: Any, writes: list[Any]) -> Any:
    """What the real merge would leave, with ids for messages without one; the old value if it can't merge."""
    try:
        made = MESSAGES.step(before, writes)
    except Unfit:
        return before
    return [
        message(item.given if isinstance(item.given, str) else "hi", "new") if hasattr(item, "given") else item
        for item in made
    ]


@settings(max_examples=300, deadline=None)
@example([([message("a", "1")], "doubled"), ([[{"__overwrite__": []}]], "kept"), ([[]], "doubled")])
@given(
    st.lists(
        st.tuples(st.lists(WRITE, min_size=1, max_size=2), st.sampled_from(["kept", "cut", "doubled"])), max_size=6
    )
)
def test_a_growing_conversation_is_judged_as_each_step_alone(line: list[tuple[list[Any], str]]) -> None:
    """What is remembered from earlier steps never changes the answer, whatever was written and recorded."""
    merging, before = Merging(), ABSENT
    for writes, recorded in line:
        now = after(before, writes)
        if isinstance(now, list) and now and recorded != "kept":
            now = now[:-1] if recorded == "cut" else [*now, now[-1]]
        step = ChannelStep(before, writes, now)
        assert merging.explains(step) == explains(MESSAGES, step)
        before = now


PLAIN = st.sampled_from([ABSENT, 0, 1, True, 1.0, "", "a", "aa", [], [1], [1, 1], ["a"], {}, {"a": 1}, {"b": [1]}])
HELD = PLAIN | st.lists(MESSAGE, max_size=2)
WRITTEN = HELD.filter(lambda value: value is not ABSENT) | st.sampled_from(
    [{"__overwrite__": [1]}, {"__overwrite__": "a"}, {"__overwrite__": None}]
)


def made(reducer: Reducer, step: ChannelStep) -> Any:
    """What a reducer makes of a step; the recorded value if it can't."""
    try:
        return reducer.step(step.before, step.writes)
    except Unfit:
        return step.after


@settings(max_examples=400, deadline=None)
@given(
    st.lists(
        st.tuples(HELD, st.lists(WRITTEN, min_size=1, max_size=2), HELD, st.sampled_from([None, *REDUCERS])), max_size=4
    )
)
def test_each_reducer_explains_as_many_steps_as_one_by_one(line: list[tuple[Any, list[Any], Any, Any]]) -> None:
    """A tally skips values of types that a reducer never makes; the reducer doesn't explain those either."""
    steps = [ChannelStep(before, writes, after) for before, writes, after, _ in line]
    steps = [
        step if one[3] is None else ChannelStep(step.before, step.writes, made(one[3], step))
        for step, one in zip(steps, line, strict=True)
    ]
    tallies = [Tally() for _ in steps]  # one for each, since a step may be explained by the value made before it
    for tally, step in zip(tallies, steps, strict=True):
        tally.add(step)
    tally = add_up(tallies)
    assert [tally._explained(place) for place in range(len(REDUCERS))] == [one.explained for one in evidence(steps)]


def tallied(steps: list[ChannelStep]) -> Tally:
    """The tally of these steps."""
    tally = Tally()
    for step in steps:
        tally.add(step)
    return tally


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(st.tuples(HELD, WRITTEN, st.sampled_from(REDUCERS)), max_size=4), max_size=3))
def test_the_steps_of_several_threads_add_up(threads: list[list[tuple[Any, Any, Reducer]]]) -> None:
    """They prove and exclude what they would in one thread, and the number of threads with steps is known."""
    steps = [[ChannelStep(a, [w], made(r, ChannelStep(a, [w], None))) for a, w, r in thread] for thread in threads]
    total, whole = add_up(map(tallied, steps)), tallied([step for thread in steps for step in thread])
    assert [one.reducer for one in total.candidates] == [one.reducer for one in whole.candidates]
    assert [one.reducer for one in total.suspected] == [one.reducer for one in whole.suspected]
    assert {one.threads for one in total.candidates} <= {sum(map(bool, threads))}


@pytest.mark.parametrize(("appended", "forged", "suspected"), [(8, 1, True), (7, 1, False), (20, 2, False)])
def test_a_single_step_is_suspect_if_a_reducer_alone_explains_eight_others(
    appended: int, forged: int, suspected: bool
) -> None:
    """One forged step leaves no candidate. With fewer steps, or with two that contradict, nothing is known."""
    steps = [ChannelStep(f"{n}", ["x"], f"{n}x") for n in range(appended)]
    tally = tallied([*steps, *[ChannelStep("1", ["2"], "forged")] * forged])
    assert tally.candidates == []
    expected = [(APPEND, appended, appended + 1)] if suspected else []
    assert [(one.reducer, one.explained, one.steps) for one in tally.suspected] == expected


def test_steps_that_several_reducers_explain_make_nothing_suspect() -> None:
    """A value that was zero before is the last one and the sum: such a step speaks for neither."""
    both = [ChannelStep(0, [n], n) for n in range(1, 20)]
    assert tallied([*both, ChannelStep(1, [2], 2), ChannelStep(1, [5], 7)]).suspected == []


def test_a_reducer_that_is_none_of_the_known_ones() -> None:
    """A capped sum is a sum in three steps of four, which explains nothing."""
    steps = [ChannelStep(ABSENT, [3], 3), ChannelStep(3, [4], 7), ChannelStep(7, [5], 10)]
    tally = tallied([*steps, ChannelStep(10, [-1], 9)])
    assert tally.candidates == tally.suspected == []


LOOK_ALIKE = {
    "max": ([1, 2, 5, 9], 4, ("last value", 4), ("max", 9)),
    "min": ([9, 5, 2, 1], 4, ("last value", 4), ("min", 1)),
    "append if new": (
        [["a"], ["b"], ["c"]],
        ["b"],
        ("append", ["a", "b", "c", "b"]),
        ("append if new", ["a", "b", "c"]),
    ),
}


@pytest.mark.parametrize("name", LOOK_ALIKE)
def test_two_reducers_that_look_alike_so_far(name: str) -> None:
    """As long as no step tells them apart, both are candidates, and each has its own result for what would."""
    writes, new, *results = LOOK_ALIKE[name]
    value, tally, real = ABSENT, Tally(), next(one for one in REDUCERS if one.name == name)
    for write in writes:
        result = write if value is ABSENT else real.step(value, [write])
        tally.add(ChannelStep(value, [write], result))
        value = result
    assert [(one.reducer.name, result) for one, result in outcomes(tally.candidates, value, [new])] == results
    tally.add(ChannelStep(value, [new], results[1][1]))
    assert [one.reducer.name for one in tally.candidates] == [name]


def test_the_candidates_are_those_that_explain_every_step() -> None:
    """As `reducers.learn` finds them; without steps there are none."""
    steps = [ChannelStep(1, [2], 2), ChannelStep(2, [7], 7)]
    assert Tally().candidates == Tally().suspected == []
    tally = tallied(steps)
    fitting = [r for r in REDUCERS if all(explains(r, step) for step in steps) and not r.fades]
    assert [one.reducer for one in tally.candidates] == fitting
    assert LAST in fitting and tally.suspected == []


@pytest.mark.parametrize("name", ["append", "sum", "dict union", "message merge"])
def test_a_value_forged_between_two_steps_is_one_suspicion(name: str) -> None:
    """The next step goes on from the true value; a step that goes on from the recorded one is counted too."""
    reducer = next(one for one in REDUCERS if one.name == name)
    write = {
        "append": lambda n: [n],
        "sum": lambda n: n + 1,
        "dict union": lambda n: {str(n % 7): n},
        "message merge": lambda n: [message("text", str(n))],
    }[name]
    forged = {"append": ["x"], "sum": 1000, "dict union": {"x": 1}, "message merge": [message("x", "x")]}[name]
    planted, trimmed, value, other = Tally(), Tally(), write(0), write(0)
    for n in range(1, 30):
        made = reducer.step(value, [write(n)])
        planted.add(ChannelStep(forged if n == 16 else value, [write(n)], forged if n == 15 else made))
        value = made
        kept = forged if n in (15, 20) else reducer.step(other, [write(n)])
        trimmed.add(ChannelStep(other, [write(n)], kept))
        other = kept
    assert [(one.reducer, one.explained) for one in planted.suspected][:1] == [(reducer, 28)]
    assert not planted.candidates
    assert not any(one.reducer is reducer for one in trimmed.suspected)
