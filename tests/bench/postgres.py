"""Measures ckpt on Postgres against scripts that get the same answer from LangGraph's PostgresSaver.

``python -m tests.bench.postgres [--rounds N] [--check]``: starts a server of its own, or uses the one that
``CKPT_TEST_POSTGRES_URL`` names. The long thread is the one of `data`; the other database holds 100,000 checkpoints.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

sys.path.insert(0, str(Path(__file__).parent))

from run import Case, measure, surroundings, table
from subject import LONG

THREADS, EACH = 5000, 20
_PEER = str(Path(__file__).with_name("peers_postgres.py"))


def cases(long: str, many: str) -> list[Case]:
    """What is measured, with its targets."""
    return [
        Case("threads", ["threads", "--db", many], [_PEER, "threads", many], 10, memory=80),
        Case("tree", ["tree", LONG, "--db", long], [_PEER, "tree", long], 10, memory=80),
        Case("verify", ["verify", LONG, "--db", long], [_PEER, "whole", long], 2, memory=80),
        Case("blame", ["blame", LONG, "messages", "--db", long], [_PEER, "whole", long], 4, memory=80),
        Case("trace", ["trace", LONG, "--db", long], [_PEER, "whole", long], 4, memory=80),
        Case("show @", ["show", LONG, "--db", long], [_PEER, "show", long], 2),
    ]


@contextmanager
def databases() -> Iterator[tuple[str, str]]:
    """The URLs of the two databases, which are dropped afterwards."""
    import psycopg

    from tests.servers.postgres import PostgresServer, own_server

    given = os.environ.get("CKPT_TEST_POSTGRES_URL")
    if given:
        info = psycopg.connect(given).info
        server = PostgresServer(info.host, info.port, info.user, info.password)
        try:
            yield _filled(server)
        finally:
            server.clear()
        return
    own = own_server(cast(Any, SimpleNamespace(getoption=lambda _: True)))
    try:
        yield _filled(own)
    finally:
        own.stop()


def _filled(server: Any) -> tuple[str, str]:
    import psycopg
    from data import _long
    from langgraph.checkpoint.postgres import PostgresSaver

    from tests.savers.postgres.large import fill

    long, many = server.url(server.fresh()), server.url(server.fresh())
    fill(many, THREADS, EACH)
    with PostgresSaver.from_conn_string(long) as saver:
        _long(cast(Any, saver))
    with psycopg.connect(long, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
    return long, many


def main() -> int:
    """Make the data, then measure in a process that has none of it, so that peaks are the measured one's."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--check", action="store_true", help="exit 1 where a target is missed")
    parser.add_argument("--urls", nargs=2, metavar="URL", help="the databases, made before")
    options = parser.parse_args()
    if not options.urls:
        with databases() as urls:
            again = [sys.executable, "-m", "tests.bench.postgres", *sys.argv[1:], "--urls", *urls]
            return subprocess.run(again, check=False).returncode
    measured = cases(*options.urls)
    with tempfile.TemporaryDirectory() as folder:
        environment = surroundings(Path(folder))
        measure(measured, options.rounds, environment, lambda text: print(text, file=sys.stderr))
    print(table(measured))
    return 1 if options.check and not all(case.kept for case in measured) else 0


if __name__ == "__main__":
    sys.exit(main())
