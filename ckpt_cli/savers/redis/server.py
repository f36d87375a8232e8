"""What savers share whose rows are keys of a server that speaks Redis' protocol."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import ClassVar, TypeVar

from ckpt_cli.model import Ref, Row, RowChange, Thread
from ckpt_cli.savers.about import Place
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.faults import read_only, unless_sent
from ckpt_cli.savers.redis import own_fields
from ckpt_cli.savers.redis.connection import Connection
from ckpt_cli.savers.redis.faults import explained
from ckpt_cli.savers.redis.images import Images

T = TypeVar("T")

NOBODY = Ref("ckpt: may this user write?", "", "no")
"""A checkpoint that isn't there."""


class KeySaver(Saver):
    """One connection, and its keys as rows.

    Args:
        absent: the key that `NOBODY` would have, to try whether this user may write.
    """

    out_of_reach: ClassVar[str] = (
        "the append-only file (until `BGREWRITEAOF`), the snapshot (until `BGSAVE`), replicas and backups"
    )
    page = 25
    _trials: ClassVar[Sequence[str]] = ("DEL",)
    """Commands that a plan may need, harmless on a key that isn't there."""

    def __init__(self, connection: Connection, absent: str) -> None:
        self._connection = connection
        self._images = Images(connection)
        self._absent = absent
        self._lasting = False

    def _forget(self) -> None:
        """Forget what a scan of the keys found."""

    def moment(self, look: Callable[[], T]) -> T:
        """These servers hold no moment: an application may write between two reads."""

        def fresh() -> T:
            if not self._lasting:
                self._forget()
            return look()

        return self._connection.moment(fresh)

    @contextmanager
    def one_scan(self) -> Iterator[None]:
        """The names of keys are kept, and no more: what they hold is read anew."""
        self._forget()
        self._lasting = True
        try:
            yield
        finally:
            self._lasting = False
            self._forget()

    @property
    def identity(self) -> str:
        """The server, the database's number, and key prefixes where they aren't the usual ones."""
        return self._connection.address.identity

    def place(self) -> Place:
        """The running server, and what in it is named; nothing that outlives the server is there to know it by."""
        address = self._connection.address
        return Place(self.identity, "", f"{self._connection.instance()}/{address.space}")

    def must_be_writable(self, *, trying: bool) -> None:
        """Ask for the server's role; for the user's rights only by trying, as a user may rarely look at its own."""
        location = self._connection.address.location
        if self._connection.is_replica:
            raise read_only(location, "it is a replica")
        with unless_sent(location), explained(location, writing=True):
            for command in self._trials if trying else ():
                self._connection.execute(command, self._absent)

    def transaction(self, work: Callable[[], T]) -> T:
        """What `work` changes is one transaction of the server's; on a cluster each key by itself.

        Raises:
            Refused: this user or this server may not write.
        """
        self._forget()
        self.must_be_writable(trying=True)
        return self._images.transaction(work)

    def current(self, relation: str, key: Row) -> Row | None:  # noqa: ARG002 - the key says it all
        """A key with its type and when it expires."""
        return next(self._images.of([str(key["key"])]))[1]

    def currents(self, names: Sequence[tuple[str, Row]]) -> list[Row | None]:
        """Many keys at once."""
        return [row for _, row in self._images.of(str(key["key"]) for _, key in names)]

    def written_columns(self, relation: str) -> frozenset[str] | None:  # noqa: ARG002 - all are alike
        """LangGraph's fields, and values that are whole."""
        return own_fields.WRITTEN

    def fields(self, relation: str, row: Row) -> Row:  # noqa: ARG002
        """A document field by field."""
        return own_fields.fields(row)

    def restored(self, relation: str, image: Row, now: Row | None) -> Row:  # noqa: ARG002
        """With the fields of others."""
        return own_fields.restored(image, now)

    def change(self, changes: Iterable[RowChange]) -> None:
        """Set and delete keys that are as they were."""
        self._forget()
        self._images.change(changes)
        self._forget()

    def close(self) -> None:
        """Close the sockets."""
        self._connection.close()


def threads_with_heads(refs: Iterable[Ref]) -> Collection[Thread]:
    """Threads with the highest checkpoint of their root graphs; of their namespaces, where they have no root."""
    best: dict[str, Ref] = {}
    for ref in refs:
        best[ref.thread_id] = max(best.get(ref.thread_id, ref), ref, key=lambda one: (one.ns == "", one.checkpoint_id))
    return [Thread(thread_id, head) for thread_id, head in best.items()]
