"""`Engine`: what Postgres and MySQL each give: connection, transactions, SQL expressions for `statements`.

Both drivers take values for ``%s``, so users' text is never part of a statement. A ``%`` in a name is doubled.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from ckpt_cli.model import Row, Scalar
from ckpt_cli.savers.about import SideEffect
from ckpt_cli.savers.paging import pages

T = TypeVar("T")
ResultRow = tuple[Any, ...]
Query = tuple[str, Sequence[Scalar | list[Scalar]]]
"""A statement and its parameters."""


class Engine(ABC):
    """One open database. A statement outside of any moment or transaction runs in a moment of its own.

    Attributes:
        holds_nul: whether JSON columns of this engine can hold U+0000.
        skips_groups: whether the engine finds groups by jumps in an index.
    """

    holds_nul: bool = False
    skips_groups: bool = False

    @abstractmethod
    def query(
        self, sql: str, parameters: Sequence[Scalar | list[Scalar]] = (), *, stream: bool = False
    ) -> Iterator[ResultRow]:
        """The rows of one statement. With `stream`, the server sends them in pages, so that memory stays bounded.

        Raises:
            DatabaseUnreachable: the database can't be read.
        """

    def query_each(self, queries: Iterable[Query]) -> Iterator[list[ResultRow]]:
        """The rows of each of these statements; an engine may run the next one while the rows are used."""
        for statement, parameters in queries:
            yield [*self.query(statement, parameters)]

    def batches(self, items: Iterable[T], most: int) -> Iterator[list[T]]:
        """The items in lists of at most `most`, for the statements of `query_each`."""
        return pages(items, most)

    @abstractmethod
    def moment(self, read: Callable[[], T]) -> T:
        """Run `read` on one snapshot; if the connection is lost, run `read` again on a new one."""

    @abstractmethod
    def must_be_writable(self) -> None:
        """Check, without writing, that this user may change LangGraph's tables.

        Raises:
            Refused: this user may not change them, or this server takes no writes.
        """

    @abstractmethod
    def transaction(self, work: Callable[[], T]) -> T:
        """Run `work`, which may write; commit if it returns, else roll back.

        Raises:
            Refused: this user may not write, or another program is writing the same rows.
        """

    def side_effects(self) -> list[SideEffect]:
        """See `Saver.side_effects`."""
        return []

    def caveats(self) -> list[str]:
        """See `Saver.caveats`."""
        return []

    @abstractmethod
    def run_many(self, sql: str, parameters: Sequence[Sequence[Scalar]]) -> int:
        """Run one writing statement for many rows; returns the number of rows that it changed.

        Raises:
            Refused: a row to add exists already, or a column can't hold a value.
            Failed: the server refused a statement.
        """

    def copies(self, relation: str, columns: Sequence[str]) -> bool:  # noqa: ARG002 - for engines that have it
        """Whether `copy` can add rows with these columns."""
        return False

    def copy(self, relation: str, columns: Sequence[str], rows: Sequence[Sequence[Scalar]]) -> int:
        """Add rows as one stream; returns how many there were.

        They are all at hand: to make one, a saver may ask the database, and such a statement on the connection of the
        stream would wait forever.

        Raises:
            Refused: a row exists already, or a column can't hold a value.
            Failed: the server refused a statement.
        """
        raise NotImplementedError

    @abstractmethod
    def close(self) -> None:
        """Close the connection; safe to call twice."""

    # The expressions

    @abstractmethod
    def table(self, relation: str) -> str:
        """The quoted name of a table, with its schema."""

    @abstractmethod
    def quoted(self, name: str) -> str:
        """The quoted name of a column."""

    @abstractmethod
    def json_text(self, path: str) -> str:
        """The expression for a text in the header, given the text's key (``id``, for example)."""

    @abstractmethod
    def select_expression(self, relation: str, column: str, expression: str = "") -> str:
        """The SQL that reads a column, or an expression of its type: bytes are read as bytes, JSON as text."""

    def namespace(self, relation: str) -> str:
        """The expression for the name of a row's namespace; `equals` and `among` find the row by this name."""
        return self.select_expression(relation, "checkpoint_ns")

    def namespace_columns(self) -> str:
        """The columns that the expression `namespace` uses."""
        return "checkpoint_ns"

    @abstractmethod
    def channel_versions(self) -> str:
        """The header's ``channel_versions`` as JSON text."""

    def joined_blobs(self) -> str | None:
        """The blobs that a header names, for the SELECT that reads the header; None if the engine has no such list.

        Each is a list of bytes: channel, type, blob. Two ``%s`` are for the length of the longest blob to send, as the
        bytes of a longer one are None; and for a list of the wanted channels, or None for all.
        """
        return None

    @abstractmethod
    def metadata_equals(self) -> str:
        """The condition that metadata has a text under a key, with a ``%s`` for each of `metadata_parameters`."""

    @abstractmethod
    def metadata_parameters(self, key: str, text: str) -> list[Scalar]:
        """The parameters of `metadata_equals`."""

    @abstractmethod
    def metadata_has_key(self) -> str:
        """The condition that metadata has a key, with one ``%s`` for `metadata_key`; false if it isn't JSON."""

    @abstractmethod
    def metadata_key(self, key: str) -> Scalar:
        """The parameter of `metadata_has_key`."""

    @abstractmethod
    def metadata_text(self) -> str:
        """What metadata has under a key, as text, with one ``%s`` for `metadata_key`; null is NULL, as no value is."""

    @abstractmethod
    def outermost(self, namespace: str) -> str:
        """The expression for the part of a namespace before its first colon."""

    @abstractmethod
    def metadata_contains(self) -> str:
        """The condition that metadata contains a JSON document, with one ``%s``, as LangGraph's own saver writes it."""

    @abstractmethod
    def refuses_value(self, error: BaseException | None) -> bool:
        """Whether the driver's error says that the server can't take a parameter's value."""

    @abstractmethod
    def byte_length(self, column: str) -> str:
        """The length of a blob in bytes, without fetching it."""

    def json_length(self, column: str) -> str:
        """The length of a JSON column in bytes, without fetching it."""
        return self.byte_length(column)

    def begins(self, text: str) -> str:  # noqa: ARG002 - for engines that have it
        """The condition that a text begins with that of one ``%s``; empty for engines that don't compare by bytes."""
        return ""

    @abstractmethod
    def digest(self, column: str) -> str:
        """The SHA-256 of a blob, in lower-case hex."""

    @abstractmethod
    def byte_order(self, expression: str) -> str:
        """A text expression that sorts by its bytes."""

    def lock_clause(self) -> str:
        """The end of a SELECT that locks its rows; empty for an engine whose transactions need no such locks."""
        return ""

    def in_root(self, relation: str) -> str:  # noqa: ARG002 - for engines that need it
        """The condition for rows of the root graph's namespace, in a form that the key index answers."""
        return "checkpoint_ns = ''"

    def subquery_end(self) -> str:
        """The end of a subquery whose expressions the engine must compute only once."""
        return ""

    def placeholder(self, relation: str, column: str) -> str:  # noqa: ARG002 - for engines that need them
        """The placeholder for a value to write to a column."""
        return "%s"

    def insert_override(self, relation: str, columns: Sequence[str]) -> str:  # noqa: ARG002 - for engines that need them
        """The clause that an INSERT needs before VALUES if a column to set is numbered by the engine."""
        return ""

    @abstractmethod
    def equals(self, relation: str, column: str) -> str:
        """The condition that a column is exactly one value, with one ``%s``. It can use an index on the column."""

    @abstractmethod
    def among(
        self, relation: str, columns: Sequence[str], rows: Sequence[Sequence[Scalar]]
    ) -> tuple[str, list[Scalar | list[Scalar]]]:
        """The condition that some columns together equal one of `rows` (at least one), and its parameters."""

    @abstractmethod
    def search_value(self, relation: str, column: str, value: Scalar) -> Scalar:
        """The parameter that finds a value in a column; if the column can't hold it: None, which equals nothing."""

    def with_derived_columns(self, relation: str, row: Row) -> Row:  # noqa: ARG002 - for engines that need them
        """A row to write, plus the columns that are computed from its other columns."""
        return row

    @abstractmethod
    def canonical_json(self, texts: Sequence[str]) -> list[str]:
        """JSON texts as a JSON column of this engine would return them.

        Raises:
            Refused: a JSON column can't hold one of the texts.
        """
