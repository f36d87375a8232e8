"""`Merging`: whether the reducer `MESSAGES` explains a channel's steps; the ids of a growing list are remembered."""

from operator import is_
from typing import Any

from ckpt_cli.history.reducers.agreement import agree, explains
from ckpt_cli.history.reducers.reducers import ABSENT, MESSAGES, ChannelStep, Shorthand, as_message
from ckpt_cli.values.langgraph_values import overwrite
from ckpt_cli.values.node import Node


class Merging:
    """Checks, step by step, whether the reducer `MESSAGES` ("message merge") explains a channel's steps.

    While a list only grows, its ids are remembered, so that a long conversation isn't parsed again at each step.
    """

    def __init__(self) -> None:
        self._last_list: Any = None
        self._ids: set[str] = set()

    def explains(self, step: ChannelStep) -> bool:
        """Like `agreement.explains` with `MESSAGES`."""
        if step.command:
            return explains(MESSAGES, step)
        if type(step.after) is not list and not any(overwrite(write) is not None for write in step.writes):
            return False
        before = [] if step.before is ABSENT else step.before
        if not self._is_last_list(before) and not self._remember(before):
            return explains(MESSAGES, step)
        if (added := self._added(before, step)) is not None:
            self._last_list, self._ids = step.after, self._ids | added
            return True
        self._last_list = None
        return explains(MESSAGES, step)

    def _is_last_list(self, before: Any) -> bool:
        last = self._last_list
        return type(before) is list and last is not None and len(before) == len(last) and all(map(is_, before, last))

    def _remember(self, before: Any) -> bool:
        if type(before) is not list:
            return False
        parsed = [as_message(item) if isinstance(item, Node) else None for item in before]
        if any(one is None or one.role == "remove" for one in parsed):
            return False
        ids = [one.id for one in parsed if one is not None and one.id]
        if len(set(ids)) < len(ids):
            return False
        self._last_list, self._ids = before, set(ids)
        return True

    def _added(self, before: list[Any], step: ChannelStep) -> set[str] | None:
        """The ids of the messages that were added at the end of the list; None if the step did something else."""
        new = [item for write in step.writes for item in (write if isinstance(write, list) else [write])]
        after, end = step.after, len(before)
        if not isinstance(after, list) or len(after) != end + len(new) or not all(map(is_, before, after)):
            return None
        parsed = [as_message(item) for item in new]
        ids = [one.id for one in parsed if one is not None and one.id]
        if any(one is None or one.role == "remove" for one in parsed) or not self._ids.isdisjoint(ids):
            return None
        expected = [item if isinstance(item, Node) else Shorthand(item) for item in new]
        if len(set(ids)) < len(ids) or not agree(expected, after[end:]):
            return None
        return {one.id for item in after[end:] if (one := as_message(item)) is not None and one.id}
