"""``ckpt verify`` of what real libraries recorded: nothing differs, and at most one step in a thousand is suspect."""

import gzip
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ckpt_cli.commands.verify import verify
from ckpt_cli.history.integrity.faults import Kind
from ckpt_cli.session import KEY_ENV, Session
from ckpt_cli.views.verify import VerifiedThread, VerifyView
from tests.databases import DATA, DATABASES, DELTA_FORKS, FUNCTIONAL, KEYS

SERVERS = [
    *(("postgres", name.relative_to(DATA).as_posix()) for name in sorted(DATA.rglob("*pg-*.sql.gz"))),
    *(("mysql", name.relative_to(DATA).as_posix()) for name in sorted(DATA.rglob("mysql*.sql.gz"))),
    ("postgres", "pg.sql.gz"),
]
NO_CHECKPOINTS = "pg-store.sql.gz"
LATEST = ("real", "hitl", "js", "legacy/py-1.2.22", "legacy/js-1.4.17")


def verified(database: str, **options: object) -> tuple[VerifyView, list[VerifiedThread]]:
    """All threads of a database."""
    with closing(Session(database)) as session:
        view = verify(session, **options)  # type: ignore[arg-type]
        return view, list(view.threads)


def check(database: str) -> Counter[str]:
    """Nothing differs; gives the number of steps for each verdict."""
    view, threads = verified(database)
    found = [(thread.thread_id, one) for thread in threads for one in thread.findings if one.verdict == "differs"]
    assert not found
    assert view.exit_code in (0, 5)
    return Counter(view.verdicts)


def counted(folder: Path, packed: Callable[[str], bytes], monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """The steps of every SQLite database."""
    for name in (*DATABASES, DELTA_FORKS, FUNCTIONAL):
        monkeypatch.delenv(KEY_ENV, raising=False)
        if name in KEYS:
            monkeypatch.setenv(KEY_ENV, KEYS[name].decode())
        path = folder / f"{name.replace('/', '-')}.sqlite"
        path.write_bytes(packed(name))
        counts = check(str(path))
        assert name not in LATEST or counts["agrees"] > 20 * counts["unknown"], name
        yield counts


def test_of_every_generation(tmp_path: Path, packed: Callable[[str], bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every SQLite database: forks, updates, copies, Sends, errors, delta channels, LangGraph.js, no writes."""
    total = sum(counted(tmp_path, packed, monkeypatch), Counter[str]())
    assert total["suspect"] * 1000 <= total.total()
    assert total["agrees"] > 5000


@pytest.mark.parametrize(("kind", "name"), SERVERS)
def test_on_servers(request: pytest.FixtureRequest, kind: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where each channel's value is stored by its version, also in shallow tables and those of old releases."""
    if name == NO_CHECKPOINTS:
        return
    if "encrypted" in name:
        monkeypatch.setenv(KEY_ENV, KEYS["encrypted"].decode())
    server = request.getfixturevalue(kind)
    counts = check(server.url(server.loaded(name.removesuffix(".sql.gz"))))
    assert counts["suspect"] * 1000 <= counts.total()


def test_a_missing_key_proves_nothing(database: Callable[[str], Path]) -> None:
    """Without the key nothing can be read: no step differs, and the exit code says that something wasn't read."""
    view, threads = verified(str(database("encrypted")))
    assert view.verdicts.keys() <= {"unknown"}
    assert view.exit_code == 5
    assert {one.kind for thread in threads for one in thread.findings} == {Kind.UNREADABLE, Kind.NOT_COMPARED}


@pytest.mark.parametrize("name", ["py-0.0.26", "py-0.0.38"])
def test_without_writes_only_the_structure_is_checked(name: str, database: Callable[[str], Path]) -> None:
    """LangGraph 0.0 stored no writes: its steps are unknown, and each says why."""
    view, threads = verified(str(database(f"legacy/{name}")))
    assert view.verdicts["unknown"] > view.verdicts["agrees"]
    unknown = [one for thread in threads for one in thread.findings]
    assert {one.verdict for one in unknown} == {"unknown"}
    assert all(one.why for one in unknown)


def test_the_data_is_not_empty() -> None:
    """The lists of databases are made by patterns; a pattern that fits nothing would prove nothing."""
    assert len(SERVERS) > 12
    assert all(gzip.decompress((DATA / name).read_bytes()) for _, name in SERVERS)
