"""The view of ``copy --follow``: each thread when something new of it was copied, until somebody stops it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from ckpt_cli.views.base import View
from ckpt_cli.views.bulk import REFUSED


class CopiedView(NamedTuple):
    """A thread of which something was copied, or couldn't be.

    Attributes:
        time: when, in ISO 8601.
        state: ``applied`` or ``refused``.
        summary: what was copied.
        problem: why nothing was.
        operation: the operation's number; null if nothing was written.
    """

    time: str
    thread_id: str
    state: str
    summary: str
    problem: str
    operation: int | None


@dataclass(slots=True, eq=False, repr=False)
class FollowView(View):
    """A copy that goes on.

    Attributes:
        stopped: whether a thread that can't be copied ended it.
    """

    verb: ClassVar[str] = "copy"
    rows_field: ClassVar[str] = "copies"
    changes_database: ClassVar[bool] = True
    is_endless: ClassVar[bool] = True

    copies: Iterator[CopiedView] = field(default_factory=lambda: iter(()))
    stopped: bool = False

    @property
    def exit_code(self) -> int:
        """7 if a thread that can't be copied ended it."""
        return REFUSED if self.stopped else 0
