"""The plan that removes a whole idle thread; one that waits or failed stays unless a person names it."""

from typing import NamedTuple

from ckpt_cli.errors import PayloadCorrupt
from ckpt_cli.history.lineage import ids
from ckpt_cli.history.tasks.snapshot import Status
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import Plan, Thread
from ckpt_cli.plans import delete
from ckpt_cli.reading import Reader

SPARED = (Status.WAITING, Status.FAILED)
"""Somebody may still have to do something about such a thread."""


class Idle(NamedTuple):
    """Which threads are removed as a whole.

    Attributes:
        since: those whose head was made before this time, in seconds since 1970.
        named: the statuses that the person named; a thread that waits or failed must have one of them.
    """

    since: float
    named: tuple[str, ...] = ()

    def fits(self, thread: Thread) -> bool:
        """Whether a thread's head is surely older."""
        when = ids.unix_time(thread.head.checkpoint_id)
        return when is not None and when < self.since

    def spares(self, reader: Reader, thread: Thread) -> str:
        """Why a thread stays although it has been idle; "" if it doesn't."""
        try:
            statuses = Inspection(reader, thread.head).snapshot().statuses
        except PayloadCorrupt:
            return "its head can't be read"
        spared = [one for one in statuses if one in SPARED and str(one) not in self.named]
        return f"idle, but {spared[0]} (--status {spared[0]} includes it)" if spared else ""


def plan(reader: Reader, thread_id: str) -> Plan:
    """The plan that removes a whole thread, with a summary of what goes."""
    whole = delete.threads(reader, [thread_id])
    _, _, count = whole.summary.partition(": ")
    return whole._replace(verb="prune", notes=(), summary=f"of {thread_id} as a whole, which is idle: {count}")
