"""`LostSends`: the Sends of a step whose tasks left no writes, though its checkpoint is stored.

A saver stores a checkpoint and the writes before it apart. If the process is killed in between, some are missing.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple


class LostSends(NamedTuple):
    """The Sends of one step.

    Attributes:
        sent: the number of Sends with which the step began.
        lost: the number of those that left no writes.
        names: the nodes of those, as far as they are known, each as often as it was sent.
        ran: those of them that the graph surely had, as other tasks of the same node ran: they ran, too.
        is_unread: whether the node of a Send is unknown, as its value wasn't read.
    """

    sent: int = 0
    lost: int = 0
    names: Sequence[str] = ()
    ran: Sequence[str] = ()
    is_unread: bool = False

    @property
    def words(self) -> str:
        """Says that some left no writes; "" if none is lost."""
        return lost_words(self.sent, self.lost) if self.lost else ""


NO_LOST_SENDS = LostSends()


def lost_sends(sent: Sequence[str | None], stored: Sequence[str | None], ran: Collection[str | None]) -> LostSends:
    """The Sends of a step that are lost.

    Args:
        sent: the nodes of all Sends of the step; None for one that isn't known.
        stored: the nodes of the Sends' tasks that left writes.
        ran: those of them whose writes the step has.
    """
    lost = len(sent) - len(stored)
    if lost <= 0:
        return NO_LOST_SENDS
    if None in sent or None in stored:
        return LostSends(len(sent), lost, is_unread=None in sent)
    names = [*_known((Counter(sent) - Counter(stored)).elements())]
    return LostSends(len(sent), lost, names, [name for name in names if name in ran])


def lost_words(sent: int, lost: int) -> str:
    """Says how many of the Sends' tasks left no writes."""
    return f"of {sent:,} tasks that were sent, {lost:,} left no writes" if sent > 1 else "the task sent left no writes"


def _known(names: Iterable[str | None]) -> Iterable[str]:
    return (name for name in names if name is not None)
