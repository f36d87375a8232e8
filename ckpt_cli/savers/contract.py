"""What ckpt needs of a checkpoint database, and no more: rows and typed bytes in, rows and typed bytes out.

A saver knows its engine and nothing of values: it works on checkpoints nobody can decode. Everything that reads happens
inside `Saver.moment`, so that what one command prints is of one moment.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from typing import ClassVar, TypeVar

from ckpt_cli.errors import DatabaseUnreachable
from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Plan, Ref, Row, RowChange, Thread, Write, WriteKey
from ckpt_cli.savers.about import Ability, About, Form, Place, SideEffect, Totals

__all__ = ["Ability", "About", "Form", "HalfWrittenError", "Saver", "Totals"]  # docs/api.md: aliases for what moved
T = TypeVar("T")


class HalfWrittenError(DatabaseUnreachable):
    """A writer was killed half-way; only a writer can take that back, which `mend` does."""

    def __init__(self, message: str, mend: Callable[[], None], *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.mend = mend


class Saver(ABC):
    """One open checkpoint database. Rows come in text order of (namespace, checkpoint id) unless said otherwise."""

    name: ClassVar[str]
    form: Form = Form()
    abilities: frozenset[Ability]
    out_of_reach: ClassVar[str] = "its backups"
    """Where the engine itself keeps what was deleted from it, for a while or for ever, with its command against it."""
    page: int = 1
    """How many threads or checkpoints are read at once where many are wanted; 1 where a read is no round trip."""

    @abstractmethod
    def moment(self, look: Callable[[], T]) -> T:
        """Run `look` so that all it reads is of one moment, and give what it gives.

        `look` must have no effects: where the engine can't hold a moment open it may be run again.
        Nested calls belong to the outer moment.
        """

    @abstractmethod
    def about(self) -> About:
        """What this database is, from its schema."""

    @abstractmethod
    def totals(self) -> Totals:
        """Count everything; may take as long as reading the key index."""

    @abstractmethod
    def threads(self) -> Iterator[Thread]:
        """Every thread, the one whose head has the highest id first, skipping from thread to thread in the index."""

    @abstractmethod
    def thread(self, thread_id: str) -> Thread | None:
        """One thread by its exact id."""

    @abstractmethod
    def namespaces(self, thread_id: str) -> list[str]:
        """The namespaces of a thread, in text order."""

    @abstractmethod
    def count(self, thread_id: str) -> int:
        """How many checkpoints a thread has, all namespaces."""

    @abstractmethod
    def rows(self, thread_id: str, ns: str | None = None) -> Iterator[CheckpointRow]:
        """The skeleton of a thread (or of one namespace), ascending, no values and no metadata."""

    def expect_threads(self, threads: Collection[Thread]) -> None:  # noqa: B027 - only where a read is a round trip
        """Hint: the skeleton, head and first checkpoint of each of these threads will be read next."""

    def expect_whole(self, thread_ids: Collection[str]) -> None:  # noqa: B027
        """Hint: all of these threads will be read next, one after the other."""

    def expect(self, refs: Collection[Ref]) -> None:  # noqa: B027
        """Hint: these checkpoints and their writes will be read next, one after the other; a page at most."""

    def one_scan(self) -> AbstractContextManager[None]:
        """Until it ends, moments share what a scan for the names of all keys finds, where threads are found by one.

        For a search, which reads page after page in moments of their own what it was told of in the first.
        """
        return nullcontext()

    def rows_of(self, thread_ids: Collection[str]) -> Iterator[CheckpointRow]:
        """The skeletons of several threads, each thread's together and as `rows` gives them."""
        for thread_id in thread_ids:
            yield from self.rows(thread_id)

    @abstractmethod
    def newest(self, thread_id: str, ns: str, limit: int) -> list[CheckpointRow]:
        """The `limit` highest ids of a namespace, highest first, without reading the others."""

    @abstractmethod
    def row(self, ref: Ref) -> CheckpointRow | None:
        """One skeleton row."""

    @abstractmethod
    def metadata(self, refs: Collection[Ref]) -> Iterator[tuple[Ref, Payload]]:
        """The metadata payloads of some checkpoints, in any order; missing ones are left out."""

    def having(self, key: str, text: str, thread_ids: Collection[str] | None = None) -> Iterator[str] | None:  # noqa: ARG002
        """The ids of the threads (of these, or of all) with a checkpoint whose metadata has exactly this text at a key.

        None where the engine can't look for it by itself.
        """
        return None

    @abstractmethod
    def checkpoints(self, refs: Iterable[Ref]) -> Iterator[Checkpoint]:
        """The checkpoints of these names in the order asked, one at a time; missing ones are left out."""

    def headers(self, refs: Iterable[Ref]) -> Iterator[Checkpoint]:
        """The same without the channels that are kept apart from them."""
        return self.checkpoints(refs)

    def sample(self, limit: int) -> list[Ref]:
        """Some checkpoints of different threads, cheaply found."""
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
        """The writes of a thread, one namespace or some of its checkpoints, by checkpoint and then in canonical order.

        `values` is how long a payload may be, in bytes, to be read; longer ones come with `payload` None and their
        size. 0 reads none but the empty ones, None reads all.
        """

    def writes_on(self, refs: Collection[Ref], *, values: int | None = None) -> Iterator[Write]:
        """The writes of several checkpoints, also of several threads; each one's in canonical order."""
        ids: dict[tuple[str, str], list[str]] = {}
        for ref in refs:
            ids.setdefault((ref.thread_id, ref.ns), []).append(ref.checkpoint_id)
        for (thread_id, ns), some in ids.items():
            yield from self.writes(thread_id, ns, some, values=values)

    def writes_of(self, thread_ids: Collection[str], *, values: int | None = None) -> Iterator[Write]:
        """The writes of several threads, each thread's together and as `writes` gives them."""
        for thread_id in thread_ids:
            yield from self.writes(thread_id, values=values)

    @property
    @abstractmethod
    def identity(self) -> str:
        """The address of this database: canonical, without credentials."""

    def place(self) -> Place:
        """Where this database is; one small question to a server."""
        return Place(self.identity)

    def original(self, seen: Place, is_it: Callable[["Saver"], bool]) -> bool | None:  # noqa: ARG002 - for files
        """Whether the database that was seen at another place is still there, beside this one; None if unknown.

        `is_it` says whether a database that is found there is that one.
        """
        here = self.place()
        same = here.instance and (here.engine, here.instance) == (seen.engine, seen.instance)
        return False if same else None

    def must_be_writable(self, *, trying: bool) -> None:  # noqa: B027 - not every engine can be asked
        """Refuse before a change is planned, where it would be refused in the end.

        Args:
            trying: the engine may be asked by changing what isn't there; else it is only read from.

        Raises:
            NotSupported: this database can't be written.
            Refused: this user may not write it, or nobody may now.
        """

    @abstractmethod
    def transaction(self, work: Callable[[], T]) -> T:
        """Run `work` with the right to write, while nobody else writes; what it did is kept only if it returns.

        All or nothing holds where `Ability.ATOMIC` is declared; elsewhere what `work` changed before it failed stays,
        and whoever called takes it back (`operations.settle`). Reading inside sees what was written so far.

        Raises:
            NotSupported: this database can't be written.
            Refused: it may not be written now.
        """

    @abstractmethod
    def expand(self, plan: Plan) -> Iterator[RowChange]:
        """The physical rows of a plan with their before-images, in the order to make them, one at a time.

        Raises:
            NotSupported: this database has no place for a record.
            Refused: a record to add stands already, or one to replace or remove doesn't.
        """

    @abstractmethod
    def record_of(self, relation: str, key: Row) -> Ref | WriteKey | None:
        """What a physical row holds: a checkpoint or a write; None where it is neither by itself."""

    def beside(self, ref: Ref) -> Iterable[tuple[str, Row]]:  # noqa: ARG002
        """Rows that are no records by themselves and whose keys name a checkpoint's thread: a pointer, a list of ids.

        Rows with a ``thread_id`` in their key may be left out.
        """
        return ()

    def added(self, change: RowChange) -> Collection[Ref | WriteKey]:
        """The records that a change of a physical row adds."""
        name = self.record_of(change.relation, change.key) if change.before is None else None
        return () if name is None else (name,)

    @abstractmethod
    def current(self, relation: str, key: Row) -> Row | None:
        """A physical row as it is now, None if there is none."""

    def currents(self, names: Sequence[tuple[str, Row]]) -> list[Row | None]:
        """Physical rows, by relation and key, as they are now."""
        return [self.current(relation, key) for relation, key in names]

    def written_columns(self, relation: str) -> frozenset[str] | None:  # noqa: ARG002
        """The columns of a table, or the fields of a document, that ckpt writes; None for all of them.

        Rows are compared with images over these alone: an application adds columns of its own, and a migration of
        LangGraph's may add one between a change and its undo. So compare over the columns that both sides have.
        """
        return None

    def fields(self, relation: str, row: Row) -> Row:  # noqa: ARG002
        """A physical row by the names that `written_columns` gives: a document field by field."""
        return row

    def restored(self, relation: str, image: Row, now: Row | None) -> Row:  # noqa: ARG002
        """The row to write so that an image is back, where `now` is what exists under its key.

        A row that is gone gets all columns of the image that still exist; in one that exists only what ckpt writes
        becomes as in the image, and an application's own columns keep their values.
        """
        return image

    def side_effects(self) -> Sequence[SideEffect]:
        """The triggers, rules and foreign keys of its tables that do more than a plan says; read from the catalog."""
        return ()

    def permit(self, side_effects: Collection[SideEffect]) -> None:  # noqa: B027 - only where an engine can refuse
        """Say which side effects a person has accepted; an engine that can refuse others does so from then on."""

    def caveats(self) -> Sequence[str]:
        """What else a person should know before a change, a sentence each: rows that this user can't see."""
        return ()

    @abstractmethod
    def change(self, changes: Iterable[RowChange]) -> None:
        """Make every row what its after-image says; only inside `transaction`.

        Without `Ability.ATOMIC` rows are made one after another in this order, each only where it is as its
        before-image says, so that doing it again or taking it back is safe wherever it stopped.

        Raises:
            Refused: a row to add stands already, or one to change or remove is gone.
        """

    def apply(self, plan: Plan) -> None:
        """Write one plan without logging it: for databases and copies that nobody else has seen.

        Raises:
            NotSupported: this database can't be written.
            Refused: a record to add stands already, or one to replace or remove doesn't; nothing was written.
        """
        if Ability.ATOMIC in self.abilities:
            self.transaction(lambda: self.change(self.expand(plan)))
            return
        changes = self.transaction(lambda: list(self.expand(plan)))
        try:
            self.transaction(lambda: self.change(changes))
        except Exception:
            self.transaction(lambda: self.take_back(changes))
            raise

    def take_back(self, changes: Sequence[RowChange]) -> None:
        """Undo as much of some changes as was made, the last first; only inside `transaction`, for want of a real one.

        A row that is neither as before nor as after is somebody else's by now and stays.
        """
        for change in reversed(changes):
            if change.before != change.after and self.current(change.relation, change.key) == change.after:
                self.change([change.inverse])

    @abstractmethod
    def close(self) -> None:
        """Close the connection; safe to call twice."""
