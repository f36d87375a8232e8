"""Signs by which the writes are found that may have a part of a value (`blame`).

So not every write is compared with it: a step may have thousands of tasks, each of which gave one element or one key.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ckpt_cli.history.diff.element_keys import digest, id_of
from ckpt_cli.history.diff.part_moments import ABSENT
from ckpt_cli.history.tasks.step_changes import are_numbers
from ckpt_cli.history.tasks.written_parts import are_joined, give, overwrites, reaches, remove, removes_by_name
from ckpt_cli.values.langgraph_values import items, message, overwrite, spelled_out
from ckpt_cli.values.parts import fields, inside

Explains = Callable[[Sequence[Any]], bool]
"""Whether these writes have a part, or take it away."""


@dataclass(frozen=True, slots=True)
class Gives:
    """Whether writes make a part of what was there before; see `give`."""

    steps: Sequence[Any]
    value: Any
    before: Any = ABSENT

    def __call__(self, writes: Sequence[Any]) -> bool:
        """Whether these writes do."""
        return give(writes, self.steps, self.value, self.before)

    def is_open(self, own: Sequence[Any], others: Sequence[Any]) -> bool:
        """Whether other writes of the step may have had a part in it."""
        if any(not isinstance(step, str) for step in self.steps) or overwrites(own) or not reaches(others, self.steps):
            return False
        return are_joined(own, others, self.steps, self.value, self.before)

    def is_open_to_any(self, own: Sequence[Any]) -> bool:
        """Whether writes that nobody knows may have had a part in it."""
        if any(not isinstance(step, str) for step in self.steps) or overwrites(own):
            return False
        return are_numbers([self.value]) or are_joined(own, (), self.steps, self.value, self.before)


@dataclass(frozen=True, slots=True)
class Takes:
    """Whether writes take a part away, or put `after` in its place; see `remove`."""

    steps: Sequence[Any]
    value: Any
    after: Any = ABSENT
    is_guessed: bool = False

    def __call__(self, writes: Sequence[Any]) -> bool:
        """Whether these writes do."""
        return remove(writes, self.steps, self.value) if self.after is ABSENT else self.given(writes)

    @property
    def given(self) -> Gives:
        """The question who gave what is there now."""
        return Gives(self.steps, self.after, self.value)

    def is_open(self, own: Sequence[Any], others: Sequence[Any]) -> bool:
        """Whether other writes of the step may have done it.

        Where an element that no id identifies went and another came, whoever gave this one need not have taken that
        one.
        """
        if self.after is ABSENT:
            return not removes_by_name(own, self.steps, self.value)
        is_element = any(type(step) is int for step in self.steps)
        is_same = not self.is_guessed and id_of(self.value) is not None and id_of(self.value) == id_of(self.after)
        if is_element and not overwrites(own) and not is_same:
            return True
        return self.given.is_open(own, others)

    def is_certain(self, own: Sequence[Any]) -> bool:
        """Whether these writes did it whatever others wrote: an Overwrite without the part."""
        return self.after is ABSENT and overwrites(own) and removes_by_name(own, self.steps, self.value)

    def is_open_to_any(self, own: Sequence[Any]) -> bool:
        """Whether writes that nobody knows may have done it."""
        return not removes_by_name(own, self.steps, self.value)


def is_open(explains: Explains, own: Sequence[Any], others: Sequence[Any]) -> bool:
    """Whether the writes of other tasks may have had a part in what one task's writes explain.

    Args:
        explains: the question.
        own: what the one task wrote.
        others: what the others wrote, but for writes that the question's signs leave out.
    """
    return isinstance(explains, Gives | Takes) and explains.is_open(own, others)


def is_certain(explains: Explains, own: Sequence[Any]) -> bool:
    """Whether one task's writes did it whatever the others wrote."""
    return isinstance(explains, Takes) and explains.is_certain(own)


def is_open_to_any(explains: Explains, own: Sequence[Any]) -> bool:
    """Whether writes that aren't stored may have had a part in what one task's writes explain."""
    return isinstance(explains, Gives | Takes) and explains.is_open_to_any(own)


def part_signs(explains: Explains) -> set[Hashable] | None:
    """Signs of which each write has at least one that has the part; None if such a write may have any."""
    if isinstance(explains, Takes) and explains.after is not ABSENT:
        explains = explains.given
    if not isinstance(explains, Gives) or not explains.steps:
        return None
    step, *rest = explains.steps
    if isinstance(step, str):
        return {("key", step)}
    if type(step) is not int or rest:
        return None
    return {("key", str(step)), *_element_signs(explains.value)}


def write_signs(written: Any) -> Iterator[Hashable]:
    """The signs of a write's value; None among them if it may have parts that no sign shows."""
    value = bare(written)
    keys = fields(value)
    yield from (("key", key) if isinstance(key, str) else None for key in keys)
    if isinstance(value, dict):
        return
    yield from _element_signs(value)
    for element in value if isinstance(value, tuple) else items(value) or ():
        yield from _element_signs(bare(element))


def bare(written: Any) -> Any:
    """A write's value without its ``Overwrite``."""
    wrapped = overwrite(written)
    return inside(wrapped.value if wrapped is not None else written)


def _element_signs(value: Any) -> Iterator[Hashable]:
    """A value's digest; of a message also what it says, since the same message has several forms."""
    yield digest(value, raw=False)
    forms = spelled_out(value)
    if len(forms) == 1 and (said := message(forms[0])) is not None:
        yield ("message", said.role, said.text)
    if (own := message(value)) is not None:
        yield ("message", own.role, own.text)
