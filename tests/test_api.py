"""What `docs/api.md` calls public exists, by the path it is named with, and so do the names from before a move."""

import re
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ckpt_cli import errors
from ckpt_cli.savers import registry

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "api.md").read_text("utf-8")
NAMES = re.findall(r"^\| `(ckpt_cli[\w.]+)` \|", TEXT, re.MULTILINE)
MOVED = re.findall(r"^\| `(ckpt_cli[\w.]+)` \| `(ckpt_cli[\w.]+)` \|$", TEXT, re.MULTILINE)


def named(path: str) -> Any:
    """What a dotted path names: a module, or an attribute of one."""
    module, _, name = path.rpartition(".")
    parent = import_module(module)
    return getattr(parent, name) if hasattr(parent, name) else import_module(path)


@pytest.mark.parametrize("path", NAMES)
def test_a_public_name_can_be_imported(path: str) -> None:
    """``from … import …`` works, and a module that lists its names lists this one."""
    assert named(path) is not None
    parent = import_module(path.rpartition(".")[0])
    if not isinstance(named(path), ModuleType):
        assert path.rpartition(".")[2] in getattr(parent, "__all__", dir(parent))


@pytest.mark.parametrize(("old", "new"), MOVED)
def test_a_name_from_before_a_move_is_the_same_thing(old: str, new: str) -> None:
    """Code that was written for an older version still runs."""
    assert named(old) is named(new)


@pytest.mark.parametrize("path", [path for path in NAMES if path in ("ckpt_cli.model", "ckpt_cli.errors")])
def test_what_is_named_of_a_module_is_in_it(path: str) -> None:
    """The records and errors that the page lists."""
    (line,) = [line for line in TEXT.splitlines() if line.startswith(f"| `{path}` |")]
    listed = re.findall(r"`([A-Z]\w+)`", line)
    assert listed and all(hasattr(named(path), name) for name in listed)


def test_every_error_has_an_exit_code_of_the_reference() -> None:
    """The page promises that errors carry their exit codes; `docs/reference.md` says what each means."""
    reference = (ROOT / "docs" / "reference.md").read_text("utf-8").partition("## Exit codes")[2].partition("## ")[0]
    codes = {int(code) for code in re.findall(r"^\| (\d+) \|", reference, re.MULTILINE)}
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.CkptError)]
    assert {kind.exit_code for kind in kinds} <= codes


def test_the_entry_point_group_is_the_one_that_is_read() -> None:
    """Packages register under the group that the page names; `tests/savers/custom/test_foreign.py` opens one."""
    assert f"entry-point group `{registry.GROUP}`" in TEXT


def test_the_page_is_linked() -> None:
    """A reader of the README or of ARCHITECTURE.md finds it."""
    for page in ("README.md", "ARCHITECTURE.md"):
        assert "docs/api.md" in (ROOT / page).read_text("utf-8")
