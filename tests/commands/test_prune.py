"""``ckpt prune``: how its plan looks, which checkpoints each policy keeps and why, what it refuses."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ckpt_cli.app import run
from ckpt_cli.commands.prune import prune
from ckpt_cli.parameters.keep_policies import KeepOptions
from ckpt_cli.parameters.selector import SelectorOptions
from ckpt_cli.session import ChangeOptions, Session
from tests import golden
from tests.commands.changes import Json

Database = Callable[[str], Path]

LOOKS: dict[str, tuple[list[str], KeepOptions]] = {
    "forks": (["forks"], KeepOptions(last=1, inputs=True)),
    "delta": (["delta"], KeepOptions(tips=True)),
    "snapshot": (["delta"], KeepOptions(tips=True, snapshot=True, reducer=["log=append"])),
    "subgraphs": (["subgraph-stateful"], KeepOptions(last=2)),
    "first": (["durability-exit"], KeepOptions(tips=True)),
    "daily": (["chat-linear"], KeepOptions(daily=2, source=["input", "update"])),
    "nothing": (["chat-linear"], KeepOptions(within="2025-01-01")),
    "many": ([], KeepOptions(last=1)),
}


@pytest.mark.parametrize("name", LOOKS)
def test_looks(name: str, database: Database) -> None:
    """A plan on every kind of output, with the log's path and the clock pinned."""
    threads, keep = LOOKS[name]
    options = ChangeOptions(dry_run=True)
    session = Session(str(database("real")), clock=lambda: golden.NOW, options=options, may_change=True)
    try:
        view: Any = prune(session, threads, keep, SelectorOptions(match=None if threads else "*sub*"))
        if threads and view.log:
            view.log = "/home/ada/.local/state/ckpt/5ee53d83cd/log.sqlite"
        golden.check(f"prune/{name}", view)
    finally:
        session.close()


REFUSED = {
    "which threads": (["--keep-last", "3"], 2, "which threads?"),
    "no policy": (["forks"], 2, "what stays? name at least one policy"),
    "a policy of nothing": (["forks", "--keep-last", "0", "--keep-daily", "0"], 2, "what stays?"),
    "no such thread": (["nobody", "--keep-tips"], 4, "no thread 'nobody'"),
    "no such source": (["forks", "--keep-source", "bulk"], 2, "'bulk' is no source"),
    "no size": (["forks", "--max-bytes", "much"], 2, "'much' is no size"),
    "a reducer without snapshots": (
        ["forks", "--keep-tips", "--reducer", "log=append"],
        2,
        "of which --snapshot stores",
    ),
    "no time": (["forks", "--keep-within", "long"], 2, "'long' is no time"),
    "fewer than none": (["forks", "--keep-last", "-1"], 2, "--keep-last"),
    "one of many": (["forks", "--keep-tips", "--limit", "1"], 2, "are for many threads"),
    "not confirmed": (["forks", "--keep-tips"], 7, "the plan was not applied"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each says what is wrong, with the exit code of its kind, and writes nothing."""
    words, code, message = REFUSED[name]
    before = path.read_bytes()
    assert run(["prune", *words, "-d", str(path)]) == code
    assert message in capsys.readouterr().err
    assert path.read_bytes() == before


def test_a_tag_keeps_its_checkpoint(ckpt: Callable[..., Json]) -> None:
    """With the tag as the reason; without it, the same policy lets the checkpoint go."""
    steps = {one["step"]: one["checkpoint_id"] for one in ckpt("log", "chat-linear")["steps"]}
    ckpt("tag", "chat-linear", "step:3", "good")
    stays = {one["checkpoint_id"]: one["reasons"] for one in _staying(ckpt, "chat-linear", "--keep-tag")}
    assert stays[steps[3]] == ["tag good"]
    ckpt("tag", "chat-linear", "--delete", "good")
    assert steps[3] not in {one["checkpoint_id"] for one in _staying(ckpt, "chat-linear", "--keep-tag")}


def _staying(ckpt: Callable[..., Json], *words: str) -> list[Json]:
    return [one for one in ckpt("prune", *words, "--dry-run")["checkpoints"] if one["stays"]]


def test_many_threads_are_one_operation(ckpt: Callable[..., Json]) -> None:
    """Those of which nothing goes are left out; one undo brings all back; one thread can be brought back alone."""
    before = {one["thread_id"]: one["checkpoints"] for one in ckpt("threads", "--limit", "0")["threads"]}
    view = ckpt("prune", "--match", "*", "--keep-last", "2", "--yes")
    after = {one["thread_id"]: one["checkpoints"] for one in ckpt("threads", "--limit", "0")["threads"]}
    changed = {one["thread_id"] for one in view["threads"]}
    assert view["done"] == len(changed) > 5
    assert {one for one in before if after[one] != before[one]} == changed
    ckpt("undo", "--thread", "forks", "--yes")
    ckpt("undo", "--yes")
    assert {one["thread_id"]: one["checkpoints"] for one in ckpt("threads", "--limit", "0")["threads"]} == before


def test_pruned_twice_is_pruned_once(ckpt: Callable[..., Json]) -> None:
    """The same policy finds nothing more to remove: what was kept needs no more than what was kept."""
    for thread_id in ("forks", "delta", "chat-linear", "subgraph-stateful", "long-1000"):
        assert ckpt("prune", thread_id, "--keep-last", "2", "--yes")["applied"]
        again = ckpt("prune", thread_id, "--keep-last", "2", "--yes")
        assert not again["applied"] and not again["rows"]


def test_idle_threads_go_as_a_whole(ckpt: Callable[..., Json]) -> None:
    """But none that waits or failed, unless a status names it; undo brings back all of them."""
    statuses = {one["thread_id"]: one["status"] for one in ckpt("threads", "--limit", "0")["threads"]}
    spared = {one for one, status in statuses.items() if status in ("waiting", "failed")}
    assert spared and spared != statuses.keys()
    for named in ([], ["waiting"], ["waiting", "done", "failed", "unfinished"]):
        words = [word for one in named for word in ("--status", one)]
        view = ckpt("prune", "--idle", "1d", *words, "--yes")
        gone = {one["thread_id"] for one in view["threads"]}
        assert gone == {one for one, is_ in statuses.items() if (is_ in named if named else one not in spared)}
        assert {one["thread_id"] for one in ckpt("threads", "--limit", "0")["threads"]} == statuses.keys() - gone
        ckpt("undo", "--same-database", "--yes")
    assert {one["thread_id"]: one["status"] for one in ckpt("threads", "--limit", "0")["threads"]} == statuses


def test_what_is_not_idle_is_pruned(ckpt: Callable[..., Json]) -> None:
    """With policies, only idle threads go; without, others aren't touched."""
    newest = ckpt("threads", "--limit", "1")["threads"][0]
    thread_id, when = newest["thread_id"], newest["updated"]
    assert not ckpt("prune", thread_id, "--idle", when, "--dry-run")["rows"]
    kept = ckpt("prune", thread_id, "--idle", when, "--keep-last", "2", "--dry-run")
    assert [one["stays"] for one in kept["checkpoints"]].count(True) >= 2
    assert not any(one["stays"] for one in ckpt("prune", thread_id, "--idle", "1d", "--dry-run")["checkpoints"])
