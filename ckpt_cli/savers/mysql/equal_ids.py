"""Threads whose ids differ in case, accents or spaces, which the server takes for one: read apart, blobs together.

LangGraph's own saver goes on with the checkpoints of ``Bob`` when it is asked for ``bob`` (langgraph-checkpoint-mysql
3.0, ``base.py: SELECT_SQL``), so that a checkpoint of one names blobs that stand under the other.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ckpt_cli.errors import Refused
from ckpt_cli.model import Checkpoint, Plan, Record, Ref, WriteKey
from ckpt_cli.savers.mysql.engine import MySQLEngine
from ckpt_cli.savers.paging import pages
from ckpt_cli.savers.sql.blobs import BlobName, Blobs
from ckpt_cli.savers.sql.layout import BLOBS, CHECKPOINTS

_PAGE = 500  # ids of one statement


class SharedBlobs(Blobs):
    """Blobs by the server's own comparison of thread ids: `MySQLEngine.among` finds them so."""

    def _rows(self, statement: str, names: Sequence[BlobName]) -> Iterator[tuple[Any, ...]]:
        asked = set(names)
        for row in super()._rows(statement, names):
            name = BlobName(*row[:4])
            found = name if name in asked else _meant(name, names)
            if found is not None:
                yield *found, *row[4:]


def _meant(name: BlobName, names: Iterable[BlobName]) -> BlobName | None:
    """The blob asked for that is stored under another spelling of its thread."""
    others = [other for other in names if other[1:] == name[1:]]
    near = [other for other in others if other.thread_id.casefold() == name.thread_id.casefold()]
    return (near or others)[0] if len(near or others) == 1 else None


def must_be_alone(engine: MySQLEngine, plan: Plan) -> None:
    """See that no thread of a plan is there in another spelling, which the plan doesn't name.

    Raises:
        Refused: LangGraph mixes the two, so that changing one changes the other.
    """
    if not engine.folds(CHECKPOINTS, "thread_id"):
        return
    named = {_thread_of(one) for one in (*plan.add, *plan.replace, *plan.remove)}
    name, exact = engine.quoted("thread_id"), engine.byte_order("thread_id")
    for page in pages(sorted(named), _PAGE):
        ids = ", ".join(["%s"] * len(page))
        others = f"SELECT {name} FROM checkpoints WHERE {name} IN ({ids}) AND {exact} NOT IN ({ids})"  # noqa: S608
        words = [engine.search_value(BLOBS, "thread_id", thread_id) for thread_id in page]
        for (other,) in engine.query(others, words * 2):
            if other not in named:
                what = f"thread {other!r} is the same to this database as one that is to be changed"
                raise Refused(f"{what}; nothing was written", hint="its collation takes different ids for one")


def _thread_of(one: Record | Ref | WriteKey) -> str:
    if isinstance(one, WriteKey):
        return one.ref.thread_id
    return one.row.thread_id if isinstance(one, Checkpoint) else one.thread_id
