"""The view of ``ckpt demo``: the new database, and commands to try on it."""

from dataclasses import dataclass
from typing import ClassVar

from ckpt_cli.views.base import View
from ckpt_cli.views.tree import TreeView


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A command line to copy, and the question that it answers."""

    command: str
    answers: str


@dataclass(frozen=True, slots=True)
class DemoView(View):
    """A new database and its most interesting thread.

    Attributes:
        path: the path of the database.
        threads: the number of its threads.
        checkpoints: the number of its checkpoints, in all threads and namespaces.
    """

    verb: ClassVar[str] = "demo"

    path: str
    threads: int
    checkpoints: int
    tree: TreeView
    next: list[Suggestion]
