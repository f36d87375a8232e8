"""`ckpt diff --other`: a checkpoint compared with one of another database."""

import json
from pathlib import Path
from typing import Any

import pytest

from ckpt_cli.app import run
from ckpt_cli.output.text.diff import side_lines
from ckpt_cli.views.diff import End

DEMO = "ckpt-demo.sqlite"
Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    """The demo, a bundle of what it was, and an edit since."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert run(["demo"]) == 0
    assert run(["export", "-o", "then.ckpt", "-d", DEMO]) == 0
    assert run(["edit", "support-40", "--set", 'order_id="later"', "-d", DEMO, "--yes"]) == 0
    capsys.readouterr()


def said(*words: str, code: int = 0, capsys: Captured) -> Any:
    """The JSON that a command prints, its answer or its error."""
    capsys.readouterr()
    assert run(["diff", *words, "-d", DEMO, "--json"]) == code, capsys.readouterr()
    out, err = capsys.readouterr()
    return json.loads(out or err.splitlines()[-1])


def test_heads_of_two_databases(capsys: Captured) -> None:
    """The older side is the first database's; the answer names both, and what differs."""
    view = said("support-40", "--other", "then.ckpt", capsys=capsys)
    assert (view["before"]["database"], view["after"]["database"]) == (DEMO, "then.ckpt")
    assert view["before"]["checkpoint_id"] > view["after"]["checkpoint_id"]
    assert [(one["op"], one["path"]) for one in view["patch"]] == [("replace", "/order_id")]
    assert said("support-40", "@^", "--other", "then.ckpt", "--meta", capsys=capsys)["equal"]
    assert said("support-40", "--other", "then.ckpt", "--exit-code", code=1, capsys=capsys)["same"]


def test_the_same_as_inside_one_database(capsys: Captured) -> None:
    """A revision, and another thread, on the other side; apart from the database, all is what one database says."""
    for a, b in (("step:1", "step:4"), ("@", "support-39:@"), ("step:-1", "support-39:step:2")):
        view = said("support-42", a, b, "--other", "then.ckpt", "--meta", capsys=capsys)
        alone = said("support-42", a, b, "--meta", capsys=capsys)
        for side in ("before", "after"):
            assert view[side].pop("database") and alone[side].pop("database") is None
        assert view == alone


def test_on_a_terminal_both_databases_are_named(capsys: Captured) -> None:
    """A person sees which side is where."""
    sides = [End("t", "", "1", "1", 1, name) for name in (DEMO, "then.ckpt")]
    shown = "".join(text for line in side_lines(*sides, 100) for _, text in line)
    assert f"t in {DEMO}" in shown and "t in then.ckpt" in shown


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["support-40", "step:1..step:2", "--other", "then.ckpt"], 2, "both sides in one database"),
        (["support-40", "@", "nobody:@", "--other", "then.ckpt"], 4, "nobody"),
        (["support-40", "--other", "no.ckpt"], 3, "no.ckpt"),
        (["nobody", "--other", "then.ckpt"], 4, "nobody"),
    ],
    ids=str,
)
def test_what_isnt_there(words: list[str], code: int, message: str, capsys: Captured) -> None:
    """Each is an error that names it."""
    assert message in said(*words, code=code, capsys=capsys)["error"]["message"]
