"""The statuses that ``--status`` takes, in every command that selects threads."""

from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import NamedTuple

from ckpt_cli.errors import UsageError
from ckpt_cli.history.lineage.typed_times import moment

STATUS = "Only done, waiting, failed, unfinished, unknown or stuck; several with commas, or repeated."
STUCK_AFTER = "With --status stuck: how long an unfinished thread has had no new checkpoint."


class StatusOption(StrEnum):
    """The statuses that ``--status`` takes."""

    DONE = "done"
    WAITING = "waiting"
    FAILED = "failed"
    UNFINISHED = "unfinished"
    UNKNOWN = "unknown"
    STUCK = "stuck"


class Statuses(NamedTuple):
    """The statuses that the user asked for; without any, every thread fits.

    Attributes:
        names: values of `StatusOption`.
        stuck_before: an unfinished thread is stuck if its head was made before this time, in seconds since 1970.
    """

    names: tuple[str, ...] = ()
    stuck_before: float = 0.0

    def __bool__(self) -> bool:
        """Whether the user asked for any status."""
        return bool(self.names)

    def fit(self, statuses: Collection[str], updated: float | None) -> bool:
        """Whether a thread with these statuses fits.

        Args:
            statuses: all statuses of the thread.
            updated: when its head was made, in seconds since 1970; None if unknown, which doesn't rule out stuck.
        """
        if not self.names or any(status in self.names for status in statuses):
            return True
        if StatusOption.STUCK not in self.names:
            return False
        quiet = updated is None or updated <= self.stuck_before
        return "waiting" in statuses or "failed" in statuses or ("unfinished" in statuses and quiet)


ANY_STATUS = Statuses()


def parse_statuses(words: Sequence[str], stuck_after: str, now: float) -> Statuses:
    """The statuses in the values of ``--status``, each of which may have several, separated by commas.

    Raises:
        UsageError: there is no such status, or `stuck_after` is no time.
    """
    names = tuple(dict.fromkeys(name.strip() for word in words for name in word.split(",")))
    known = [status.value for status in StatusOption]
    for name in names:
        if name not in known:
            raise UsageError(f"no status {name!r}", hint=f"one of {', '.join(known)}")
    return Statuses(names, moment(stuck_after, now))
