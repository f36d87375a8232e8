"""Databases of the official savers are read as these savers read them, and like SQLite's of the same graphs."""

import warnings
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.mysql.pymysql import PyMySQLSaver, ShallowPyMySQLSaver

from ckpt_cli.errors import NotSupported
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
    """The saver of 3.0 with two corrections, which it needs for a database of 2.0.15.

    Headers of 2.0.15 have no ``channel_values``, and `list` reads the Sends only of its first thread
    (langgraph-checkpoint-mysql 3.0, ``__init__.py: _load_checkpoint_tuple, list``).
    """

    def list(self, *arguments: Any, **options: Any) -> Iterator[CheckpointTuple]:
        """Read the checkpoints one by one."""
        for listed in [*super().list(*arguments, **options)]:
            item = self.get_tuple(listed.config)
            assert item is not None
            yield item

    def _load_checkpoint_tuple(self, value: dict[str, Any]) -> CheckpointTuple:
        value["checkpoint"].setdefault("channel_values", {})
        return super()._load_checkpoint_tuple(value)


DATA = {"mysql": PyMySQLSaver, "mysql-shallow": ShallowPyMySQLSaver, "old/mysql-oldv03": Reading03}
NOT_INLINE = {"type-inf", "type-nan", "type-surrogate"}
"""Threads of the full set whose runs failed, because a JSON column can't hold their last steps."""

TASKS = "__pregel_tasks"
_LIMIT = 60  # checkpoints of a thread: the official saver takes half a minute for the longest


@pytest.fixture(scope="module", params=DATA)
def loaded(request: pytest.FixtureRequest, mysql: MySQLServer) -> tuple[str, str]:
    """The name of each set of data, and the database on the server that it was loaded into."""
    return request.param, mysql.loaded(request.param)


def test_as_the_official_saver_reads(loaded: tuple[str, str], mysql: MySQLServer) -> None:
    """Every checkpoint that the official saver lists is read with the same parent, metadata, values and writes."""
    kind, name = loaded
    with closing(mysql.connect(name)) as connection, closing(open_url(mysql.url(name))) as saver:
        reader = Reader(saver, Codec())
        threads = {thread_id for (thread_id,) in mysql.run("SELECT DISTINCT thread_id FROM checkpoints", on=name)}
        assert {thread.thread_id for thread in saver.threads()} == threads
        assert sum(map(saver.count, threads)) == saver.totals().checkpoints
        official = _official(kind, connection)
        listed = {_ref(item): item for i in threads for item in official.list(on(i), limit=_LIMIT)}
        assert len(listed) == sum(min(saver.count(thread_id), _LIMIT) for thread_id in threads)
        writes_by_ref: dict[Ref, list[Write]] = {}
        for write in saver.writes_on(listed):
            writes_by_ref.setdefault(write.ref, []).append(write)
        states = {state.ref: state for state in reader.states(listed)}
        assert list(states) == list(listed)
        for ref, item in listed.items():
            writes = [[w.task_id, w.channel, rendered(reader.value(w.payload))] for w in writes_by_ref.get(ref, [])]
            assert [*_differences(states[ref], writes, item)] == []


def _official(kind: str, connection: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return DATA[kind](connection)


def _ref(item: CheckpointTuple) -> Ref:
    config = item.config["configurable"]
    return Ref(config["thread_id"], config["checkpoint_ns"], config["checkpoint_id"])


def _differences(state: State, writes: list[Any], item: CheckpointTuple) -> Iterator[tuple[Any, ...]]:
    checkpoint = item.checkpoint
    sends = {TASKS: rendered(state.sends)} if state.sends and state.v < 4 else {}
    actual = {
        "v": state.v,
        "ts": state.ts,
        "parent": state.parent_id,
        "metadata": whole(enveloped(dict(state.metadata))),
        "channel_versions": {**state.versions, **{c: checkpoint["channel_versions"][c] for c in sends}},
        "versions_seen": {node: dict(seen) for node, seen in state.seen.items()},
        "channel_values": {channel: rendered(value) for channel, value in state.values.items()} | sends,
        "writes": sorted(writes, key=canonical),
    }
    expected = {
        **{key: checkpoint.get(key) for key in ("v", "ts", "channel_versions", "versions_seen")},
        "parent": (item.parent_config or {"configurable": {}})["configurable"].get("checkpoint_id"),
        "metadata": whole(dict(item.metadata)),
        "channel_values": {channel: rendered_object(value) for channel, value in checkpoint["channel_values"].items()},
        "writes": sorted(([task, c, rendered_object(value)] for task, c, value in item.pending_writes), key=canonical),
    }
    yield from differences(actual, expected)


def test_the_full_set_is_as_in_sqlite(mysql: MySQLServer, tmp_path: Path) -> None:
    """The same graphs ran on MySQL and SQLite: threads, steps, sources, statuses and the heads' channels are equal."""
    path = tmp_path / "real.sqlite"
    path.write_bytes(unpacked("real"))
    with closing(open_file(path)) as theirs, closing(open_url(mysql.url(mysql.loaded("mysql")))) as mine:
        readers = Reader(mine, Codec()), Reader(theirs, Codec())
        threads = {thread.thread_id for thread in theirs.threads()}
        assert {thread.thread_id for thread in mine.threads()} == threads
        for thread_id in sorted(threads - NOT_INLINE):
            on_mysql, on_sqlite = [list(_summary(reader, thread_id)) for reader in readers]
            assert on_mysql == on_sqlite, thread_id


def _summary(reader: Reader, thread_id: str) -> Iterator[Any]:
    for ns in reader.saver.namespaces(thread_id):
        refs = [row.ref for row in reader.saver.rows(thread_id, ns)]
        states = list(reader.states(refs))
        yield ns.split(":")[0], sorted((state.step, state.source) for state in states)
    head = reader.head(thread_id).ref
    shot = reader.snapshot(head)
    yield shot.status, sorted(shot.next or [])
    yield sorted(reader.values(head))


def test_a_shallow_database_is_read_only(mysql: MySQLServer) -> None:
    """A shallow database, with one checkpoint for each thread, lacks the abilities to change and to have branches."""
    with closing(open_url(mysql.url(mysql.loaded("mysql-shallow")))) as saver:
        assert not saver.abilities & {Ability.WRITE, Ability.BRANCHES}
        with pytest.raises(NotSupported, match="shallow"):
            saver.apply(Plan(""))
