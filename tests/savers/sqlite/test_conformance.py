"""The conformance tests on SQLite: on a new file, and on an existing file that is opened for reading."""

from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path

import pytest

from ckpt_cli.conformance import Conformance, Make
from ckpt_cli.model import Checkpoint, Plan, Write
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.sqlite import create, open_file


class TestNewFile(Conformance):
    """A database that ckpt makes and writes."""

    @pytest.fixture
    def make(self, tmp_path: Path) -> Iterator[Make]:
        opened: list[Saver] = []
        numbers = count()

        def make(records: Iterable[Checkpoint | Write]) -> Saver:
            saver = create(tmp_path / f"{next(numbers)}.sqlite")
            opened.append(saver)
            saver.apply(Plan("records", tuple(records)))
            return saver

        yield make
        for saver in opened:
            saver.close()


class TestExistingFile(TestNewFile):
    """The same database, opened for reading after its maker has closed it."""

    @pytest.fixture
    def make(self, tmp_path: Path) -> Iterator[Make]:
        opened: list[Saver] = []
        numbers = count()

        def make(records: Iterable[Checkpoint | Write]) -> Saver:
            path = tmp_path / f"{next(numbers)}.sqlite"
            maker = create(path)
            maker.apply(Plan("records", tuple(records)))
            maker.close()
            opened.append(open_file(path))
            return opened[-1]

        yield make
        for saver in opened:
            saver.close()
