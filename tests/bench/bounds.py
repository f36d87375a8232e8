"""Shows that ckpt's work is linear in what it reads: sizes are doubled six times, and no exponent may be above 1.3.

``python -m tests.bench.bounds [--only NAME] [--times N]`` makes its databases in a temporary folder, prints calls,
seconds and megabytes for each size, and exits 1 where an exponent is too high, or where a command takes more memory
than its case allows. Work is the number of Python and C calls, which doesn't depend on the machine; what happens inside
one C call shows in the seconds alone. Memory is that of a process of its own. ``--times`` doubles fewer times, from the
same first size.
"""

import argparse
import json
import math
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, redirect_stderr, redirect_stdout
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver

from ckpt_cli.app import run
from tests.bench import fan_out

_STEEPEST = 1.3
_LISTED = 60  # megabytes of resident memory of a command that lists threads or checkpoints, whatever their number
_MOVED = 100  # of one that packs or copies them: frames are compressed in it
_DOUBLED = 6
_SERDE = JsonPlusSerializer()


class Row(NamedTuple):
    """One checkpoint, as numbers; `writes` are those that its tasks left on it."""

    number: int
    parent: int | None
    step: int
    values: dict[str, Any]
    source: str = "loop"
    writes: Mapping[str, Any] = MappingProxyType({})


class Case(NamedTuple):
    """What is doubled, up to which size, and the commands that are counted.

    Attributes:
        fill: makes the database of a size.
        megabytes: the most memory that a command may take; None if it may grow.
    """

    name: str
    last: int
    fill: Callable[[Path, int], None]
    commands: list[list[str]]
    megabytes: int | None = None


def _channels(size: int) -> Iterable[Row]:
    values = {f"c{n}": n for n in range(size)}
    yield Row(0, None, -1, values, "input")
    yield Row(1, 0, 0, {**values, "c0": 1}, writes={"c0": 2})


def _branches(size: int) -> Iterable[Row]:
    yield Row(0, None, -1, {"x": 0}, "input")
    yield from (Row(n, 0, 0, {"x": n}, "update") for n in range(1, size + 1))


def chain(size: int) -> Iterable[Row]:
    """A thread of so many checkpoints without a fork."""
    yield Row(0, None, -1, {"x": 0}, "input", {"x": 1})
    yield from (Row(n, n - 1, n - 1, {"x": n}, writes={"x": n + 1}) for n in range(1, size))


def _dicts(size: int) -> Iterable[Row]:
    before, after = ([{"n": n, "text": f"{word} {n}"} for n in range(size)] for word in ("old", "new"))
    return _lists(before, after)


def _scattered(size: int) -> Iterable[Row]:
    before, after = ([n if n % 2 else f"{word} {n}" for n in range(size)] for word in ("old", "new"))
    return _lists(before, after)


def _lists(before: list[Any], after: list[Any]) -> Iterable[Row]:
    yield Row(0, None, -1, {"docs": before}, "input", {"docs": after})
    yield Row(1, 0, 0, {"docs": after})


def _writes(size: int) -> Iterable[Row]:
    yield Row(0, None, -1, {"x": 0}, "input", {f"x{n}": n for n in range(size)})
    yield Row(1, 0, 0, {f"x{n}": n for n in range(size)}, writes={f"y{n}": n for n in range(size)})


def _texts(size: int) -> Iterable[Row]:
    yield Row(0, None, -1, {"x": "", "text": "some text " * 300}, "input", {"x": "1"})
    yield from (Row(n, n - 1, n - 1, {"x": f"{n}", "text": "some text " * 300}) for n in range(1, size))


def _rows(rows: Callable[[int], Iterable[Row]]) -> Callable[[Path, int], None]:
    return lambda path, size: make(path, rows(size))


def _fan_out(kind: str) -> Callable[[Path, int], None]:
    return lambda path, size: fan_out.make(path, size, kind)


def make_threads(path: Path, count: int) -> None:
    """A database with so many threads of two checkpoints each."""
    make(path, chain(2))
    with closing(sqlite3.connect(path)) as connection:
        for table in ("checkpoints", "writes"):
            names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            rest = ", ".join(names[1:])
            sql = f"INSERT INTO {table} (thread_id, {rest}) SELECT ?, {rest} FROM {table} WHERE thread_id = 't'"
            connection.executemany(sql, ((f"thread-{n:09}",) for n in range(count - 1)))
        connection.commit()


