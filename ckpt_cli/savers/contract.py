"""The interface to a checkpoint database, `Saver`: rows and typed bytes that backends read and write.

A saver knows no values: it works even on checkpoints that nobody can decode. All is read inside `Saver.moment`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import chain, islice
from typing import TYPE_CHECKING, ClassVar, TypeVar

from ckpt_cli.model import (
    Checkpoint,
    CheckpointRow,
    Payload,
    Plan,
    Ref,
    Row,
    RowChange,
    Thread,
    Write,
)
from ckpt_cli.savers.about import Ability, About, Form, Place, RecordFormat, SideEffect, Totals
from ckpt_cli.savers.head_reads import HeadReader
from ckpt_cli.savers.measures import Measurer
from ckpt_cli.savers.row_records import RowRecords
from ckpt_cli.savers.selection import Selector

if TYPE_CHECKING:
    from ckpt_cli.savers.agent_rows import AgentRows

__all__ = ["Ability", "About", "Form", "Saver", "Totals"]  # with names now in `about`
T = TypeVar("T")


class Saver(Selector, Measurer, HeadReader, RowRecords, ABC):
    """One open checkpoint database. Rows come in text order of (namespace, checkpoint id) unless stated otherwise."""

    name: ClassVar[str]
    form: RecordFormat = RecordFormat()
    finds_writes_by_path: bool = False
    """Whether LangGraph's own saver finds a task's writes by its path, so that a write without one is in its way."""
    abilities: frozenset[Ability]
    out_of_reach: ClassVar[str] = "its backups"
    """A phrase for people: where deleted data may remain, and the commands that remove it there."""
    page: int = 1
    """How many threads or checkpoints to read at once; 1 if a read needs no round trip to a server."""
    lost_differences: str = ""
    """A sentence why values that are equal here may have been different once; empty if none was replaced."""

    @abstractmethod
    def moment(self, look: Callable[[], T]) -> T:
        """Run `look` so that all its reads show the database at one moment, and return its result.

        `look` must have no side effects, because it may run again. It does so if the engine can't keep a moment open
        and the data changed, or if the connection was lost. Nested calls belong to the outer moment.
        """

    @abstractmethod
    def about(self) -> About:
        """A description of this database, made from its schema alone."""

    def form_of(self, thread_id: str) -> RecordFormat:  # noqa: ARG002
        """How the records of a thread were written; only a bundle has threads of several databases."""
        return self.form

    @abstractmethod
    def totals(self) -> Totals:
        """Count everything; this may take as long as reading the whole key index."""

    @abstractmethod
    def threads(self) -> Iterator[Thread]:
        """Every thread, the highest head id first. An engine with an index jumps in the index from thread to thread."""

    def count_threads(self) -> int | None:
        """The number of threads, counted in an index; None if `threads` reads all before it gives the first."""
        return None

    @abstractmethod
    def thread(self, thread_id: str) -> Thread | None:
        """One thread by its exact id."""

    @abstractmethod
    def namespaces(self, thread_id: str) -> list[str]:
        """The namespaces of a thread, in text order."""

    @abstractmethod
    def count(self, thread_id: str) -> int:
        """How many checkpoints a thread has in all namespaces."""

    @abstractmethod
    def rows(self, thread_id: str, ns: str | None = None) -> Iterator[CheckpointRow]:
        """The skeleton of a thread or of one namespace: its rows in ascending order, without values and metadata."""

    def expect_threads(self, threads: Collection[Thread]) -> None:
        """Hint: the skeleton, head and first checkpoint of each of these threads will be read next."""

    def expect_whole(self, thread_ids: Collection[str]) -> None:
        """Hint: all of these threads will be read next, one after the other."""

    def expect(self, refs: Collection[Ref]) -> None:
        """Hint: these checkpoints and their writes will be read next, one after the other. At most a page of them."""

    def one_scan(self) -> AbstractContextManager[None]:
        """For a search on engines that scan all keys to find threads: all moments in this block use one scan."""
        return nullcontext()

    def rows_of(self, thread_ids: Collection[str]) -> Iterator[CheckpointRow]:
        """The skeletons of several threads. The rows of a thread come together, as `rows` gives them."""
        for thread_id in thread_ids:
            yield from self.rows(thread_id)

    def sizes(self, thread_ids: Collection[str]) -> Mapping[str, int] | None:  # noqa: ARG002
        """The bytes of the checkpoints of each thread, added up by the engine; None if it has no such query."""
        return None

    @abstractmethod
    def newest(self, thread_id: str, ns: str, limit: int) -> list[CheckpointRow]:
        """The `limit` highest ids of a namespace, highest first, without reading the others."""

    @abstractmethod
    def row(self, ref: Ref) -> CheckpointRow | None:
        """One skeleton row."""

    @abstractmethod
    def metadata(self, refs: Collection[Ref]) -> Iterator[tuple[Ref, Payload]]:
        """The metadata payloads of these checkpoints, in any order; missing checkpoints are left out."""

    def having(self, key: str, text: str, thread_ids: Collection[str] | None = None) -> Iterator[str] | None:  # noqa: ARG002
        """The ids of threads that have a checkpoint with exactly this text under `key` in its metadata.

        Only `thread_ids` are searched, or all threads if it is None. Returns None if the engine has no such query.
        """
        return None

    @abstractmethod
    def checkpoints(self, refs: Iterable[Ref]) -> Iterator[Checkpoint]:
        """These checkpoints in the order of `refs`, one at a time; missing ones are left out."""

    def headers(self, refs: Iterable[Ref]) -> Iterator[Checkpoint]:
        """These checkpoints without the channels that are stored apart from the body."""
        return self.checkpoints(refs)

    def sample(self, limit: int) -> list[Ref]:
        """Some checkpoints of different threads, whichever are cheap to find."""
        return [thread.head for thread in islice(self.threads(), limit)]

    @abstractmethod
    def writes(
        self,
        thread_id: str,
        ns: str | None = None,
        checkpoint_ids: Collection[str] | None = None,
        *,
        values: int | None = None,
    ) -> Iterator[Write]:
        """The writes of a thread, of a namespace or of some checkpoints, by checkpoint and then in canonical order.

        Where LangGraph's saver stores no paths, they come in the order in which that saver gives them.
        `values` is a size in bytes. A longer payload is not read: its write has the size, but `payload` is None. So
        0 reads only empty payloads. None reads all.
        """

    def writes_on(self, refs: Collection[Ref], *, values: int | None = None) -> Iterator[Write]:
        """The writes of checkpoints, which may be in several threads; those of a checkpoint in canonical order."""
        ids: dict[tuple[str, str], list[str]] = {}
        for ref in refs:
            ids.setdefault((ref.thread_id, ref.ns), []).append(ref.checkpoint_id)
        for (thread_id, ns), some in ids.items():
            yield from self.writes(thread_id, ns, some, values=values)

    def writes_of(self, thread_ids: Collection[str], *, values: int | None = None) -> Iterator[Write]:
        """The writes of several threads. The writes of a thread come together, as `writes` gives them."""
        for thread_id in thread_ids:
            yield from self.writes(thread_id, values=values)

    @property
    @abstractmethod
    def identity(self) -> str:
        """The canonical address of this database, without credentials."""

    def place(self) -> Place:
        """Where this database is. For this, servers need one small query."""
        return Place(self.identity)

    def original(self, seen: Place, is_it: Callable[["Saver"], bool]) -> bool | None:  # noqa: ARG002 - for files
        """Whether the database that was at `seen` still exists there, so that this one is its copy; None if unknown.

        False: this database is the one that was seen, or that one is gone. `is_it` checks what is now at `seen`.
        """
        here = self.place()
        same = here.instance and (here.engine, here.instance) == (seen.engine, seen.instance)
        return False if same else None

    def must_be_writable(self, *, trying: bool) -> None:
        """Check, before a change is planned, that the engine won't refuse to write when the plan is applied.

        Args:
            trying: True: the check may try to change a record that doesn't exist. False: it only reads.

        Raises:
            NotSupported: this database can't be written.
            Refused: this user may not write the database, or nobody may write it at present.
        """

    @abstractmethod
    def transaction(self, work: Callable[[], T]) -> T:
        """Run `work`, which may write, while nobody else writes; its changes are kept only if it returns.

        Without `Ability.ATOMIC`, the changes that `work` made before it failed remain, and the caller must take them
        back (`operations.settle`). Reads inside see all changes made so far.

        Raises:
            NotSupported: this database can't be written.
            Refused: it may not be written at present.
        """

    def beside(self, ref: Ref) -> Iterable[tuple[str, Row]]:  # noqa: ARG002
        """The relation and key of each row that belongs to a checkpoint's thread but is no record, such as an index.

        Rows with a ``thread_id`` in their key may be left out: their key alone shows the thread.
        """
        return ()

    def has_rows(self, thread_id: str) -> bool:
        """Whether the database has anything of a thread, also what is no record by itself."""
        records = chain(self.rows(thread_id), self.writes(thread_id, values=0))
        return next(records, None) is not None

    def written_columns(self, relation: str) -> frozenset[str] | None:  # noqa: ARG002
        """The columns of a table, or the fields of a document, that ckpt writes; None for all of them.

        When a row is compared with an image, only these columns count, and only if both have them: an application may
        add its own columns, and a migration of LangGraph may add one between a change and its undo.
        """
        return None

    def fields(self, relation: str, row: Row) -> Row:  # noqa: ARG002
        """The row as a flat mapping with the names that `written_columns` uses; a document is split into its fields."""
        return row

    def restored(self, relation: str, image: Row, now: Row | None) -> Row:  # noqa: ARG002
        """The row to write so that an image is restored; `now` is the row that exists under the image's key, or None.

        A row that no longer exists gets all columns of the image that the table still has. In an existing row only the
        columns that ckpt writes are restored; an application's own columns keep their values.
        """
        return image

    def side_effects(self) -> Sequence[SideEffect]:
        """The triggers, rules and foreign keys that change more than a plan says; read from the catalog."""
        return ()

    def permit(self, side_effects: Collection[SideEffect]) -> None:
        """Set the side effects that the user accepted. From now on the engine refuses all others, if it can."""

    def caveats(self) -> Sequence[str]:
        """Warnings to show before a change, a sentence each; for example about rows that this user can't see."""
        return ()

    @abstractmethod
    def change(self, changes: Iterable[RowChange]) -> None:
        """Make every row equal to its after-image; only inside `transaction`.

        Without `Ability.ATOMIC`, rows are written one after another in this order, each only if it equals its
        before-image. If the writing stops half-way, the changes can safely be repeated or taken back.

        Raises:
            Refused: a row to add exists already, or a row to change or remove no longer exists.
        """

    def apply(self, plan: Plan) -> None:
        """Write one plan without logging it: for new databases and copies that nobody else uses yet.

        Raises:
            NotSupported: this database can't be written.
            Refused: a record to add exists already, or one to replace or remove doesn't exist; nothing was written.
        """
        from ckpt_cli.savers.plan_application import apply_in_transactions

        apply_in_transactions(self, plan)

    def take_back(self, changes: Sequence[RowChange]) -> None:
        """Undo those changes that were made, the last one first; only inside `transaction`.

        A row that equals neither its before-image nor its after-image was written by another program and is kept.
        """
        for change in reversed(changes):
            if change.before != change.after and self.current(change.relation, change.key) == change.after:
                self.change([change.inverse])

    def agent_rows(self) -> "AgentRows":
        """An agent's own records, read and written as cheaply as this backend can."""
        from ckpt_cli.savers.agent_rows import AgentRows

        return AgentRows(self)

    @abstractmethod
    def close(self) -> None:
        """Close the connection; safe to call twice."""
