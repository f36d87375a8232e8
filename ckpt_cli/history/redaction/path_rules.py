"""`PathRules`: which parts of a value are at a redacted path, in states, writes, inputs and Sends.

The same item of a list has another position in other checkpoints, and none in the write that added it. So a position
in a path means every position, and a name in a path is looked for in each item.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ckpt_cli.errors import UsageError

_State = tuple[int, int]  # a rule's number, and how many of its steps led here
_OVERWRITE = "__overwrite__"


class Active(NamedTuple):
    """Which rules may apply inside a value.

    Attributes:
        states: the rules of which some steps led here.
        anywhere: a rule may also begin at any key inside; so it is where no channel is given, as in an input.
        done: the rules that lead to the value: all of it is replaced.
        names: the texts inside name nodes.
    """

    states: frozenset[_State] = frozenset()
    anywhere: bool = False
    done: frozenset[int] = frozenset()
    names: bool = False


NODE_NAMES = Active(names=True)
"""The value of a channel that starts nodes."""
EVERYTHING = Active(done=frozenset({-1}))
"""All of a value is replaced, whichever the rules."""


class PathRules:
    """The paths that are redacted.

    Args:
        paths: the steps of each; the first names a channel, a key of the metadata, or a special channel.

    Attributes:
        counts: to how many values each path led.

    Raises:
        UsageError: a path begins with a position.
    """

    def __init__(self, paths: Sequence[Sequence[Any]]) -> None:
        self._rules = [tuple(step for step in path if type(step) is not int) for path in paths]
        if any(not rule or type(path[0]) is int for rule, path in zip(self._rules, paths, strict=True)):
            raise UsageError("a path begins with a channel", hint="write channel.field, or channel[0].field")
        self.counts = [0] * len(self._rules)

    def __bool__(self) -> bool:
        return bool(self._rules)

    def channel(self, name: str) -> Active:
        """The rules for the value of a channel."""
        return self.into(Active(anywhere=name.startswith("__")), name, begins=True)

    def into(self, active: Active, key: Any, *, begins: bool = False) -> Active:
        """The rules for the value at a key; `begins`: a rule may begin with the key."""
        if active.done or active.names or not self._rules:
            return active
        if key == _OVERWRITE:
            return active
        states = {(rule, at + 1) for rule, at in active.states if _is(self._rules[rule][at], key)}
        if begins or active.anywhere:
            states |= {(number, 1) for number, rule in enumerate(self._rules) if _is(rule[0], key)}
        done = frozenset(rule for rule, at in states if at == len(self._rules[rule]))
        for rule in done:
            self.counts[rule] += 1
        return Active(frozenset(states), active.anywhere, done)


def _is(step: Any, key: Any) -> bool:
    return bool(step == key) or str(step) == str(key)
