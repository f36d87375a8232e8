"""`SeenOrder`: whether values of a channel that all rose, or all fell, may be chosen by ``max`` or ``min``."""

from dataclasses import dataclass, field

from ckpt_cli.history.reducers.reducer import ABSENT, ChannelStep
from ckpt_cli.values.ordering import is_least, is_ranked, sign
from ckpt_cli.values.same import alike

MOVES = 4
"""Words that rose so often, and never fell, may be chosen by ``max``: one line in sixty rises or falls so by chance."""


@dataclass(slots=True)
class SeenOrder:
    """What the steps of a channel show of the order of its values.

    Attributes:
        moves: the steps in which the value rose or fell.
        is_unranked: whether few graphs compare values of some kind that was recorded, see `is_ranked`.
        is_least: whether each value is the least of its type, such as False or an empty text.
        taken: the signs of first writes that a channel which held nothing took as they were, see `sign`.
    """

    moves: int = 0
    is_unranked: bool = False
    is_least: bool = True
    taken: set[int] = field(default_factory=set)

    def add(self, step: ChannelStep, *, by_extreme: bool, as_written: bool) -> None:
        """Count one more step.

        Args:
            step: the step.
            by_extreme: whether ``max`` or ``min`` explains it.
            as_written: whether a last value does, without an ``Overwrite``.
        """
        self.is_least = self.is_least and is_least(step.after)
        self.is_unranked = self.is_unranked or not is_ranked(step.after)
        if by_extreme and step.before is not ABSENT and step.before is not None:
            self.moves += not alike(step.before, step.after)
        if as_written and step.before is ABSENT:
            self.taken.add(sign(step.after) or 0)

    def add_all(self, other: "SeenOrder") -> None:
        """Count the steps of another thread."""
        self.moves += other.moves
        self.is_unranked |= other.is_unranked
        self.is_least &= other.is_least
        self.taken |= other.taken

    def is_likely(self, *, least: bool) -> bool:
        """Whether a ``max`` (or ``min``) that explains all steps counts, where a last value explains them too.

        Of a few words, all are often in the order of the alphabet by chance. A ``min`` whose channel holds the least
        value holds it for ever, so nobody makes such a channel.
        """
        return not (least and self.is_least) and not (self.is_unranked and self.moves < MOVES)
