"""The errors of ckpt, each with an exit code and a hint; only `app.run` prints them and exits."""

from collections.abc import Sequence


class CkptError(Exception):
    """An error that a person can understand and act on; any other exception is a bug in ckpt (exit 70)."""

    exit_code = 8

    def __init__(self, message: str, *, hint: str = "", candidates: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.candidates = tuple(candidates)

    @property
    def reason(self) -> str:
        """The message without its ending that nothing was written, for a caller that says itself what was."""
        return self.message.removesuffix("; nothing was written")


class UsageError(CkptError):
    """The arguments and options of the command don't fit together."""

    exit_code = 2


class AmbiguousRevision(UsageError):
    """A revision fits several checkpoints; `candidates` lists these checkpoints."""


class FilterRefused(UsageError, ValueError):
    """The database can't compare metadata with this filter; a ValueError, as LangGraph's own savers raise."""


class MissingExtra(UsageError):
    """An optional dependency is missing; the hint is the command that installs it."""


class DatabaseUnreachable(CkptError):
    """The database can't be reached or opened, or it refused the login."""

    exit_code = 3


class NoCheckpoints(DatabaseUnreachable):
    """The database can be opened, but it doesn't have LangGraph's tables.

    Attributes:
        maker: what of LangGraph's own saver makes them; "" if nothing does, as something else is in their place.
    """

    def __init__(self, message: str, *, hint: str = "", maker: str = "") -> None:
        super().__init__(message, hint=hint)
        self.maker = maker


class DatabaseDamaged(DatabaseUnreachable):
    """A part of the database can't be read; other parts may be readable."""


class NotFound(CkptError):
    """There is no such thread, checkpoint, channel or path."""

    exit_code = 4


class ThreadNotFound(NotFound):
    """No thread has this id; the hint names the most similar ids."""


class CheckpointNotFound(NotFound):
    """No checkpoint of the thread fits the revision."""


class ChannelNotFound(NotFound):
    """The checkpoint has no such channel."""


class PathNotFound(NotFound):
    """The path leads nowhere in the state."""


class PayloadCorrupt(CkptError):
    """A value can't be decoded; the message says where the value is (``@ $.messages[3]``)."""

    exit_code = 5


class KeyMissing(PayloadCorrupt):
    """The value is encrypted, and there is no key or the wrong key."""


class ValueUnknown(PayloadCorrupt):
    """What is stored doesn't prove the value of a delta channel, so nobody knows whether it has such a part."""


class NotSupported(CkptError):
    """The database, or its generation of LangGraph, doesn't support the command."""

    exit_code = 6


class Refused(CkptError):
    """Nothing was written: the change wasn't confirmed, isn't allowed, or somebody else changed the data meanwhile."""

    exit_code = 7


class Failed(CkptError):
    """The command failed for another reason; the message says what was done and what was not."""

    exit_code = 8


def no_terminal(what: str) -> Refused:
    """The error of a change that can't be confirmed; `what` says what it left."""
    return Refused(f"{what}: there is no terminal on which to ask", hint="--yes applies it, --dry-run shows it")
