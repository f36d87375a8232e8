"""Thread ids that the server's collation treats as equal (case, accents, spaces); blobs that they share.

ckpt reads them as different threads. But LangGraph's own saver, asked for ``bob``, continues from the checkpoints of
``Bob`` (langgraph-checkpoint-mysql 3.0, ``base.py: SELECT_SQL``). So a checkpoint of ``bob`` may name blobs of ``Bob``.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ckpt_cli.errors import Refused
from ckpt_cli.model import Checkpoint, Plan, Record, Ref, WriteKey
from ckpt_cli.savers.mysql.engine import MySQLEngine
from ckpt_cli.savers.paging import pages
from ckpt_cli.savers.sql.blobs import BlobName, Blobs
from ckpt_cli.savers.sql.layout import BLOBS, CHECKPOINTS

_PAGE = 500  # ids in one statement


class SharedBlobs(Blobs):
    """Finds blobs by the server's own comparison of thread ids, which `MySQLEngine.among` uses for blobs."""

    def _rows(self, statement: str, names: Sequence[BlobName]) -> Iterator[tuple[Any, ...]]:
        requested = set(names)
        for row in super()._rows(statement, names):
            name = BlobName(*row[:4])
            match = name if name in requested else _match(name, names)
            if match is not None:
                yield *match, *row[4:]


def _match(name: BlobName, names: Iterable[BlobName]) -> BlobName | None:
    """For a blob found under an equal thread id: the requested blob that it answers. None if none or several fit."""
    same_version = [other for other in names if other[1:] == name[1:]]
    same_letters = [other for other in same_version if other.thread_id.casefold() == name.thread_id.casefold()]
    matches = same_letters or same_version
    return matches[0] if len(matches) == 1 else None


def must_not_have_equal_ids(engine: MySQLEngine, plan: Plan) -> None:
    """Check that, for the server, no thread id of a plan equals the id of a thread outside the plan.

    Raises:
        Refused: LangGraph mixes two such threads, so that changing one changes the other.
    """
    if not engine.equates_texts(CHECKPOINTS, "thread_id"):
        return
    thread_ids = {_thread_of(record) for record in (*plan.add, *plan.replace, *plan.remove)}
    name, exact = engine.quoted("thread_id"), engine.byte_order("thread_id")
    for page in pages(sorted(thread_ids), _PAGE):
        ids = ", ".join(["%s"] * len(page))
        others = f"SELECT {name} FROM checkpoints WHERE {name} IN ({ids}) AND {exact} NOT IN ({ids})"  # noqa: S608
        values = [engine.search_value(BLOBS, "thread_id", thread_id) for thread_id in page]
        for (other,) in engine.query(others, values * 2):
            if other not in thread_ids:
                what = f"this database treats the id of thread {other!r} as equal to that of a thread to change"
                raise Refused(f"{what}; nothing was written", hint="its collation treats different ids as equal")


def _thread_of(record: Record | Ref | WriteKey) -> str:
    if isinstance(record, WriteKey):
        return record.ref.thread_id
    return record.row.thread_id if isinstance(record, Checkpoint) else record.thread_id