_T = [["log", "t"], ["show", "t"], ["threads"], ["tree", "t", "--full"]]
_JSON_PLAN = ["delete", "t", "--after", "step:2", "--dry-run", "--json"]
_PASSES = [["verify", "t"], ["trace", "t"], ["graph", "t"]]  # they read each step once
_PRUNE = ["prune", "t", "--keep-last", "10", "--dry-run"]
_PACK = ["export", "-o", "{new}.ckpt"]
_COPY = ["copy", "{db}", "{new}.sqlite", "--yes"]
CASES = [
    Case("channels", 100_000, _rows(_channels), [["threads"], ["show", "t"], ["log", "t"]]),
    Case("passes over channels", 100_000, _rows(_channels), [*_PASSES, ["blame", "t", "c0"], ["stats", "--values"]]),
    Case("branches", 100_000, _rows(_branches), [["tree", "t"], ["log", "t", "--all", "-n", "5"]]),
    Case("passes over branches", 100_000, _rows(_branches), [*_PASSES, _PRUNE, ["blame", "t", "x"]]),
    Case("rails", 20_000, _rows(_branches), [["log", "t", "--all", "--graph", "-n", "0"]]),
    Case(
        "chain",
        30_000,
        _rows(chain),
        [["replay", "t", "--to", "@"], ["delete", "t", "--after", "step:2", "--dry-run"], _JSON_PLAN, ["writes", "t"]],
        megabytes=_LISTED,
    ),
    Case(
        "passes over a chain",
        30_000,
        _rows(chain),
        [
            *_PASSES,
            ["trace", "t", "--json"],
            _PRUNE,
            ["blame", "t", "x", "--history"],
            ["blame", "t", "x", "--reverse"],
            ["bisect", "t", "--good", "step:0", "--where", "x > 100"],
            _PACK,
            _COPY,
        ],
    ),
    Case(
        "lines",
        30_000,
        _rows(chain),
        [
            ["log", "t", "-n", "0"],
            ["log", "t", "-n", "0", "--json"],
            ["tree", "t"],
            ["tree", "t", "--full"],
            ["tree", "t", "--full", "--json"],
            ["show", "t"],
        ],
        megabytes=_LISTED,
    ),
    Case("dicts", 5_000, _rows(_dicts), [["diff", "t"], ["log", "t"]]),
    Case("list", 10_000, _rows(_scattered), [["diff", "t"], ["log", "t"]]),
    Case("writes", 20_000, _rows(_writes), [["log", "t"], ["show", "t"], ["writes", "t"], ["threads"]]),
    Case("threads", 32_000, make_threads, [["threads", "--limit", "0"], ["grep", "zebra"]], _LISTED),
    Case("fleet", 32_000, make_threads, [["stats", "--values"], ["verify"], ["graph"], _PACK, _COPY], _MOVED),
    Case("bulk", 32_000, make_threads, [["prune", "--match", "*", "--keep-last", "1", "--dry-run"]]),
    Case("checkpoints", 32_000, _rows(_texts), [["grep", "zebra"], ["threads"], ["get", "t", "x"]], _LISTED),
    Case("Sends", 2_000, _fan_out("finished"), [*_T, *_PASSES, ["show", "t", "step:1"], ["blame", "t", "out"]]),
    Case("no paths", 2_000, _fan_out("without paths"), _T),
    Case("questions", 2_000, _fan_out("waiting"), [*_T, ["resume", "t"]]),
    Case("subgraphs", 1_000, _fan_out("subgraphs"), [*_T, ["resume", "t"], ["delete", "t", "--dry-run"]]),
]


def make(path: Path, rows: Iterable[Row]) -> None:
    """A database with one thread ``t`` of these checkpoints, in the tables of the real saver."""
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        SqliteSaver(connection).setup()
        connection.execute("PRAGMA synchronous = OFF")
        for row in rows:
            _insert(connection, row)
        connection.commit()


