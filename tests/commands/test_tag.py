"""`ckpt tag`: tags are revisions, are shown, and can be moved."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ckpt_cli.app import run
from tests.commands.changes import THREAD, Json
from tests.operations.databases import dump


def test_tags_are_revisions(ckpt: Callable[..., Json], path: Path) -> None:
    """A tagged checkpoint is found by tag:NAME everywhere a revision is; the database isn't touched."""
    before, head = dump(path), ckpt("show", THREAD)["checkpoint_id"]
    output = ckpt("tag", THREAD, "@", "good")
    assert (output["did"], [tag["id"] for tag in output["tags"]]) == ("added", [head])
    ckpt("fork", THREAD, "step:1", "--yes")
    assert ckpt("show", THREAD, "tag:good")["checkpoint_id"] == head
    assert ckpt("show", THREAD, "tag:good^") == ckpt("show", THREAD, f"{head}^")
    assert (
        [tag["name"] for tag in ckpt("tag", "--list")["tags"]] == ["good"] == [t["name"] for t in ckpt("tag")["tags"]]
    )
    ckpt("tag", THREAD, "@", "good", code=7)
    assert ckpt("tag", THREAD, "@", "good", "--force")["tags"][0]["id"] != head
    ckpt("undo", "--yes")
    assert [tag["gone"] for tag in ckpt("tag", THREAD, "--list")["tags"]] == [True]
    ckpt("show", THREAD, "tag:good", code=4)
    assert ckpt("tag", THREAD, "--delete", "good")["did"] == "deleted"
    ckpt("show", THREAD, "tag:good", code=4)
    assert dump(path) == before
    for words in (["--delete", "x"], [THREAD], [THREAD, "@"], [THREAD, "@", "a b"], ["--list", THREAD, "@"]):
        ckpt("tag", *words, code=2)


def test_a_tag_that_moves_tells_where_it_was(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """So that it can be put back, which no undo does."""
    for rev, words in (("step:1", []), ("step:2", ["--force"]), ("step:2", ["--force"])):
        capsys.readouterr()
        assert run(["tag", THREAD, rev, "here", "-d", str(path), *words]) == 0
        output = capsys.readouterr()
        if rev == "step:2" and output.err:
            was = output.err.removeprefix("tag:here was on ").strip()
            assert run(["tag", THREAD, was, "there", "-d", str(path)]) == 0
    assert output.err == ""
    assert run(["show", THREAD, "step:1", "-d", str(path)]) == 0
    assert "tag:there" in capsys.readouterr().out


@pytest.mark.parametrize("verb", ["log", "tree", "show"])
def test_tags_are_shown(ckpt: Callable[..., Json], path: Path, capsys: pytest.CaptureFixture[str], verb: str) -> None:
    """A tagged checkpoint bears its tags wherever it is shown."""
    ckpt("tag", THREAD, "@", "good")
    ckpt("tag", THREAD, "@", "v2")
    assert run([verb, THREAD, "-d", str(path)]) == 0
    assert "tag:good tag:v2" in " ".join(capsys.readouterr().out.split())
