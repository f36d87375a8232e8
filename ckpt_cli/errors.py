"""The errors of ckpt, each with an exit code and a hint; only `app.run` turns them into a line and a code."""

from collections.abc import Sequence


class CkptError(Exception):
    """An error that a person can understand and act on; any other exception is a bug in ckpt (exit 70)."""

    exit_code = 8

    def __init__(self, message: str, *, hint: str = "", candidates: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.candidates = tuple(candidates)


class UsageError(CkptError):
    """The arguments and options of the command don't fit together."""

    exit_code = 2


class AmbiguousRevision(UsageError):
    """A revision fits several checkpoints; the candidates are listed."""


class MissingExtra(UsageError):
    """An optional dependency is needed; the hint is the install command."""


class DatabaseUnreachable(CkptError):
    """The database cannot be reached, opened or authenticated to."""

    exit_code = 3


class DatabaseDamaged(DatabaseUnreachable):
    """A part of the database can't be read; other parts may be fine."""


class NotFound(CkptError):
    """No such thread, checkpoint, channel or path."""

    exit_code = 4


class ThreadNotFound(NotFound):
    """No thread of that id; the hint names the nearest ones."""


class CheckpointNotFound(NotFound):
    """No checkpoint of that thread fits the revision."""


class ChannelNotFound(NotFound):
    """The checkpoint has no such channel."""


class PathNotFound(NotFound):
    """The path leads nowhere in the state."""


class PayloadCorrupt(CkptError):
    """The value asked for cannot be decoded; the message says where (``@ $.messages[3]``)."""

    exit_code = 5


class KeyMissing(PayloadCorrupt):
    """The value is encrypted and no key, or a wrong one, was given."""


class NotSupported(CkptError):
    """The backend cannot do that."""

    exit_code = 6


class Refused(CkptError):
    """Not confirmed, read-only, or changed by somebody else meanwhile; nothing was written."""

    exit_code = 7


class Failed(CkptError):
    """It failed for another reason; the message says what was done and what wasn't."""

    exit_code = 8
