"""Another package adds a kind of database: its entry point is found by the URL's scheme."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest

from ckpt_cli.conformance import Conformance, Make
from ckpt_cli.errors import DatabaseUnreachable, UsageError
from ckpt_cli.langgraph import CkptSaver
from ckpt_cli.model import Checkpoint, Plan, Write
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.url import open_database
from tests.backends_table import DATABASES
from tests.graphs.building import line, on

TOY = Path(__file__).parent / "toy" / "ckpt_toy.py"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder in which the package is installed, as pip would."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copy(TOY, folder)
    metadata = folder / "ckpt_toy-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: ckpt-toy\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[ckpt_cli.savers]\ntoy = ckpt_toy:open_url\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield folder
    sys.modules.pop("ckpt_toy", None)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An empty database of the package."""
    place = tmp_path / "x.toy"
    place.touch()
    return place


class TestToy(Conformance):
    """The contract holds for the package's saver, in one process and after a fresh read."""

    @pytest.fixture
    def make(self, site: Path, tmp_path: Path) -> Make:
        numbers = count()

        def make(records: Iterable[Checkpoint | Write]) -> Saver:
            place = tmp_path / f"{next(numbers)} x.toy"
            place.touch()
            url = f"toy://{place}".replace(" ", "%20")
            open_database(url, str).apply(Plan("", tuple(records)))
            return open_database(url, str)

        return make


def test_commands(site: Path, path: Path) -> None:
    """Commands open it by its URL, show, change and undo; LangGraph's agents run on it."""
    url = f"toy://{path}"
    with closing(CkptSaver(url)) as saver:
        line(saver, "a", "b").invoke({"log": ["x"]}, on("t"))
    before = path.read_text()
    env = {**os.environ, "PYTHONPATH": str(site)}

    def ckpt(*words: str) -> str:
        command = [sys.executable, "-m", "ckpt_cli", *words, "-d", url]
        return subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout

    assert ckpt("threads").startswith("t\t")
    assert "toy" in ckpt("info")
    ckpt("fork", "t", "@", "--yes")
    assert len(path.read_text().splitlines()) == len(before.splitlines()) + 1
    ckpt("undo", "--yes")
    assert sorted(path.read_text().splitlines()) == sorted(before.splitlines())


def test_the_documents_show_it() -> None:
    """What `docs/databases.md` shows is this very file."""
    assert f"```python\n{TOY.read_text()}```" in DATABASES


def test_its_errors_are_its_own(site: Path, tmp_path: Path) -> None:
    """The package's own errors are shown in its words; without the package its scheme is unknown."""
    with pytest.raises(DatabaseUnreachable, match="no such file"):
        open_database(f"toy://{tmp_path}/none", str)
    with pytest.raises(UsageError, match="unknown kind of database") as caught:
        open_database("game://x", str)
    assert "toy" in caught.value.hint