def _insert(connection: sqlite3.Connection, row: Row) -> None:
    versions = dict.fromkeys(row.values, row.number + 1)
    body = {"v": 4, "ts": "2025-06-01T00:00:00+00:00", "id": _id(row.number), "channel_values": row.values}
    kind, data = _SERDE.dumps_typed({**body, "channel_versions": versions, "versions_seen": {}})
    metadata = json.dumps({"source": row.source, "step": row.step, "parents": {}}).encode()
    parent = None if row.parent is None else _id(row.parent)
    names = "thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata"
    stored = ("t", "", _id(row.number), parent, kind, data, metadata)
    connection.execute(f"INSERT INTO checkpoints ({names}) VALUES (?, ?, ?, ?, ?, ?, ?)", stored)
    for index, (channel, value) in enumerate(row.writes.items()):
        written = ("t", "", _id(row.number), f"{row.number:08x}-0000", index, channel, *_SERDE.dumps_typed(value))
        names = "thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, value"
        connection.execute(f"INSERT INTO writes ({names}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", written)


def _id(number: int) -> str:
    """An id as langgraph makes them, in the order of numbers."""
    ticks = 0x1F044C4A0000000 + number * 1000
    return f"{ticks >> 28:08x}-{ticks >> 12 & 0xFFFF:04x}-6{ticks & 0xFFF:03x}-8000-{number:012x}"


def calls(words: list[str]) -> tuple[int, float]:
    """How many calls a command makes, and how many seconds it takes while they are counted."""
    count = 0

    def profile(_frame: Any, event: str, _arg: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    started = time.perf_counter()
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        sys.setprofile(profile)
        try:
            code = run(words)
        finally:
            sys.setprofile(None)
    if code:
        raise SystemExit(f"ckpt {' '.join(words)} ended with {code}")
    return count, time.perf_counter() - started


def megabytes(words: list[str]) -> int:
    """The resident memory of a command in a process of its own, at its peak."""
    program = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True);"
    program += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10)"
    command = [sys.executable, "-c", program, sys.executable, "-m", "ckpt_cli", *words]
    return int(subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout)


def _words(command: list[str], path: Path, run_name: str) -> list[str]:
    """A command on the database; ``{db}`` stands for it, and ``{new}`` for a file that doesn't exist."""
    new = path.with_name(f"{path.stem}-{run_name}-{command[0]}")
    words = [word.format(db=path, new=new) for word in command]
    return words if "{db}" in command else [*words, "--db", str(path)]


def measure(case: Case, doubled: int, folder: Path) -> bool:
    """Print each size of a case; whether no exponent and no memory is too high."""
    first, kept = case.last >> _DOUBLED, True
    counted: dict[str, list[int]] = {}
    for times in range(doubled + 1):
        size = first << times
        path = folder / f"{case.name}-{size}.sqlite"
        case.fill(path, size)
        for command in case.commands:
            work, seconds = calls(_words(command, path, "counted"))
            memory = megabytes(_words(command, path, "weighed"))
            is_too_much = case.megabytes is not None and memory > case.megabytes
            kept = kept and not is_too_much
            line = f"{case.name:20} {size:>8,}  {' '.join(command):40} {work:>12,} calls {seconds:8.2f} s {memory:5} MB"
            print(line + ("   TOO MUCH" if is_too_much else ""), flush=True)
            counted.setdefault(" ".join(command), []).append(work)
        for file in folder.iterdir():
            file.unlink() if file.is_file() else shutil.rmtree(file)
    for words, work_by_size in counted.items():
        exponent = math.log2(work_by_size[-1] / work_by_size[-2])  # of the last doubling: fixed costs hide the first
        kept = kept and exponent <= _STEEPEST
        print(f"{case.name:20} {words}: exponent {exponent:.2f}{'' if exponent <= _STEEPEST else '   TOO HIGH'}")
    return kept


def main() -> int:
    """Measure all cases, or those named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", help="a case by name")
    parser.add_argument("--times", type=int, default=_DOUBLED, help="how often sizes are doubled")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as state:
        os.environ["XDG_STATE_HOME"] = state  # operation logs of copies
        cases = [case for case in CASES if not options.only or case.name in options.only]
        kept = [measure(case, options.times, Path(folder)) for case in cases]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
