"""What ``ckpt`` alone says: which verbs there are, and which database is at hand."""

from dataclasses import dataclass
from typing import ClassVar

from ckpt_cli.views.base import View


@dataclass(frozen=True, slots=True)
class Known:
    """A verb in one line, under the heading it belongs to."""

    name: str
    heading: str
    help: str


@dataclass
class OverviewView(View):
    """The verbs, in their order.

    Attributes:
        database: what ``$CKPT_DB`` names or the current folder holds; null where neither has one that opens.
        problem: why not, in words.
    """

    verb: ClassVar[str] = "overview"

    version: str
    verbs: list[Known]
    database: str | None
    problem: str
