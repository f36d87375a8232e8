"""`ckpt fork`: a copy in the same thread or a new thread, from the plan to its undo."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ckpt_cli.app import run
from ckpt_cli.operations.log_paths import default_path
from tests.commands.changes import THREAD, Json, row_changes, values
from tests.operations.databases import dump


def test_a_fork_from_plan_to_undo(ckpt: Callable[..., Json], path: Path) -> None:
    """A dry run shows the plan and changes nothing; the real fork adds one row, names it, and undo removes it."""
    before = dump(path)
    planned = ckpt("fork", THREAD, "step:1", "--dry-run")
    assert (planned["applied"], planned["operation"], row_changes(planned)) == (False, None, [("add", "checkpoints")])
    assert dump(path) == before
    assert not default_path(f"sqlite:{path.resolve()}").exists()
    done = ckpt("fork", THREAD, "step:1", "--yes", "--reason", "wrong turn")
    assert (done["applied"], done["operation"], done["reason"]) == (True, 1, "wrong turn")
    named = done["config"]["configurable"]
    shown = ckpt("show", THREAD)
    assert (shown["checkpoint_id"], shown["source"]) == (named["checkpoint_id"], "fork")
    assert shown["parent"]["checkpoint_id"] == ckpt("show", THREAD, "@^")["checkpoint_id"]
    assert [o["state"] for o in ckpt("operations")["operations"]] == ["done"]
    assert row_changes(ckpt("undo", "--yes")) == [("remove", "checkpoints")]
    assert dump(path) == before
    assert row_changes(ckpt("undo", "2", "--yes")) == [("add", "checkpoints")]
    assert ckpt("show", THREAD)["checkpoint_id"] == named["checkpoint_id"]
    assert [o["state"] for o in ckpt("operations")["operations"]] == ["done", "undone", "done"]


def test_a_thread_of_its_own(ckpt: Callable[..., Json], capsys: pytest.CaptureFixture[str]) -> None:
    """It goes under the new id with its ancestors, and names no checkpoint; an id that is taken is refused."""
    done = ckpt("fork", THREAD, "@", "--to", "forks-again", "--yes")
    assert done["config"] == {"configurable": {"thread_id": "forks-again", "checkpoint_ns": ""}}
    assert values(ckpt("show", "forks-again")) == values(ckpt("show", THREAD))
    assert len(ckpt("log", "forks-again")["steps"]) == len(ckpt("log", THREAD)["steps"])
    ckpt("fork", THREAD, "@", "--to", "forks-again", "--yes", code=7)
    ckpt("fork", THREAD, "--yes", code=2)
    without, whole = (ckpt("fork", THREAD, *rev, "--to", "other", "--dry-run") for rev in ([], ["@"]))
    assert without["summary"] == whole["summary"] and row_changes(without) == row_changes(whole)
    ckpt("fork", THREAD, "@", "--shallow", code=2)
    ckpt("fork", THREAD, "@", "--to", "x", "--ns", "sub", code=2)
    ckpt("fork", THREAD, "@", "--to", "alone", "--shallow", "--yes")
    assert len(ckpt("log", "alone")["steps"]) == 1


def test_pending_writes_are_named(ckpt: Callable[..., Json]) -> None:
    """The plan says which tasks start anew in the copy, or are taken along, and what is still to run."""
    again = ckpt("fork", "error-sibling", "@", "--to", "copy", "--dry-run")
    assert again["notes"][-2:] == [
        "good has finished at that checkpoint; after the new one it runs again",
        "--with-pending takes them along",
    ]
    taken = ckpt("fork", "error-sibling", "@", "--to", "copy", "--with-pending", "--yes")
    assert taken["summary"].endswith("with its pending writes; next: bad")
    assert taken["notes"][-1] == "taken along: bad (failed), good (finished)"
    assert ckpt("writes", "copy")["tasks"] == ckpt("writes", "error-sibling")["tasks"]
    past = ckpt("fork", "error-sibling", "step:0", "--to", "past", "--with-pending", "--dry-run")
    assert past["summary"].endswith("next: what follows its finished tasks")
    done = ckpt("fork", THREAD, "@", "--to", "done", "--with-pending", "--dry-run")
    assert done["notes"][-1] == "nothing is pending at that checkpoint"
    for words in (["--with-pending"], ["--to", "x", "--with-pending", "--shallow"]):
        ckpt("fork", THREAD, "@", *words, code=2)


def test_what_an_earlier_operations_undo_removed_is_no_agents_doing(
    ckpt: Callable[..., Json], capsys: pytest.CaptureFixture[str], path: Path
) -> None:
    """A thread that ckpt's own undo took away again is not said to be deleted by an agent; the hint brings it back."""
    ckpt("fork", THREAD, "--to", "new", "--yes")  # operation 1
    for number in ([], ["2"], ["1"]):  # operations 2 to 4: away, back, away
        ckpt("undo", *number, "--yes")
    assert run(["undo", "3", "--yes", "-d", str(path)]) == 7
    assert "operation 4 changed the same rows later" in capsys.readouterr().err
    ckpt("undo", "4", "--yes")
    assert ckpt("log", "new")["steps"]
    before = dump(path)
    ckpt("undo", "3", "--yes")
    ckpt("undo", "--yes", "6")
    assert dump(path) == before
