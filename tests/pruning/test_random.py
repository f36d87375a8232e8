"""Random threads, pruned by random policies: what stays is what it was, on every saver; undo brings all back."""

import os
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from random import Random

import pytest

from ckpt_cli.app import run
from ckpt_cli.history.lineage import ids
from ckpt_cli.model import Ref
from tests.cross.pruned import check_verified, nearest, policies
from tests.cross.travel import contents
from tests.langgraph.places import PLACES, places
from tests.pruning.reading import Seen, learned, look
from tests.pruning.threads import play, random_graph

FULL = {"sqlite": 300, "postgres": 300}
PARTS = int(os.environ.get("CKPT_PRUNE_PARTS", "1"))
"""How many tenths of the full number of plans are tried (300 on SQLite and Postgres, 50 elsewhere)."""
EACH = 5
"""Plans for the threads of each graph."""
ON_DYNAMODB = 1
"""The stand-in takes minutes for more, as the official saver asks for each checkpoint by itself."""

FOUND = [("sqlite", 3), ("postgres", 5)]
"""Parts in which a plan once made ckpt know less of a delta channel: they are always tried."""

THREADS = ("one", "two")
ALL = ["--match", "*"]
CHOICES = (["one"], ["two"], ALL)


@pytest.mark.parametrize(("kind", "part"), dict.fromkeys([*product(PLACES, range(PARTS)), *FOUND]))
def test_what_stays_is_what_it_was(
    request: pytest.FixtureRequest,
    kind: str,
    part: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """State, pending writes, interrupts and next nodes, by `get_state`, by the official saver and by ckpt."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    removed = 0
    for number in range(FULL.get(kind, 50) // 10 // EACH):
        dice = Random(f"{kind} {part} {number}")
        backend = places(request, kind)()
        with backend.official() as official:
            graphs = {thread_id: random_graph(dice, official) for thread_id in THREADS}
            for thread_id, graph in graphs.items():
                play(dice, graph, thread_id)
            was, before = look(backend, official, graphs), contents(backend)
            for _ in range(ON_DYNAMODB if kind == "dynamodb" and PARTS == 1 else EACH):
                words, which = _policies(dice, was), dice.choice(CHOICES)
                if dice.random() < 0.4:
                    words += ["--export", str(tmp_path / f"{kind} {part} {number}.ckpt")]
                view = backend.ckpt("prune", *which, *words, "--yes", capsys=capsys)
                now = look(backend, official, graphs)
                compare(was, now, [number, *words])
                check_verified(backend)
                if which != ALL:
                    stay = {
                        Ref(which[0], one["ns"], one["checkpoint_id"]) for one in view["checkpoints"] if one["stays"]
                    }
                    assert now.parents.keys() == {
                        ref for ref in was.parents if ref in stay or ref.thread_id not in which
                    }
                removed += len(was.parents) - len(now.parents)
                if view["applied"]:
                    assert run(["undo", "-d", backend.url, "--yes"]) == 0
                assert contents(backend) == before
    assert removed or kind not in FULL  # a single graph may need all that it has


def compare(was: Seen, now: Seen, where: object) -> None:
    """What stays is what it was, with the nearest ancestor that stays as parent."""
    kept = now.parents.keys()
    for before, after in ((was.states, now.states), (was.tuples, now.tuples)):
        assert [(ref, before[ref], after[ref]) for ref in kept if before[ref] != after[ref]] == [], where
    differing = [ref for ref in kept if was.ours[ref] != now.ours[ref] and not learned(was, now, ref)]
    assert [(ref, was.ours[ref], now.ours[ref]) for ref in differing] == [], where
    assert now.parents == nearest(was.parents, kept), where


def _policies(dice: Random, was: Seen) -> list[str]:
    """Some policies, among them a time between two checkpoints."""
    words = policies(dice)
    if dice.random() < 0.3:
        when = ids.unix_time(dice.choice(sorted(was.parents)).checkpoint_id)
        assert when is not None
        words += ["--keep-within", datetime.fromtimestamp(when, UTC).isoformat()]
    if dice.random() < 0.3:
        words += ["--max-bytes", str(dice.randint(0, 40_000))]
    return [*words, "--snapshot"] if dice.random() < 0.5 else words
