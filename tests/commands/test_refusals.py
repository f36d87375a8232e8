"""A refusal names the command that goes on, and that command does."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from ckpt_cli.app import run

Database = Callable[[str], Path]

TYPED = {"PATH=JSON": "n=5", "NEW_THREAD": "new", "JSON": "true"}

REFUSED = [
    ("js", ["update", "js-chat", "@", "--as-node", "bot", "--values", '{"n": 1}', "--dry-run"]),
    ("legacy/py-0.2.60", ["update", "fork", "@", "--as-node", "a", "--values", '{"n": 1}', "--dry-run"]),
    ("real", ["fork", "forks", "@", "--to", "commands", "--dry-run"]),
    ("real", ["fork", "forks", "@~1", "--shallow", "--dry-run"]),
    ("real", ["fork", "subgraphs", "@", "--ns", "child", "--to", "copy", "--dry-run"]),
    ("real", ["delete", "forks", "--after", "@", "--dry-run"]),
    ("real", ["resume", "interrupt-single", "-i", "nothing=1", "--dry-run"]),
    ("demo", ["edit", "support-41", "@", "--set", "route=1", "--dry-run"]),
]


@pytest.mark.parametrize(("name", "words"), REFUSED, ids=lambda value: " ".join(value[:2]) if value else "")
def test_the_named_command_goes_on(
    name: str, words: list[str], database: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Pasted as it is, with words in capitals replaced, it is accepted: nothing in it is made up."""
    path = str(tmp_path / "demo.sqlite" if name == "demo" else database(name))
    assert name != "demo" or run(["demo", path]) == 0
    assert run([*words, "-d", path]) in (2, 4, 6, 7)
    said = capsys.readouterr().err
    found = re.search(r"`ckpt (.+?)`", said)
    assert found is not None, said
    pasted = [TYPED.get(word, word) for word in shlex.split(found[1])]
    changes = pasted[0] in ("edit", "fork", "replay", "update")
    assert run([*pasted, *(["--dry-run"] if changes else []), "-d", path]) == 0, capsys.readouterr().err
