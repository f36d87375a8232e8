"""``ckpt blame`` of lists that odd reducers make of a few equal elements, against the reducers' own account.

Each element that a node writes knows its writer. It is equal to others, and stored like them.
"""

import random
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

from ckpt_cli.commands.blame import blame
from ckpt_cli.errors import NotFound
from ckpt_cli.history.state.paths import parse
from tests.commands.asking import at
from tests.graphs.building import on


class Tagged(str):
    """A text that knows who wrote it in which step."""

    by: tuple[int, str]

    @classmethod
    def of(cls, text: str, step: int, node: str) -> "Tagged":
        one = cls(text)
        one.by = step, node
        return one


Items = list[Tagged]


def _toggle(old: Items, new: Items) -> Items:
    made = [*old]
    for one in new:
        made.remove(one) if one in made else made.append(one)
    return made


def _if_new(old: Items, new: Items) -> Items:
    made = [*old]
    made.extend(one for one in new if one not in made)
    return made


def _dedupe_last(old: Items, new: Items) -> Items:
    every = [*old, *new]
    return [one for place, one in enumerate(every) if one not in every[place + 1 :]]


REDUCERS: dict[str, Callable[[Items, Items], Items]] = {
    "toggle": _toggle,
    "last_two": lambda old, new: [*old, *new][-2:],
    "last_three": lambda old, new: [*old, *new][-3:],
    "append": lambda old, new: [*old, *new],
    "if_new": _if_new,
    "sorted": lambda old, new: sorted([*old, *new])[:4],
    "reverse": lambda old, new: [*old, *new][::-1][:4],
    "dedupe_last": _dedupe_last,
}


class Account:
    """What a reducer did, step by step."""

    def __init__(self, reducer: Callable[[Items, Items], Items]) -> None:
        self._reducer = reducer
        self.after: dict[int, Items] = {}
        self.took = defaultdict[tuple[int, str], set[str]](set)
        self.wrote = defaultdict[int, dict[str, Items]](dict)
        self.worked = defaultdict[int, set[str]](set)

    def plain(self, old: Items, new: Items) -> Items:
        """The reducer of a list."""
        made = self._reducer(old, new)
        if new:
            step, node = new[0].by
            kept = set(map(id, made))
            for one in old:
                if id(one) not in kept and one.by[0] < step:
                    self.took[step, str(one)].add(node)
            if old != made:
                self.worked[step].add(node)
            self.after[step], self.wrote[step][node] = made, new
        return made

    def inside(self, old: dict[str, Items], new: dict[str, Items]) -> dict[str, Items]:
        """The reducer of a dict with lists."""
        return {**old, **{key: self.plain(old.get(key, []), new[key]) for key in new}}

    def origins(self) -> Iterator[tuple[int, list[set[tuple[int, str]]]]]:
        """For each step who may be said to have given each element, after it.

        An element is also as old as an equal one if the list didn't change, or one task wrote it whole; and where it
        only grew at its end, its beginning is as old as before, and the rest is new.
        """
        old: Items = []
        known = dict[int, set[tuple[int, str]]]()
        for step, new in self.after.items():
            for one in new:
                known.setdefault(id(one), {one.by})
            if new[: len(old)] == old:
                pairs = list(zip(new, old, strict=False))
            elif [len(one) for one in self.wrote[step].values()] == [len(new)]:
                pairs = [(one, other) for one in new for other in old if one == other]
            else:
                pairs = []
            for one, other in pairs:
                known[id(one)] |= known[id(other)]
            if new[: len(old)] == old:
                for one in new[len(old) :]:
                    known[id(one)] |= {(step, node) for node, items in self.wrote[step].items() if one in items}
            old = new
            yield step, [set(known[id(one)]) for one in new]


