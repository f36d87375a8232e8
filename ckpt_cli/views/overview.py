"""The view of ``ckpt`` without a verb: all verbs, and the database that would be used."""

from dataclasses import dataclass
from typing import ClassVar

from ckpt_cli.views.base import View


@dataclass(frozen=True, slots=True)
class Known:
    """A verb with its help in one line and its heading."""

    name: str
    heading: str
    help: str


@dataclass
class OverviewView(View):
    """The verbs, in their order.

    Attributes:
        database: the database that ``$CKPT_DB`` names or the current folder holds; null if none can be opened.
        problem: why none can be opened, in words.
    """

    verb: ClassVar[str] = "overview"

    version: str
    verbs: list[Known]
    database: str | None
    problem: str
