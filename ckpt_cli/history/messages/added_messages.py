"""Tasks whose messages are added, and the messages without an id that they made or got."""

from collections import Counter

from ckpt_cli.history.messages.message_states import NO_STATES, Holds, Sources, StepStates, all_usages, nameless
from ckpt_cli.history.messages.token_usage import Usage


class Added:
    """A message without an id that a task wrote.

    Args:
        key: its digest.
        step: the states around the step of that task.
    """

    def __init__(self, key: int, step: StepStates) -> None:
        self._key, self._step = key, step
        self._ids: set[str | None] | None = None

    def is_of(self, step: StepStates | None) -> bool:
        """Whether the same step wrote it."""
        return step is self._step and step is not NO_STATES

    def may_be(self, own_id: str) -> bool:
        """Whether ``add_messages`` may have given it this id: the state that its step made has it, or no id for it."""
        if self._ids is None:
            every = all_usages(self._step.made().values)
            self._ids = {one.message_id for one in every if one.nameless_key() == self._key}
        return not self._ids or None in self._ids or own_id in self._ids


class Returned:
    """The messages without an id that a task has from the subgraphs that it called; `ends` are their last states."""

    def __init__(self, ends: Holds) -> None:
        self._ends = ends
        self._left: Counter[int] | None = None

    def has(self, usage: Usage, key: int) -> bool:
        """Whether a message may be one of them; as many with ids of their own as there are."""
        if self._left is None:
            self._left = nameless(self._ends().values)
        if usage.message_id is None or key not in self._left:
            return key in self._left
        self._left[key] -= 1
        return self._left[key] >= 0


class Task:
    """A task whose writes are added.

    Args:
        depth: that of its graph.
        step: the states around it.
        sources: what it may have messages from besides.
    """

    def __init__(self, depth: int, step: StepStates, sources: Sources) -> None:
        self.depth, self.step, self.sources = depth, step, sources
        self.returned = Returned(sources.ends)
        self.own = set[int]()
        """The messages without an id that count as its own."""
        self.earlier = set[int]()
        """Those of its writes before."""
