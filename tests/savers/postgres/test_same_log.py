"""The same history has the same log on SQLite and on Postgres, which has task paths and sorts the keys of metadata."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ckpt_cli.commands.log import LogRequest
from ckpt_cli.commands.log import run as log_run
from ckpt_cli.reading import Reader
from ckpt_cli.savers.postgres import open_url
from ckpt_cli.savers.sqlite import open_file
from ckpt_cli.serde.codec import Codec
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
    on_sqlite = Reader(open_file(database(name)), Codec())
    on_postgres = Reader(open_url(postgres.url(postgres.loaded(PAIRS[name]))), Codec())
    threads = {thread.thread_id for thread in on_sqlite.saver.threads()} - OTHER_VALUES
    assert threads <= {thread.thread_id for thread in on_postgres.saver.threads()}
    for thread_id in sorted(threads):
        if (name, thread_id) in NAMELESS:
            assert _lines(on_sqlite, thread_id, names=False) == _lines(on_postgres, thread_id, names=False), thread_id
        else:
            assert _lines(on_sqlite, thread_id) == _lines(on_postgres, thread_id), thread_id
    for reader in (on_sqlite, on_postgres):
        reader.saver.close()


def _lines(reader: Reader, thread_id: str, *, names: bool = True) -> list[Any]:
    return [
        (
            step.step,
            step.source,
            list(step.nodes.items()),
            [(change.channel, change.kind, _in_any_order(change.text)) for change in step.changes or ()],
            [(halt.kind, halt.node, halt.over) for halt in step.halts] if names else [],
            step.status,
        )
        for step in log_run(reader, thread_id, LogRequest(everything=True)).steps
    ]


def _in_any_order(text: str) -> str:
    """A text without the order of keys, which JSONB doesn't keep."""
    return json.dumps(sorted(text))
