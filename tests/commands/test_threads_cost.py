"""What `threads --limit 0` costs a thread: statements, decoded payloads, Python's own instructions."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ckpt_cli.model import Payload
from ckpt_cli.queries.quick_threads import read_statuses
from ckpt_cli.queries.thread_status import ThreadStatus
from ckpt_cli.reading import Reader
from ckpt_cli.savers.sqlite.saver import open_file
from ckpt_cli.serde.codec import Codec
from ckpt_cli.views.threads import ThreadView
from tests.bench import fleet_data
from tests.work import instructions

THREADS = 200


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Threads of a real graph: of a hundred, five wait and three failed; each input is in two of them."""
    path = tmp_path_factory.mktemp("fleet") / "fleet.sqlite"
    fleet_data.make(path, THREADS // 2, 2)
    return path


@pytest.fixture
def reader(fleet: Path) -> Iterator[Reader]:
    """Reads the fleet."""
    with closing(open_file(fleet)) as saver:
        yield Reader(saver, Codec())


def _views(reader: Reader) -> list[ThreadView]:
    return reader.moment(lambda: [one.view() for one in read_statuses(reader, list(reader.saver.threads()))])


def test_the_views_are_those_of_single_threads(reader: Reader) -> None:
    """Finished ones, waiting ones and failed ones."""
    slowly = reader.moment(lambda: [ThreadStatus(reader, one).view() for one in reader.saver.threads()])
    assert _views(reader) == slowly
    assert Counter(one.status for one in slowly) == {"done": 184, "waiting": 10, "failed": 6}


def test_statements(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of threads costs a few statements, and a thread that waits or failed two of its own."""
    statements = Counter[str]()
    query = reader.saver._connection.query  # type: ignore[attr-defined]

    def counted(sql: str, parameters: Iterable[object] = ()) -> Any:
        statements[sql] += 1
        return query(sql, parameters)

    monkeypatch.setattr(reader.saver._connection, "query", counted)  # type: ignore[attr-defined]
    _views(reader)
    assert statements.total() < 2 * 16 + 20, statements


def test_decoded_payloads(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a finished thread the head, its metadata and those of the input are decoded; equal inputs once."""
    decode, decoded = reader.codec.decode, Counter[bytes]()

    def counted(payload: Payload) -> Any:
        decoded[payload.data] += 1
        return decode(payload)

    monkeypatch.setattr(reader.codec, "decode", counted)
    _views(reader)
    assert decoded.total() < THREADS * 3 + (THREADS // 2) * 2 + 16 * 6


def test_instructions(reader: Reader) -> None:
    """A bound on Python's own work: 2,800 instructions a thread, of which one in twelve waits or failed."""
    _views(reader)  # imports and caches
    spent = instructions(lambda: _views(reader))
    assert spent < 3400 * THREADS, spent / THREADS
