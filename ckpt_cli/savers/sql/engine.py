"""What an engine says in its own way: the connection, and the expressions that `sql.statements` puts together.

Statements take their values as ``%s``, in both drivers; user text never stands in them. A ``%`` of a name is doubled.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from ckpt_cli.model import Row, Scalar
from ckpt_cli.savers.about import SideEffect

T = TypeVar("T")
Values = tuple[Any, ...]


class Engine(ABC):
    """One open database; every statement runs in the moment or the transaction that is open, or in one of its own.

    Attributes:
        holds_nul: whether its JSON columns hold U+0000.
    """

    holds_nul: bool = False

    @abstractmethod
    def query(self, sql: str, words: Sequence[Scalar | list[Scalar]] = (), *, stream: bool = False) -> Iterator[Values]:
        """The rows of one statement; with `stream` in pages from the server, so that memory stays flat.

        Raises:
            DatabaseUnreachable: it can't be read.
        """

    @abstractmethod
    def moment(self, look: Callable[[], T]) -> T:
        """Run `look` on one snapshot; once more where the connection was lost."""

    @abstractmethod
    def must_be_writable(self) -> None:
        """Ask the server, by reading alone, whether this user may change LangGraph's tables.

        Raises:
            Refused: this user may not, or this server takes no writes.
        """

    @abstractmethod
    def transaction(self, work: Callable[[], T]) -> T:
        """Run `work` with the right to write; what it did is kept only if it returns.

        Raises:
            Refused: it may not be written, or somebody else is writing the same rows.
        """

    def side_effects(self) -> list[SideEffect]:
        """See `Saver.side_effects`."""
        return []

    def caveats(self) -> list[str]:
        """See `Saver.caveats`."""
        return []

    @abstractmethod
    def run_many(self, sql: str, words: Sequence[Sequence[Scalar]]) -> int:
        """Run one writing statement for many rows; how many rows it touched.

        Raises:
            Refused: a row to add stands already, or a value can't stand in its column.
            Failed: the engine said no.
        """

    @abstractmethod
    def close(self) -> None:
        """Close the connection; safe to call twice."""

    # The expressions

    @abstractmethod
    def table(self, relation: str) -> str:
        """A table, quoted and with its schema."""

    @abstractmethod
    def quoted(self, name: str) -> str:
        """A column's name."""

    @abstractmethod
    def json_text(self, path: str) -> str:
        """A text inside the header: ``id``."""

    @abstractmethod
    def shown(self, relation: str, column: str, expression: str = "") -> str:
        """A column, or an expression of its type, as it is read: bytes as bytes, JSON and all else as text."""

    def namespace(self, relation: str) -> str:
        """The name of a row's namespace, by which `same` and `among` find the row."""
        return self.shown(relation, "checkpoint_ns")

    def namespace_columns(self) -> str:
        """The columns that `namespace` is made of."""
        return "checkpoint_ns"

    @abstractmethod
    def versions(self) -> str:
        """The header's ``channel_versions`` as JSON text."""

    @abstractmethod
    def member_is(self) -> str:
        """The condition, with a ``%s`` for each of `member_words`, that metadata has a text at a key."""

    @abstractmethod
    def member_words(self, key: str, text: str) -> list[Scalar]:
        """The parameters of `member_is`."""

    @abstractmethod
    def octets(self, column: str) -> str:
        """The length of a blob in bytes, not fetching it."""

    @abstractmethod
    def digest(self, column: str) -> str:
        """The SHA-256 of a blob in lower-case hex."""

    @abstractmethod
    def ordered(self, expression: str) -> str:
        """Text so that it sorts by its bytes."""

    def locking(self) -> str:
        """What ends a SELECT of rows that are about to change, where a transaction doesn't find out by itself."""
        return ""

    def once(self) -> str:
        """What ends a subquery whose expressions must not be worked out again wherever they are named."""
        return ""

    def place(self, relation: str, column: str) -> str:  # noqa: ARG002 - for engines that must
        """Where a value goes that is written to a column."""
        return "%s"

    def overriding(self, relation: str, columns: Sequence[str]) -> str:  # noqa: ARG002 - for engines that must
        """What an INSERT says before VALUES to put a number of its own into a column that the engine numbers."""
        return ""

    @abstractmethod
    def same(self, relation: str, column: str) -> str:
        """The condition, with one ``%s``, that a column is exactly a value, using its index."""

    @abstractmethod
    def among(
        self, relation: str, columns: Sequence[str], rows: Sequence[Sequence[Scalar]]
    ) -> tuple[str, list[Scalar | list[Scalar]]]:
        """The condition that some columns together are one of `rows` (never none), and its parameters."""

    @abstractmethod
    def sought(self, relation: str, column: str, value: Scalar) -> Scalar:
        """A value to look for in a column; None, which nothing equals, where the column can't hold it."""

    def completed(self, relation: str, row: Row) -> Row:  # noqa: ARG002 - for engines that must
        """A row to write with the columns that follow from its others."""
        return row

    @abstractmethod
    def canonical(self, texts: Sequence[str]) -> list[str]:
        """JSON texts as this engine's JSON columns give them back.

        Raises:
            Refused: such a column can't hold one.
        """
