"""The same history has the same log on SQLite and on Postgres, which has task paths and sorts the keys of metadata."""

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ckpt_cli.queries.checkpoint_list import LogRequest
from ckpt_cli.queries.checkpoint_list import run as log_run
from ckpt_cli.reading import Reader
from ckpt_cli.savers.postgres import open_url
from ckpt_cli.savers.sqlite import open_file
from ckpt_cli.serde.codec import Codec
from ckpt_cli.values.jsonform import to_json
from ckpt_cli.views.steps import ChangeView
from tests.databases import FUNCTIONAL
from tests.servers.postgres import PostgresServer

PAIRS = {
    "legacy/py-0.2.3": "legacy/pg-0.2.3",
    "legacy/py-0.2.76": "legacy/pg-0.2.76",
    FUNCTIONAL: FUNCTIONAL,
    "legacy/py-0.6.11": "legacy/pg-0.6.11",
    "legacy/py-1.2.22": "legacy/pg-1.2.22",
}
"""One script ran on both. SQLite has task paths in the last pair alone, Postgres since 0.2.76."""

OTHER_VALUES = {"values", "values-surrogate", "values-lclike", "values-intkeys", "values-pickle"}
"""Their values differ: Postgres can't store all of them in metadata."""

NAMELESS = {
    ("legacy/py-0.6.11", "func-intr"),
    ("legacy/py-0.2.76", "node-intr"),
    *((FUNCTIONAL, thread) for thread in ("func-err", "func-taskerr")),
}
"""A node that never finished has no name where there are no task paths."""


@pytest.mark.parametrize("name", PAIRS)
def test_the_same_lines(name: str, database: Callable[[str], Path], postgres: PostgresServer) -> None:
    """Steps, sources, nodes, changes in their order, halts and statuses are the same."""
    with (
        closing(open_file(database(name))) as sqlite_saver,
        closing(open_url(postgres.url(postgres.loaded(PAIRS[name])))) as postgres_saver,
    ):
        on_sqlite, on_postgres = Reader(sqlite_saver, Codec()), Reader(postgres_saver, Codec())
        threads = {thread.thread_id for thread in sqlite_saver.threads()} - OTHER_VALUES
        assert threads <= {thread.thread_id for thread in postgres_saver.threads()}
        for thread_id in sorted(threads):
            names = (name, thread_id) not in NAMELESS
            assert _lines(on_sqlite, thread_id, names) == _lines(on_postgres, thread_id, names), thread_id


def _lines(reader: Reader, thread_id: str, names: bool) -> list[Any]:
    return [
        (
            step.step,
            step.source,
            list(step.nodes.items()),
            [(change.channel, *_words(change, step.step == 0)) for change in step.changes or ()],
            [(halt.kind, halt.node, halt.over) for halt in step.halts] if names else [],
            step.status,
        )
        for step in log_run(reader, thread_id, LogRequest(everything=True)).steps
    ]


def _words(change: ChangeView, is_first: bool) -> tuple[str, str]:
    """The kind and the text of a change, without the order of keys, which JSONB doesn't keep.

    Old checkpoints of SQLite hold a reducer's empty list before the first step adds to it. Postgres stores a channel
    only from its first version on (langgraph-checkpoint-postgres 1.0.3 ``base.py: _dump_blobs``).
    """
    if is_first and change.kind in ("added", "set"):
        return "set", json.dumps(to_json(change.after), sort_keys=True)
    return change.kind, json.dumps(sorted(change.text))
