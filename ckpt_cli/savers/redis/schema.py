"""Detects which saver wrote a database, from a few of its documents without their values."""

import json
from collections.abc import Mapping
from itertools import islice
from typing import Any, NamedTuple

from ckpt_cli.savers.faults import no_checkpoints
from ckpt_cli.savers.redis.connection import Connection
from ckpt_cli.savers.redis.index import Index
from ckpt_cli.savers.redis.keys import Keys
from ckpt_cli.savers.redis.records import is_old

_SAMPLE = 20  # keys that are read

_PATHS = ("$.checkpoint_id", "$.checkpoint.id", "$.parent_checkpoint_id", "$.checkpoint_ts")


class Schema(NamedTuple):
    """The generation and layout of a database, as its documents' fields show.

    Attributes:
        shallow: whether each namespace keeps one checkpoint, without a parent.
        misnamed: whether documents have their parents' ids in their keys (0.0.x).
        old: whether values of writes are plain JSON, not base64 (0.1.x).
        facts: more for `About.facts`.
    """

    shallow: bool
    misnamed: bool
    old: bool
    facts: Mapping[str, str]

    @property
    def writable(self) -> bool:
        """Whether ckpt can write this generation."""
        return not (self.shallow or self.misnamed or self.old)

    @property
    def pointers(self) -> bool:
        """Whether keys point to the checkpoint written last."""
        return not (self.shallow or self.misnamed)

    @property
    def layout(self) -> str:
        """The layout's short name."""
        return "redis shallow" if self.shallow else "redis"

    @property
    def generation(self) -> str:
        """The generation in words."""
        if self.shallow:
            return "checkpoint-redis, shallow (the last checkpoint only)"
        if self.misnamed:
            return "checkpoint-redis 0.0"
        return "checkpoint-redis 0.1" if self.old else "checkpoint-redis 0.2 or newer"


def detect(connection: Connection, keys: Keys, index: Index | None) -> Schema:
    """Detect the schema from some checkpoints and some writes.

    Raises:
        DatabaseUnreachable: the database has neither documents nor LangGraph's index.
    """
    sample = [*islice(connection.keys(keys.pattern(None, writes=False)), _SAMPLE)] if index is None else index.some()
    documents = [fields for fields in _documents(connection, sample) if any(fields.values())]
    if not documents and index is None and not _has_index(connection, keys):
        hint = "the URL's path is the number of the database, ?checkpoint_prefix= the start of its keys"
        raise no_checkpoints(connection.address.location, hint, "RedisSaver.setup()")
    shallow = bool(documents) and not any(fields["$.parent_checkpoint_id"] for fields in documents)
    misnamed = any(not fields["$.checkpoint_ts"] and _is_misnamed(fields) for fields in documents)
    facts = {} if (connection.is_cluster or index is not None) else {"note": "each command scans the database's keys"}
    return Schema(shallow, misnamed, _is_old(connection, keys, index), facts)


def _documents(connection: Connection, keys: list[str]) -> list[dict[str, Any]]:
    answers = connection.read(("JSON.GET", key, *_PATHS) for key in keys)
    return [json.loads(answer) for answer in answers if isinstance(answer, bytes)]


def _is_old(connection: Connection, keys: Keys, index: Index | None) -> bool:
    sample = connection.keys(keys.pattern(None, writes=True)) if index is None else iter(index.some(writes=True))
    commands = (("JSON.GET", key, "$.type", "$.blob") for key in islice(sample, _SAMPLE))
    writes = [json.loads(answer) for answer in connection.read(commands) if isinstance(answer, bytes)]
    are_old = [is_old(*one["$.type"], *one["$.blob"]) for one in writes if one["$.type"] == ["json"] and one["$.blob"]]
    return 2 * sum(are_old) > len(are_old)  # the majority decides, because one value may be damaged


def _is_misnamed(fields: Mapping[str, list[Any]]) -> bool:
    (own,) = fields["$.checkpoint.id"] or (None,)
    return isinstance(own, str) and fields["$.checkpoint_id"] not in ([], [own])


def _has_index(connection: Connection, keys: Keys) -> bool:
    (answer,) = connection.all([("FT.INFO", keys.prefix)], failing=True)
    return not isinstance(answer, Exception) and not connection.address.database