class History:
    """A graph that runs some layers of nodes once, each writing to all channels now and then."""

    def __init__(self, seed: int, path: Path) -> None:
        self.path = path
        self._dice = random.Random(seed)
        self.accounts = {name: Account(one) for name, one in REDUCERS.items()}
        nested = {f"in_{name}": Account(one) for name, one in REDUCERS.items()}
        types: dict[str, Any] = {name: Annotated[list, one.plain] for name, one in self.accounts.items()}
        types |= {name: Annotated[dict, one.inside] for name, one in nested.items()}
        self.accounts |= nested
        builder = StateGraph(TypedDict("State", types, total=False))  # type: ignore[operator]
        before: list[str] = [START]
        for step in range(1, self._dice.randint(3, 6)):
            names = [f"{letter}{step}" for letter in "abc"[: self._dice.randint(1, 3)]]
            for name in names:
                builder.add_node(name, lambda _, name=name, step=step: self._write(name, step))
                builder.add_edge(before if before != [START] else START, name)
            before = names
        with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
            graph = builder.compile(checkpointer=SqliteSaver(connection))
            graph.invoke({"append": []}, on("t"))
            states = list(graph.get_state_history(on("t")))
            self.steps = {one.config["configurable"]["checkpoint_id"]: one.metadata["step"] for one in states}

    def _write(self, name: str, step: int) -> dict[str, Any]:
        written = dict[str, Any]()
        for channel in self.accounts:
            if self._dice.random() < 0.7:
                texts = self._dice.choices("xyz", k=self._dice.randint(1, 2))
                items = [Tagged.of(one, step, name) for one in texts]
                written[channel] = {"k": items} if channel.startswith("in_") else items
        return written


def check(history: History) -> int:
    """How many statements without a question mark were true; fails at the first that isn't."""
    return sum(
        _present(history, name, account) + _gone(history, name, account) + _past(history, name, account)
        for name, account in history.accounts.items()
        if account.after
    )


def _spelled(name: str) -> str:
    return f"{name}.k" if name.startswith("in_") else name


def _present(history: History, name: str, account: Account) -> int:
    *_, (_, truth) = account.origins()
    proved = 0
    for path in (_spelled(name), f"{_spelled(name)}[1:]", f"{_spelled(name)}[0]"):
        try:
            lines = at(history.path, blame, "t", path).lines
        except NotFound:
            assert not truth or path.endswith("]")
            continue
        for line in lines if truth else ():
            place = parse(line.path)[-1]
            if not isinstance(place, int):
                continue
            own, since = truth[place], line.since
            steps = {history.steps[one] for one in (since.checkpoint_id, *since.or_at)}
            assert steps & {step for step, _ in own}, (name, line, own)
            if since.by == "node":
                assert (*steps, since.node) in own, (name, line, own)
                proved += 1
            else:
                assert {node for _, node in own} & {*since.candidates}, (name, line, own)
    return proved


def _gone(history: History, name: str, account: Account) -> int:
    proved = 0
    try:
        lines = list(at(history.path, blame, "t", _spelled(name), reverse=True).lines)
    except NotFound:
        return 0
    for line in lines:
        if isinstance(line.value, str) and line.gone is not None:
            took = account.took.get((history.steps[line.gone.checkpoint_id], line.value), set())
            assert took, (name, line)
            if line.gone.by:
                assert line.gone.node in took, (name, line, took)
                proved += 1
    return proved


def _past(history: History, name: str, account: Account) -> int:
    proved, truth = 0, dict(account.origins())
    for one in at(history.path, blame, "t", _spelled(name), history=True).values:
        if one.since.by == "node":
            step = history.steps[one.since.checkpoint_id]
            assert account.worked[step] == {one.since.node}, (name, one, account.worked[step])
            proved += 1
    *_, last = truth.values()
    for one in at(history.path, blame, "t", f"{_spelled(name)}[0]", history=True).values if last else ():
        if one.path is not None and one.since.by == "node":
            step = history.steps[one.since.checkpoint_id]
            now = zip(account.after[step], truth[step], strict=True)
            assert any(text == one.value and (step, one.since.node) in own for text, own in now), (name, one)
            proved += 1
    return proved


@pytest.mark.parametrize("seed", range(6))
def test_what_is_said_without_a_question_mark_is_true(seed: int, tmp_path: Path) -> None:
    """Of the elements that stand, of those that went, and of all values."""
    assert check(History(seed, tmp_path / "t.sqlite")) > 20
