"""The error for a database that a killed writer left in the middle of a write."""

from collections.abc import Callable

from ckpt_cli.errors import DatabaseUnreachable


class HalfWrittenError(DatabaseUnreachable):
    """A writer was killed half-way. Nothing can be read until `mend` has rolled back the unfinished write."""

    def __init__(self, message: str, mend: Callable[[], None], *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.mend = mend
