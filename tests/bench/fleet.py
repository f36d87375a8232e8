"""Measures questions about a whole fleet: 250,000 threads on SQLite, 33,000 on Postgres.

``python -m tests.bench.fleet [--on sqlite|postgres] [--data FOLDER] [--rounds N] [--only NAME] [--check]``. On SQLite,
questions that the database can answer are compared with ``threads -n 50``. All else is compared with a script that only
groups what LangGraph's own saver lists. On Postgres a server is started, unless ``CKPT_TEST_POSTGRES_URL`` names one.
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
from subject import USER

_HERE = Path(__file__).parent
_WHERE = f'metadata.user_id == "{USER}"'
QUESTIONS = {
    "waiting": ["threads", "--status", "waiting"],
    "failed": ["threads", "--status", "failed"],
    "where": ["threads", "--where", _WHERE],
}
_ALL = ["threads", "--limit", "0"]
_EACH = ["get", "--each", "answer"]


def on_sqlite(path: str) -> list[Case]:
    """What is measured on SQLite, with its targets: as slow as `threads`, or faster than a script."""
    short = ["-m", "ckpt_cli", "threads", "-n", "50", "--db", path]
    groups, each = ([str(_HERE / "peers.py"), question, path] for question in ("groups", "each_answer"))
    asked = [Case(name, [*words, "--db", path], short, 3, faster=False) for name, words in QUESTIONS.items()]
    return [
        *asked,
        Case("stats", ["stats", "--db", path], short, 5, faster=False),
        Case("limit 0", [*_ALL, "--db", path], groups, 1.5, memory=60),
        Case("each", [*_EACH, "--db", path], each, 1.5, memory=60),
    ]


def on_postgres(url: str) -> list[Case]:
    """What is measured on Postgres, with its targets: faster than a script."""
    groups = [str(_HERE / "peers_postgres.py"), "groups", url]
    short = ["-m", "ckpt_cli", "threads", "-n", "50", "--db", url]
    return [
        *(Case(name, [*words, "--db", url], groups, 10) for name, words in QUESTIONS.items()),
        Case("stats", ["stats", "--db", url], short, 5, faster=False),
        Case("limit 0", [*_ALL, "--db", url], groups, 3, memory=60),
        Case("each", [*_EACH, "--db", url], groups, 3, memory=60),
    ]


@contextmanager
def database(engine: str, folder: Path) -> Iterator[str]:
    """The address of the database; the one on Postgres is dropped afterwards."""
    from tests.bench import fleet_data

    if engine == "sqlite":
        folder.mkdir(parents=True, exist_ok=True)
        fleet_data.make(folder / "fleet.sqlite")
        yield str(folder / "fleet.sqlite")
        return
    import psycopg

    from tests.servers.postgres import PostgresServer, own_server

    given = os.environ.get("CKPT_TEST_POSTGRES_URL")
    if given:
        info = psycopg.connect(given).info
        server = PostgresServer(info.host, info.port, info.user, info.password)
    else:
        server = own_server(cast(Any, SimpleNamespace(getoption=lambda _: True)))
    try:
        url = server.url(server.fresh())
        fleet_data.fill_postgres(url)
        yield url
    finally:
        server.clear() if given else server.stop()


def main() -> int:
    """Make the data, then measure in a process that has none of it, so that peaks are the measured one's."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--on", choices=("sqlite", "postgres"), default="sqlite", help="the engine")
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "ckpt-bench")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", action="append", help="a case by name")
    parser.add_argument("--check", action="store_true", help="exit 1 where a target is missed")
    parser.add_argument("--db", help="the database, made before")
    options = parser.parse_args()
    if not options.db:
        with database(options.on, options.data) as address:
            again = [sys.executable, "-m", "tests.bench.fleet", *sys.argv[1:], "--db", address]
            return subprocess.run(again, check=False).returncode
    cases = on_sqlite(options.db) if options.on == "sqlite" else on_postgres(options.db)
    measured = [case for case in cases if not options.only or case.name in options.only]
    with tempfile.TemporaryDirectory() as folder:
        measure(measured, options.rounds, surroundings(Path(folder)), lambda text: print(text, file=sys.stderr))
    print(table(measured))
    return 1 if options.check and not all(case.kept for case in measured) else 0


if __name__ == "__main__":
    sys.exit(main())
