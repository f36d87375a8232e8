"""A look for new checkpoints that outlives a lost connection, for `watch` and `copy --follow`."""

from time import sleep

from ckpt_cli.errors import DatabaseUnreachable, Refused
from ckpt_cli.queries.watching import Look, Watch
from ckpt_cli.session import Session

_LONGEST_PAUSE = 30.0  # seconds between tries to connect again


def look_patiently(session: Session, watch: Watch, every: float, what: str) -> Look:
    """What is new; a lost connection is made again, and the next look finds all that was missed.

    Args:
        session: the database; it is closed while it doesn't answer.
        watch: looks.
        every: seconds before the first new try.
        what: goes on when the database answers, in words.

    Raises:
        DatabaseUnreachable: the first look failed.
    """
    pause = 0.0
    while True:
        try:
            look = session.read(watch.look)
        except (DatabaseUnreachable, Refused) as error:
            if not watch.has_begun:
                raise
            if not pause:
                session.say(f"{error.message}; {what} goes on when it answers")
            session.close()
            watch.look_at_all_next()
            pause = min(2 * pause or every, _LONGEST_PAUSE)
            sleep(pause)
            continue
        if pause:
            session.say("the database answers again")
        return look
