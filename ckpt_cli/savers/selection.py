"""`Selection`: the checkpoints that an agent lists; `FilterKind`: how metadata is compared."""

from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from ckpt_cli.model import Payload, Ref


class FilterKind(StrEnum):
    """How LangGraph's own saver of this database compares metadata with a filter; `Selection.metadata` is encoded so.

    The kinds `EQUAL` and `PRESENT` are compared in Python, by those savers and by ckpt.
    """

    CONTAINED = "contained"
    """JSON that the metadata must contain, as the server defines it (checkpoint-postgres 3.2, checkpoint-mysql 3.0)."""
    PATHS = "paths"
    """An object of JSON paths, each with the scalar found there (checkpoint-sqlite 3.1, ``utils.py``)."""
    FIELDS = "fields"
    """Metadata with the same fields, each compared by its bytes (checkpoint-mongodb 0.5, ``saver.py: list``)."""
    TAGS = "tags"
    """An object of indexed fields: lists of tags, and the number ``step`` (checkpoint-redis 0.5, ``list``)."""
    OWN = "own"
    """The filter itself, which the checkpointer's own ``list`` gets."""
    EQUAL = "equal"
    """``metadata.get(key) == value`` for each key (checkpoint 4.3, ``memory``; checkpoint-aws 1.2, DynamoDB)."""
    PRESENT = "present"
    """``key in metadata and metadata[key] == value`` for each key (checkpoint-aws 1.2, Valkey)."""


class Selection(NamedTuple):
    """Checkpoints to list, the highest id first; None means no condition.

    Attributes:
        before: only checkpoints with a lower id.
        limit: how many checkpoints to give at most; a positive number.
        metadata: what their metadata must be, encoded as `RecordFormat.filter` says.
    """

    thread_id: str | None = None
    ns: str | None = None
    checkpoint_id: str | None = None
    before: str | None = None
    limit: int | None = None
    metadata: Payload | None = None


class Selector:
    """The role of a saver whose engine can select checkpoints for an agent; a part of the contract."""

    def select(self, selection: Selection) -> Iterator[Ref] | None:  # noqa: ARG002 - for engines with such a query
        """The names of the selected checkpoints, found by the engine; None if it has no such query.

        Raises:
            FilterRefused: the engine can't compare metadata with the selection's.
        """
        return None
