"""Which saver wrote a database, detected from a few of its documents without their values."""

import json
from collections.abc import Mapping
from itertools import islice
from typing import Any, NamedTuple

from ckpt_cli.savers.faults import no_checkpoints
from ckpt_cli.savers.redis.connection import Connection
from ckpt_cli.savers.redis.index import Index
from ckpt_cli.savers.redis.keys import Keys
from ckpt_cli.savers.redis.records import is_old

_SAMPLE = 20  # keys that are looked at

_PATHS = ("$.checkpoint_id", "$.checkpoint.id", "$.parent_checkpoint_id", "$.checkpoint_ts")


class Schema(NamedTuple):
    """What is known of a database from its documents' fields.

    Attributes:
        shallow: one checkpoint a namespace, without parents.
        misnamed: documents stand under the ids of their parents (0.0.x).
        old: values of writes are JSON as it is (0.1.x).
        facts: more, for people.
    """

    shallow: bool
    misnamed: bool
    old: bool
    facts: Mapping[str, str]

    @property
    def writable(self) -> bool:
        """Whether new records can stand beside those that are there."""
        return not (self.shallow or self.misnamed or self.old)

    @property
    def pointers(self) -> bool:
        """Whether there are keys that name what came last."""
        return not (self.shallow or self.misnamed)

    @property
    def layout(self) -> str:
        """A short name."""
        return "redis shallow" if self.shallow else "redis"

    @property
    def generation(self) -> str:
        """For people."""
        if self.shallow:
            return "checkpoint-redis, shallow (the last checkpoint only)"
        if self.misnamed:
            return "checkpoint-redis 0.0"
        return "checkpoint-redis 0.1" if self.old else "checkpoint-redis 0.2 or newer"


def detect(connection: Connection, keys: Keys, index: Index | None) -> Schema:
    """Look at some checkpoints and some writes.

    Raises:
        DatabaseUnreachable: there are no documents and no index of LangGraph's.
    """
    found = [*islice(connection.keys(keys.pattern(None, writes=False)), _SAMPLE)] if index is None else index.some()
    documents = [told for told in _documents(connection, found) if any(told.values())]
    if not documents and index is None and not _has_index(connection, keys):
        hint = "the URL's path is the number of the database, ?checkpoint_prefix= how its keys begin"
        raise no_checkpoints(connection.address.location, hint)
    shallow = bool(documents) and not any(told["$.parent_checkpoint_id"] for told in documents)
    misnamed = any(not told["$.checkpoint_ts"] and _is_misnamed(told) for told in documents)
    facts = {} if (connection.is_cluster or index is not None) else {"note": "each command scans the database's keys"}
    return Schema(shallow, misnamed, _is_old(connection, keys, index), facts)


def _documents(connection: Connection, keys: list[str]) -> list[dict[str, Any]]:
    answers = connection.read(("JSON.GET", key, *_PATHS) for key in keys)
    return [json.loads(answer) for answer in answers if isinstance(answer, bytes)]


def _is_old(connection: Connection, keys: Keys, index: Index | None) -> bool:
    some = connection.keys(keys.pattern(None, writes=True)) if index is None else iter(index.some(writes=True))
    asked = (("JSON.GET", key, "$.type", "$.blob") for key in islice(some, _SAMPLE))
    told = [json.loads(answer) for answer in connection.read(asked) if isinstance(answer, bytes)]
    judged = [is_old(*one["$.type"], *one["$.blob"]) for one in told if one["$.type"] == ["json"] and one["$.blob"]]
    return 2 * sum(judged) > len(judged)  # one may be damaged


def _is_misnamed(told: Mapping[str, list[Any]]) -> bool:
    (own,) = told["$.checkpoint.id"] or (None,)
    return isinstance(own, str) and told["$.checkpoint_id"] not in ([], [own])


def _has_index(connection: Connection, keys: Keys) -> bool:
    (answer,) = connection.all([("FT.INFO", keys.prefix)], failing=True)
    return not isinstance(answer, Exception) and not connection.address.database
