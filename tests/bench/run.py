"""Measures ckpt against scripts that get the same answer from LangGraph's own saver: whole processes, medians, ratios.

For learning reducers from a whole thread there is no such script: it is compared with reading the thread's bytes.

``python tests/bench/run.py [--data FOLDER] [--rounds N] [--only NAME] [--check]``. Rounds are interleaved, so that
a busy machine is busy for both sides. ``--check`` exits 1 where a target is missed.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from subject import LONG, NEEDLE

_HERE = Path(__file__).parent
_CKPT = Path(sys.executable).with_name("ckpt")
_WHOLE = (  # what goes through all of a thread, and how many times as long as reading its bytes it may take
    (["verify", LONG], 6),
    (["blame", LONG, "messages"], 3),
    (["trace", LONG], 3),
    (["replay", LONG], 3),
)
_UNUSUAL = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED")


@dataclass
class Case:
    """One comparison: `ratio` is how many times faster than the peer it must be, or as slow it may be."""

    name: str
    ckpt: list[str]
    peer: list[str]
    ratio: float
    faster: bool = True
    memory: int | None = None
    before: Callable[[], None] = lambda: None
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)
    our_cpu: list[float] = field(default_factory=list)
    their_cpu: list[float] = field(default_factory=list)
    peak: int = 0

    @property
    def reached(self) -> float:
        """The measured ratio."""
        return self._ratio(self.ours, self.theirs)

    @property
    def reached_cpu(self) -> float:
        """The same for processor time, which is steady on a busy machine but leaves out a server's work."""
        return self._ratio(self.our_cpu, self.their_cpu)

    def _ratio(self, ours: list[float], theirs: list[float]) -> float:
        quotient = statistics.median(theirs) / statistics.median(ours)
        return quotient if self.faster else 1 / quotient

    @property
    def kept(self) -> bool:
        """Whether the targets are met."""
        fast = self.reached >= self.ratio if self.faster else self.reached <= self.ratio
        return fast and (self.memory is None or self.peak < self.memory)


def cases(folder: Path) -> list[Case]:
    """What is measured, with its targets."""
    long, many, small = (["--db", str(folder / f"{name}.sqlite")] for name in ("long", "many", "small"))
    trivial, read = [str(_HERE / "trivial.py")], [str(_HERE / "bytes_only.py"), str(folder / "long.sqlite")]

    def peer(question: str, database: str) -> list[str]:
        return [str(_HERE / "peers.py"), question, str(folder / f"{database}.sqlite")]

    return [
        Case("tree", ["tree", LONG, *long], peer("tree", "long"), 15, memory=80),
        Case("log -n 20", ["log", LONG, "-n", "20", *long], peer("log", "long"), 3),
        Case("threads", ["threads", *many], peer("threads", "many"), 5),
        Case("threads --limit 0", ["threads", "--limit", "0", *many], peer("groups", "many"), 1.5, memory=60),
        Case("get --each", ["get", "--each", "messages[0].content", *many], peer("each", "many"), 1.5, memory=60),
        Case("show @", ["show", LONG, *long], peer("show", "long"), 3),
        Case("grep", ["grep", NEEDLE, LONG, *long], peer("grep", "long"), 4, memory=80),
        Case("verify", ["verify", LONG, *long], peer("grep", "long"), 4, memory=80),
        Case("blame", ["blame", LONG, "messages", *long], peer("grep", "long"), 4, memory=80),
        Case("trace", ["trace", LONG, *long], peer("grep", "long"), 4, memory=80),
        *(Case(f"{words[0]}, bytes", [*words, *long], read, most, faster=False) for words, most in _WHOLE),
        Case("--version", ["--version"], trivial, 1.3, faster=False),
        Case("tree, small", ["tree", "small", *small], trivial, 1.5, faster=False),
    ]


def timed(command: list[str], environment: dict[str, str]) -> tuple[float, float, int]:
    """Wall seconds, processor seconds and peak megabytes of one process, whose output is discarded."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    elapsed = time.perf_counter() - started
    if status:
        raise SystemExit(f"{' '.join(command)} failed")
    return elapsed, usage.ru_utime + usage.ru_stime, usage.ru_maxrss // 1024


def surroundings(folder: Path) -> dict[str, str]:
    """The environment of both sides.

    Modules are compiled once, as they are where a package is installed; output is buffered, as Python does it by
    itself; and no operation log of this machine's user is searched.
    """
    kept = {name: value for name, value in os.environ.items() if name not in _UNUSUAL}
    return {**kept, "PYTHONPYCACHEPREFIX": str(folder / "compiled"), "XDG_STATE_HOME": str(folder / "state")}


def measure(measured: list[Case], rounds: int, environment: dict[str, str], say: Callable[[str], None]) -> None:
    """Fill in the cases, one run of each side a round."""
    for number in range(rounds + 1):
        say(f"round {number} of {rounds}" if number else "warming up")
        for case in measured:
            case.before()
            ours, our_cpu, peak = timed([str(_CKPT), *case.ckpt], environment)
            case.before()
            theirs, their_cpu, _ = timed([sys.executable, *case.peer], environment)
            case.peak = max(case.peak, peak)
            if number:
                case.ours.append(ours)
                case.theirs.append(theirs)
                case.our_cpu.append(our_cpu)
                case.their_cpu.append(their_cpu)


def table(measured: list[Case]) -> str:
    """Ratios and targets, one case a line."""
    lines = [f"{'':12} {'ckpt':>8} {'peer':>8} {'ratio':>14} {'target':>8} {'cpu':>7} {'peak MB':>8}"]
    for case in measured:
        ratio = f"{case.reached:.1f}x faster" if case.faster else f"{case.reached:.2f}x"
        sign = "≥" if case.faster else "≤"
        seconds = f"{statistics.median(case.ours):7.3f}s {statistics.median(case.theirs):7.3f}s"
        mark = "" if case.kept else "   missed"
        target, cpu = f"{sign}{case.ratio}x", f"{case.reached_cpu:.1f}x"
        lines.append(f"{case.name:12} {seconds} {ratio:>14} {target:>8} {cpu:>7} {case.peak:>8}{mark}")
    return "\n".join(lines)


def main() -> int:
    """Make the data, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "ckpt-bench")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", action="append", help="a case by name")
    parser.add_argument("--check", action="store_true", help="exit 1 where a target is missed")
    options = parser.parse_args()
    subprocess.run([sys.executable, str(_HERE / "data.py"), str(options.data)], check=True)
    measured = [c for c in cases(options.data) if not options.only or c.name in options.only]
    measure(measured, options.rounds, surroundings(options.data), lambda text: print(text, file=sys.stderr))
    print(table(measured))
    return 1 if options.check and not all(case.kept for case in measured) else 0


if __name__ == "__main__":
    sys.exit(main())
