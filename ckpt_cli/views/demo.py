"""The view of ``ckpt demo``: what it wrote and what to try on it."""

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
        path: where it was written.
        threads: how many threads it holds.
        checkpoints: how many checkpoints, all threads and namespaces.
    """

    verb: ClassVar[str] = "demo"

    path: str
    threads: int
    checkpoints: int
    tree: TreeView
    next: list[Suggestion]
