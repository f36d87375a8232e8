"""Since when each part of a value stands along a line of checkpoints; when a part went.

A part is an element of the list, or a key of the dict, at the end of a path; any other value there is the only part.
"""

from collections.abc import Sequence
from itertools import dropwhile
from typing import Any

from ckpt_cli.history.diff.followed_parts import Part
from ckpt_cli.history.diff.part_kinds import Kind
from ckpt_cli.history.diff.part_moments import Became, Gone, Standing
from ckpt_cli.history.diff.part_walk import Walk


class PartAges:
    """Follows the parts of one channel's value from checkpoint to checkpoint.

    Attributes:
        gone: the parts that went, if `keep_gone`; whoever takes them empties the list.
    """

    def __init__(self, steps: Sequence[Any], *, whole: bool = False, keep_gone: bool = False) -> None:
        """Follow what a path leads to.

        Args:
            steps: the path inside the channel, as `paths.parse` gives it; the last step may be a slice.
            whole: whether the value at the end of the path is one part, even if it is a list or a dict.
            keep_gone: whether `gone` is filled.
        """
        self.gone: list[Gone] = []
        self._steps, self._whole, self._keep_gone = tuple(steps), whole, keep_gone
        self._root = Part(self._steps)
        self._end: Part | None = None
        self._earlier: list[Became] = []
        self._walk = Walk(self.gone if keep_gone else None, whole=whole)

    def anew(self) -> "PartAges":
        """The same question, before any value was taken."""
        return PartAges(self._steps, whole=self._whole, keep_gone=self._keep_gone)

    def take(self, value: Any, number: int, *, is_after_gap: bool = False, has_kept_version: bool = False) -> None:
        """Take the channel's value at the next checkpoint, or ABSENT.

        Args:
            value: the value.
            number: the checkpoint's number.
            is_after_gap: whether steps before it aren't stored. Then an element without an id may be an equal one that
                came later, unless the list has only grown.
            has_kept_version: whether the channel has the version that it had at the last checkpoint.
        """
        self._walk.number, self._walk.is_after_gap = number, is_after_gap
        self._walk.has_kept_version = has_kept_version
        self._root.take(value, (), self._walk)
        if self._whole:
            self._carry_on(number)

    def _carry_on(self, number: int) -> None:
        """Keep what the path led to when a part around it goes, and put it before what it leads to later."""
        end = next(self._root.ends(), None)
        if end is self._end:
            return
        if end is None or end.kind is Kind.NOTHING:
            if self._end is not None:
                past, self._end = self._end.past, None
                self._earlier = past if past[-1].path is None else [*past, Became(number, None)]
        else:
            own = [*dropwhile(lambda one: one.path is None, end.past)]
            if self._end is None and self._earlier and self._earlier[-1].number < own[0].number:
                end.past = [*self._earlier, *own]  # an element that came from another position has only its own
            self._end = end

    def parts(self, *, followed: bool = False) -> list[Standing]:
        """The parts of the last value at the end of the path, in their order.

        With `followed`, the positions of the path are those of the value at which `choose` was called.
        """
        parts = self._root.standing((), every=followed)
        return [one._replace(others=self._walk.possible(one.others)) for one in parts]

    def choose(self) -> None:
        """Follow only what the path leads to in the present value, wherever it moves; `gone` names only that then.

        Parts that come later are still followed.
        """
        self._root.choose()

    def moments(self) -> list[Became]:
        """With `whole`: at which checkpoints the value at the end of the path became another.

        A position means the element that is there now: these are its own values, and those that the path had before it
        led nowhere.
        """
        past = self._earlier if self._end is None else self._end.past
        return [one._replace(others=self._walk.possible(one.others)) if one.others else one for one in past]
