"""Signs by which the writes are found that may have a part of a value (`blame`).

So not every write is compared with it: a step may have thousands of tasks, each of which gave one element or one key.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ckpt_cli.history.diff.align import digest
from ckpt_cli.history.diff.part_moments import ABSENT
from ckpt_cli.history.tasks.written_parts import give
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


def part_signs(explains: Explains) -> set[Hashable] | None:
    """Signs of which each write has at least one that has the part; None if such a write may have any."""
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
    value = _bare(written)
    keys = fields(value)
    yield from (("key", key) if isinstance(key, str) else None for key in keys)
    if isinstance(value, dict):
        return
    yield from _element_signs(value)
    for element in value if isinstance(value, tuple) else items(value) or ():
        yield from _element_signs(_bare(element))


def _bare(written: Any) -> Any:
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
