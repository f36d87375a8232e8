"""The kinds of databases, each with an example of what ``--db`` takes: shown where no database was named."""

from typing import NamedTuple

from ckpt_cli.installing import is_installed
from ckpt_cli.savers.registry import SCHEMES


class Kind(NamedTuple):
    """A kind of database, and an example of its name."""

    label: str
    example: str


KINDS = (
    Kind("SQLite", "path/to/checkpoints.sqlite"),
    Kind("Postgres", "postgresql://user:password@host/db, service=prod"),
    Kind("MySQL", "mysql://user:password@host/db"),
    Kind("Redis", "redis://:password@host:6379/0"),
    Kind("Valkey", "valkey://host:6379/0"),
    Kind("MongoDB", "mongodb://host/checkpointing_db"),
    Kind("DynamoDB", "dynamodb://table?region=eu-west-1"),
    Kind("langgraph dev", "path/to/.langgraph_api"),
    Kind("bundle", "path/to/incident.ckpt"),
    Kind("your own", "agents.memory:checkpointer, langgraph.json"),
)
"""The kinds of databases."""


def missing_extra(kind: Kind) -> str:
    """The extra of ckpt that a kind of database needs and that isn't installed; "" if nothing is missing."""
    backend = SCHEMES.get(kind.example.partition("://")[0])
    if backend is None or is_installed(*backend.drivers):
        return ""
    return backend.extra
