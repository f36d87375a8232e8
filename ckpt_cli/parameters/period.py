"""The period that ``--since`` and ``--until`` give."""

from ckpt_cli.history.lineage.typed_times import Period, period
from ckpt_cli.session import Session


def parse_period(session: Session, since: str | None, until: str | None) -> Period:
    """The period between two typed times; stderr says how they were understood, in local time with its zone.

    Raises:
        UsageError: one of them is no time, or the end comes before the beginning.
    """
    given = period(since, until, session.clock())
    if words := str(given):
        session.say(words)
    return given
