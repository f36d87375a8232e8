"""The view of ``ckpt`` without a verb: all verbs, and the database that would be used."""

from dataclasses import dataclass, field
from typing import ClassVar

from ckpt_cli.views.base import View


@dataclass(frozen=True, slots=True)
class Known:
    """A verb, with its heading and its help in one line."""

    name: str
    heading: str
    help: str


@dataclass(frozen=True, slots=True)
class Nameable:
    """A kind of database.

    Attributes:
        example: what ``--db`` takes for it.
        install: the command that installs what it needs; "" if that is installed.
    """

    label: str
    example: str
    install: str


@dataclass
class OverviewView(View):
    """The verbs, in their order.

    Attributes:
        database: the database that ``$CKPT_DB`` names, or the one in the current folder; null if none can be opened.
        problem: why no database can be opened, in words; "" if one can.
        hint: what to do about the problem.
        kinds: the kinds of databases that can be named, if none was named.
    """

    verb: ClassVar[str] = "overview"

    version: str
    verbs: list[Known]
    database: str | None
    problem: str
    hint: str = ""
    kinds: list[Nameable] = field(default_factory=list)
