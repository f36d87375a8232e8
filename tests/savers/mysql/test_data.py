"""Databases that the official savers wrote are read as these read them, and as the same graphs' SQLite database."""

import warnings
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.mysql.pymysql import PyMySQLSaver, ShallowPyMySQLSaver

from ckpt_cli.errors import NotSupported
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import Plan, Ref, Write
from ckpt_cli.reading import Reader
from ckpt_cli.savers.about import Ability
from ckpt_cli.savers.mysql import open_url
from ckpt_cli.savers.sqlite import open_file
from ckpt_cli.serde.codec import Codec
from ckpt_cli.values.state import State
from tests.databases import unpacked
from tests.graphs.building import on
from tests.servers.mysql import MySQLServer
from tests.truth_deviations import differences
from tests.truth_objects import rendered_object
from tests.truth_rendering import canonical, enveloped, rendered, whole


class Reading03(PyMySQLSaver):
    """What 3.0 fails on: headers of 2.0.15 name no values, and `list` asks for the Sends of its first thread alone.

    langgraph-checkpoint-mysql 3.0, ``__init__.py: _load_checkpoint_tuple, list``.
    """

    def list(self, *words: Any, **options: Any) -> Iterator[CheckpointTuple]:
        """One after the other."""
        for told in [*super().list(*words, **options)]:
            one = self.get_tuple(told.config)
            assert one is not None
            yield one

    def _load_checkpoint_tuple(self, value: dict[str, Any]) -> CheckpointTuple:
        value["checkpoint"].setdefault("channel_values", {})
        return super()._load_checkpoint_tuple(value)


DATA = {"mysql": PyMySQLSaver, "mysql-shallow": ShallowPyMySQLSaver, "old/mysql-oldv03": Reading03}
NOT_INLINE = {"type-inf", "type-nan", "type-surrogate"}
"""Threads of the full set whose last steps no JSON column took, so that their runs failed."""

TASKS = "__pregel_tasks"
_MOST = 60  # checkpoints of a thread: the official saver takes half a minute for the longest


@pytest.fixture(scope="module", params=DATA)
def loaded(request: pytest.FixtureRequest, mysql: MySQLServer) -> tuple[str, str]:
    """Each database on the server: which it is, and its name there."""
    return request.param, mysql.loaded(request.param)


def test_as_the_official_saver_reads(loaded: tuple[str, str], mysql: MySQLServer) -> None:
    """Every checkpoint that the saver lists is here with the same parent, metadata, versions, values and writes."""
    kind, name = loaded
    with closing(mysql.connect(name)) as connection, closing(open_url(mysql.url(name))) as saver:
        reader = Reader(saver, Codec())
        threads = {thread_id for (thread_id,) in mysql.run("SELECT DISTINCT thread_id FROM checkpoints", on=name)}
        assert {thread.thread_id for thread in saver.threads()} == threads
        assert sum(map(saver.count, threads)) == saver.totals().checkpoints
        official = _official(kind, connection)
        listed = {_ref(told): told for i in threads for told in official.list(on(i), limit=_MOST)}
        assert len(listed) == sum(min(saver.count(thread_id), _MOST) for thread_id in threads)
        written: dict[Ref, list[Write]] = {}
        for write in saver.writes_on(listed):
            written.setdefault(write.ref, []).append(write)
        states = {state.ref: state for state in reader.states(listed)}
        assert list(states) == list(listed)
        for ref, told in listed.items():
            writes = [[w.task_id, w.channel, rendered(reader.value(w.payload))] for w in written.get(ref, [])]
            assert [*_differences(states[ref], writes, told)] == []


def _official(kind: str, connection: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return DATA[kind](connection)


def _ref(told: CheckpointTuple) -> Ref:
    config = told.config["configurable"]
    return Ref(config["thread_id"], config["checkpoint_ns"], config["checkpoint_id"])


def _differences(state: State, written: list[Any], told: CheckpointTuple) -> Iterator[tuple[Any, ...]]:
    kept = told.checkpoint
    sends = {TASKS: rendered(state.sends)} if state.sends and state.v < 4 else {}
    got = {
        "v": state.v,
        "ts": state.ts,
        "parent": state.parent_id,
        "metadata": whole(enveloped(dict(state.metadata))),
        "channel_versions": {**state.versions, **{c: kept["channel_versions"][c] for c in sends}},
        "versions_seen": {node: dict(seen) for node, seen in state.seen.items()},
        "channel_values": {channel: rendered(value) for channel, value in state.values.items()} | sends,
        "writes": sorted(written, key=canonical),
    }
    want = {
        **{key: kept.get(key) for key in ("v", "ts", "channel_versions", "versions_seen")},
        "parent": (told.parent_config or {"configurable": {}})["configurable"].get("checkpoint_id"),
        "metadata": whole(dict(told.metadata)),
        "channel_values": {channel: rendered_object(value) for channel, value in kept["channel_values"].items()},
        "writes": sorted(([task, c, rendered_object(value)] for task, c, value in told.pending_writes), key=canonical),
    }
    yield from differences(got, want)


def test_the_full_set_is_as_in_sqlite(mysql: MySQLServer, tmp_path: Path) -> None:
    """The same graphs left the same threads, steps, sources, statuses, and values at each head, as in SQLite."""
    path = tmp_path / "real.sqlite"
    path.write_bytes(unpacked("real"))
    with closing(open_file(path)) as theirs, closing(open_url(mysql.url(mysql.loaded("mysql")))) as mine:
        readers = Reader(mine, Codec()), Reader(theirs, Codec())
        threads = {thread.thread_id for thread in theirs.threads()}
        assert {thread.thread_id for thread in mine.threads()} == threads
        for thread_id in sorted(threads - NOT_INLINE):
            told = [list(_told(reader, thread_id)) for reader in readers]
            assert told[0] == told[1], thread_id


def _told(reader: Reader, thread_id: str) -> Iterator[Any]:
    for ns in reader.saver.namespaces(thread_id):
        refs = [row.ref for row in reader.saver.rows(thread_id, ns)]
        states = list(reader.states(refs))
        yield ns.split(":")[0], sorted((state.step, state.source) for state in states)
    head = reader.head(thread_id).ref
    shot = Inspection(reader, head).snapshot()
    yield shot.status, sorted(shot.next or [])
    yield sorted(Inspection(reader, head).values())


def test_a_shallow_database_is_read_only(mysql: MySQLServer) -> None:
    """One checkpoint a thread has no history to change: that is an ability it lacks, and told."""
    with closing(open_url(mysql.url(mysql.loaded("mysql-shallow")))) as saver:
        assert not saver.abilities & {Ability.WRITE, Ability.BRANCHES}
        with pytest.raises(NotSupported, match="shallow"):
            saver.apply(Plan(""))
