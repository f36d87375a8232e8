"""SQLite: any part of a checkpoint, of metadata or of a write replaced by any value, in bytes that are sound."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.damage.databases import loosened
from tests.damage.looking import SOME, must_answer
from tests.damage.parts import REPLACED, Replaced, replace_part

COUNT = 12
NAMES = ("real", "js", "legacy/py-1.2.22", "legacy/py-0.2.60", "legacy/js-0.0.34")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where each damaged database is."""
    return tmp_path_factory.mktemp("parts") / "x.sqlite"


@settings(max_examples=COUNT, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(name=st.sampled_from(NAMES), damage=REPLACED, asked=SOME)
def test_no_shape_stops_a_command(name: str, damage: Replaced, asked: list[tuple[str, ...]], path: Path) -> None:
    """Every command answers, or refuses for a reason of the data's."""
    path.write_bytes(loosened(name))
    must_answer(path, asked, replace_part(path, damage))


@pytest.mark.parametrize("counters", ['{"messages": [1]}', '{"messages": 2}', "[]", "7"])
def test_counters_of_any_shape(counters: str, path: Path) -> None:
    """What counts towards a delta channel's next snapshot may be no pair of numbers."""
    path.write_bytes(loosened("real"))
    with closing(sqlite3.connect(path)) as db, db:
        changed = "UPDATE checkpoints SET metadata = json_set(metadata, '$.counters_since_delta_snapshot', json(?))"
        db.execute(changed, (counters,))
        threads = [thread for (thread,) in db.execute("SELECT DISTINCT thread_id FROM checkpoints")]
    plans = [("replay", "{thread}"), ("update", "{thread}", "--values", '{"messages": []}', "--dry-run")]
    for thread in threads:
        must_answer(path, plans, thread)


@pytest.mark.parametrize("parents", ['{"": []}', '{"": {"a": 1}}', '[""]', '{"": null}'])
def test_parents_of_any_shape(parents: str, path: Path) -> None:
    """The checkpoint that a subgraph was called from may be no id."""
    path.write_bytes(loosened("legacy/py-0.2.60"))
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE checkpoints SET metadata = json_set(metadata, '$.parents', json(?))", (parents,))
        threads = [thread for (thread,) in db.execute("SELECT DISTINCT thread_id FROM checkpoints")]
    plans = [
        ("fork", "{thread}", "@", "--to", "elsewhere", "--dry-run"),
        ("delete", "{thread}", "--after", "@^", "--dry-run"),
    ]
    for thread in threads:
        must_answer(path, plans, thread)
