"""`PackedThreads`: what a bundle and a folder of bundles have in common."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import ClassVar, Protocol

from ckpt_cli.model import Row
from ckpt_cli.savers.about import Ability, RecordFormat
from ckpt_cli.savers.bundle.index import Origin, Redaction
from ckpt_cli.savers.in_memory_rows import ReadOnlySaver


class FindRow(Protocol):
    """Finds the rows that a thread had in the database from which it was taken out."""

    def find(self, relation: str, key: Row) -> Iterator[tuple[str, Row]]:
        """The rows with this key, the latest first, each with the hash of its database's address."""


class PackedThreads(ReadOnlySaver):
    """Threads in bundles, which are only read."""

    name: ClassVar[str] = "bundle"
    abilities = frozenset({Ability.MOMENT, Ability.SKIPS, Ability.BRANCHES, Ability.TASK_PATHS})
    why_not = "it keeps what was exported; `ckpt import` takes its threads into a database, where they can be changed"

    @abstractmethod
    def origin(self, thread_id: str) -> Origin:
        """The database that a thread was copied from."""

    def form_of(self, thread_id: str) -> RecordFormat:
        """The format of the database that the thread was copied from."""
        return self.origin(thread_id).form

    @property
    @abstractmethod
    def redaction(self) -> Redaction | None:
        """What its records lack; None if they are byte for byte those of their databases."""

    @abstractmethod
    def row_table(self, thread_id: str) -> FindRow:
        """The rows of a thread that was taken out of its database."""
