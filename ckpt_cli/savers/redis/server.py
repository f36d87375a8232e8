"""`KeySaver`, the base of Redis and Valkey: moments, transactions, place, rights; each key is a row.

It is for servers that speak Redis' protocol.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import ClassVar, TypeVar

from ckpt_cli.model import CheckpointRow, Ref, Row, RowChange, Thread
from ckpt_cli.savers.about import Place
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.faults import read_only, unless_sent
from ckpt_cli.savers.measures import Advice, Figures, Space
from ckpt_cli.savers.redis import written_columns
from ckpt_cli.savers.redis.connection import Connection
from ckpt_cli.savers.redis.faults import translate_errors
from ckpt_cli.savers.redis.images import Images

T = TypeVar("T")

_MANY = 10_000  # checkpoints
_SAMPLE = 50  # checkpoints whose expiry is looked at

NOBODY = Ref("ckpt: may this user write?", "", "no")
"""A checkpoint that never exists."""


class KeySaver(Saver):
    """A saver that reads and writes by one connection; each of its rows is a key.

    Args:
        absent: the key of `NOBODY`, on which commands are tried to see whether this user may write.
    """

    out_of_reach: ClassVar[str] = (
        "the append-only file (until `BGREWRITEAOF`), the snapshot (until `BGSAVE`), replicas and backups"
    )
    unit: ClassVar[str] = "the memory of each checkpoint's key (MEMORY USAGE), and the lengths of written values"
    foresees_sizes: ClassVar[bool] = False
    shrinks: ClassVar[str] = (
        "a delete frees memory at once; the append-only file becomes smaller at the next BGREWRITEAOF"
    )
    page = 25
    has_flat_rows = False
    expiring: ClassVar[str] = 'RedisSaver(url, ttl={"default_ttl": 43200, "refresh_on_read": True})  # in minutes'
    """How an application makes LangGraph's saver of this kind so that what it stores expires."""
    _trials: ClassVar[Sequence[str]] = ("DEL",)
    """Commands that a plan may need, harmless on a key that doesn't exist."""
    _watched: Sequence[str] = ("",)
    """With what the keys of this saver begin."""

    def __init__(self, connection: Connection, absent: str) -> None:
        self._connection = connection
        self._images = Images(connection)
        self._absent = absent
        self._in_one_scan = False

    def _forget(self) -> None:
        """Forget the keys that a scan found."""

    def moment(self, look: Callable[[], T]) -> T:
        """Run `look`; these servers have no snapshots, so an application may write between two reads."""

        def fresh() -> T:
            if not self._in_one_scan:
                self._forget()
            return look()

        return self._connection.moment(fresh)

    def await_change(self, seconds: float) -> None:
        """See `ArrivalMethods.await_change`; it ends early on servers that send messages about changed keys."""
        self._connection.await_key(self._watched, seconds)

    @contextmanager
    def one_scan(self) -> Iterator[None]:
        """Keep the key names that a scan found until the block ends; each `moment` still reads the contents anew."""
        self._forget()
        self._in_one_scan = True
        try:
            yield
        finally:
            self._in_one_scan = False
            self._forget()

    @property
    def identity(self) -> str:
        """The server, the database's number, and key prefixes other than the default."""
        return self._connection.address.identity

    def place(self) -> Place:
        """The running server and the database in it; nothing in the data identifies the database after a restart."""
        address = self._connection.address
        return Place(self.identity, "", f"{self._connection.instance()}/{address.space}")

    def _checkpoint_key(self, ref: Ref) -> str | None:  # noqa: ARG002 - for layouts with one key for a checkpoint
        """The key of a checkpoint; None if it has several."""
        return None

    def checkpoint_sizes(self, rows: Sequence[CheckpointRow]) -> Sequence[int | None]:
        """The memory that each key takes, as the server tells it; None if it has none, or this user may not ask."""
        keys = [self._checkpoint_key(row.ref) for row in rows]
        commands = (("MEMORY USAGE", key) for key in keys if key is not None)
        answers = self._connection.all(commands, failing=True)
        sizes = [None if key is None else next(answers) for key in keys]
        return [size if isinstance(size, int) else None for size in sizes]

    def space(self) -> Space:
        """The settings of the whole server; what this database takes of its memory is only known key by key."""
        facts = self._connection.memory_settings()
        keys = [key for ref in self.sample(_SAMPLE) if (key := self._checkpoint_key(ref)) is not None]
        expiring = sum(1 for left in self._connection.read(("TTL", key) for key in keys) if left != -1)
        return Space(None, None, self.shrinks, settings={**facts, "expiring": f"{expiring} of {len(keys)}"})

    def advice(self, space: Space, figures: Figures) -> Iterator[Advice]:
        """A time to live if no key has one; a limit of memory that evicts keys at random."""
        expiring, _, looked_at = space.settings.get("expiring", "0 of 0").partition(" of ")
        if figures.checkpoints > _MANY and expiring == "0" and looked_at != "0":
            why = "no checkpoint has a time to live, so that memory only grows"
            yield Advice(why, (self.expiring,))
        if space.settings.get("maxmemory_policy", "").startswith("allkeys"):
            why = "at its limit of memory, the server evicts any key, also parts of threads that wait"
            yield Advice(why, ("CONFIG SET maxmemory-policy noeviction",))

    def must_be_writable(self, *, trying: bool) -> None:
        """Check that the server is no replica; if `trying`, also try commands, as few users may read their rights."""
        location = self._connection.address.location
        if self._connection.is_replica:
            raise read_only(location, "it is a replica")
        with unless_sent(location), translate_errors(location, writing=True):
            for command in self._trials if trying else ():
                self._connection.execute(command, self._absent)

    def transaction(self, work: Callable[[], T]) -> T:
        """Run `work`; its changes are one transaction of the server, on a cluster one for each key.

        Raises:
            Refused: this user may not write, or this server takes no writes.
        """
        self._forget()
        self.must_be_writable(trying=True)
        return self._images.transaction(work)

    def current(self, relation: str, key: Row) -> Row | None:  # noqa: ARG002 - the key alone names it
        """A key's type, value and expiry."""
        return next(self._images.of([str(key["key"])]))[1]

    def currents(self, names: Sequence[tuple[str, Row]]) -> list[Row | None]:
        """Many keys at once."""
        return [row for _, row in self._images.of(str(key["key"]) for _, key in names)]

    def written_columns(self, relation: str) -> frozenset[str] | None:  # noqa: ARG002 - all are alike
        """LangGraph's fields of documents, and whole values of other keys."""
        return written_columns.WRITTEN

    def fields(self, relation: str, row: Row) -> Row:  # noqa: ARG002
        """A document field by field."""
        return written_columns.fields(row)

    def restored(self, relation: str, image: Row, now: Row | None) -> Row:  # noqa: ARG002
        """The image with other programs' fields as they are now."""
        return written_columns.restored(image, now)

    def change(self, changes: Iterable[RowChange]) -> None:
        """Set and delete keys that equal their before-images."""
        self._forget()
        self._images.change(changes)
        self._forget()

    def close(self) -> None:
        """Close the sockets."""
        self._connection.close()


def threads_with_heads(refs: Iterable[Ref]) -> Collection[Thread]:
    """Each thread with its head: the highest checkpoint of its root graph or, without a root, of any namespace."""
    heads: dict[str, Ref] = {}
    for ref in refs:
        head = heads.get(ref.thread_id, ref)
        heads[ref.thread_id] = max(head, ref, key=lambda one: (one.ns == "", one.checkpoint_id))
    return [Thread(thread_id, head) for thread_id, head in heads.items()]
