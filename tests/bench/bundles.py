"""Measures bundles: how much smaller they are, bytes of input per processor second, what one value costs, memory.

``python tests/bench/bundles.py [--data FOLDER] [--check]``: the long thread, which compresses well, and one with random
text and a file of 3 MB in every state. ``--check`` exits 1 where a target is missed.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

from run import surroundings, timed
from subject import LONG

_CKPT = str(Path(sys.executable).with_name("ckpt"))
_LEAST = {"long": 150, "files": 60}  # times smaller
_MB_A_SECOND, _VALUE_MS, _MEMORY_MB = 300, 35, 100
_READ = 40  # values that are read


class Figures(NamedTuple):
    """One thread's figures.

    Attributes:
        ratio: how many times smaller than its payloads the bundle is.
        rate: MB of payloads that are packed in a processor second.
        value: milliseconds of the slowest of some values, once the bundle is open.
        packing: MB of memory at most, while it is packed; `unpacking`: while it is imported.
    """

    name: str
    ratio: float
    rate: float
    value: float
    packing: int
    unpacking: int

    @property
    def kept(self) -> bool:
        """Whether the targets are met."""
        fast = self.ratio >= _LEAST[self.name] and self.rate >= _MB_A_SECOND and self.value <= _VALUE_MS
        return fast and max(self.packing, self.unpacking) < _MEMORY_MB


def _measure(name: str, source: Path, folder: Path) -> Figures:
    environment = surroundings(folder)
    bundle, new = folder / f"{name}.ckpt", folder / f"{name}.sqlite"
    rates, packing = [], 0
    for number in range(4):  # the first one warms up
        bundle.unlink(missing_ok=True)
        _, cpu, peak = timed([_CKPT, "export", LONG, "-d", str(source), "-o", str(bundle)], environment)
        packing = max(packing, peak)
        rates += [_bytes(source) / cpu / 1e6] if number else []
    _, _, unpacking = timed([_CKPT, "copy", str(bundle), str(new), "--yes"], environment)
    ratio = _bytes(source) / bundle.stat().st_size
    own = [sys.executable, __file__, "--values", str(bundle)]  # a process that has few pages, and so have its children
    value = float(subprocess.run(own, check=True, capture_output=True, text=True).stdout)
    return Figures(name, ratio, sorted(rates)[1], value, packing, unpacking)


def _bytes(database: Path) -> int:
    import sqlite3

    query = "SELECT (SELECT sum(length(checkpoint) + length(metadata)) FROM checkpoints)"
    with sqlite3.connect(database) as connection:
        ((size,),) = connection.execute(f"{query} + (SELECT sum(length(value)) FROM writes)")
    return int(size)


def _slowest_value(bundle: Path) -> float:
    """The processor time of a state that is read from an open bundle, in milliseconds."""
    from ckpt_cli.savers.bundle.saver import BundleSaver

    saver, slowest = BundleSaver(bundle), 0.0
    rows = list(saver.rows(LONG))
    for row in random.Random(3).sample(rows, min(_READ, len(rows))):
        other = BundleSaver(bundle)  # no frame is cached
        list(other.rows(LONG))
        started = time.process_time()
        list(other.checkpoints([row.ref]))
        slowest = max(slowest, (time.process_time() - started) * 1000)
        other.close()
    saver.close()
    return slowest


def main() -> int:
    """Make the data, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "ckpt-bench")
    parser.add_argument("--values", help=argparse.SUPPRESS)
    parser.add_argument("--check", action="store_true", help="exit 1 where a target is missed")
    options = parser.parse_args()
    if options.values:
        print(_slowest_value(Path(options.values)))
        return 0
    subprocess.run([sys.executable, str(Path(__file__).with_name("data.py")), str(options.data), *_LEAST], check=True)
    print(f"{'':8} {'smaller':>9} {'MB/s':>7} {'value':>9} {'packing':>9} {'importing':>10}")
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in _LEAST:
            one = _measure(name, options.data / f"{name}.sqlite", Path(folder))
            memory = f"{one.packing:>6} MB {one.unpacking:>7} MB"
            mark = "" if one.kept else "   missed"
            print(f"{name:8} {one.ratio:>8.0f}x {one.rate:>7.0f} {one.value:>6.1f} ms {memory}{mark}", flush=True)
            missed += not one.kept
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
