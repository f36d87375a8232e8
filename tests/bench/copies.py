"""Measures ``copy`` of the long thread against a script with the official savers' ``list``, ``put`` and ``put_writes``.

``python -m tests.bench.copies [--rounds N] [--check]``: from SQLite to a Postgres server of its own, and to SQLite.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

sys.path.insert(0, str(Path(__file__).parent))

from run import Case, measure, surroundings, table
from subject import LONG

_PEER = str(Path(__file__).with_name("peers_copies.py"))


def cases(source: str, postgres: str, folder: Path) -> list[Case]:
    """What is measured, with its targets; before each run the target becomes empty."""
    import psycopg

    file = folder / "target.sqlite"

    def empty() -> None:
        file.unlink(missing_ok=True)
        shutil.rmtree(folder / "state", ignore_errors=True)
        with psycopg.connect(postgres, autocommit=True) as connection:
            connection.execute("TRUNCATE checkpoints, checkpoint_blobs, checkpoint_writes")

    def case(name: str, target: str, *words: str, least: float) -> Case:
        ours = ["copy", source, target, LONG, "--yes", *words]
        return Case(name, ours, [_PEER, source, target], least, memory=100, before=empty)

    return [
        case("to Postgres", postgres, least=5),
        case("  unchecked", postgres, "--no-check", least=10),
        case("to SQLite", str(file), least=5),
    ]


def main() -> int:
    """Make the data and the server, measure, print."""
    from tests.servers.postgres import own_server

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "ckpt-bench")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--check", action="store_true", help="exit 1 where a target is missed")
    options = parser.parse_args()
    subprocess.run([sys.executable, str(Path(__file__).with_name("data.py")), str(options.data)], check=True)
    server = own_server(cast(Any, SimpleNamespace(getoption=lambda _: True)))
    try:
        with tempfile.TemporaryDirectory() as folder:
            source = str(options.data / "long.sqlite")
            measured = cases(source, server.url(server.fresh()), Path(folder))
            measure(measured, options.rounds, surroundings(Path(folder)), lambda text: print(text, file=sys.stderr))
    finally:
        server.stop()
    print(table(measured))
    return 1 if options.check and not all(case.kept for case in measured) else 0


if __name__ == "__main__":
    sys.exit(main())
