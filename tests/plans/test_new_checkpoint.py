"""Values of classes that don't exist here, of every generation, survive forks, rollbacks and undo byte for byte."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ckpt_cli.errors import KeyMissing, NotSupported, PayloadCorrupt, Refused, UsageError
from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Plan, Ref
from ckpt_cli.operations import undo
from ckpt_cli.operations.apply import apply
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.plans import fork, fork_to_thread, rollback
from ckpt_cli.plans.mint import Mint
from ckpt_cli.reading import Reader
from ckpt_cli.savers.sqlite import open_file
from ckpt_cli.serde.codec import Codec
from ckpt_cli.serde.lcjson_write import JsonWire
from ckpt_cli.serde.msgpack_write import MsgpackWire
from tests.databases import DATABASES, KEYS
from tests.operations.databases import dump

UNTAKEN = {"legacy/py-0.0.26", "legacy/py-0.0.38"}
"""One state a thread, and pickles: nothing can be added to them."""
CHANGED = {"id", "ts", "updated_channels", "channel_values", "channel_versions", "versions_seen"}
"""What a new checkpoint may say otherwise; channels' values are looked at one by one."""
NOW = 2e9

Make = Callable[[Reader, CheckpointRow], Plan]


def forked(reader: Reader, row: CheckpointRow) -> Plan:
    return fork.plan(reader, row, Mint(lambda: NOW))


def rolled_back(reader: Reader, row: CheckpointRow) -> Plan:
    return rollback.plan(reader, row, Mint(lambda: NOW))


def moved(reader: Reader, row: CheckpointRow) -> Plan:
    return fork_to_thread.plan(reader, row, "moved")


@pytest.fixture(params=[name for name in DATABASES if name not in UNTAKEN])
def name(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


@pytest.fixture
def reader(name: str, database: Callable[[str], Path]) -> Iterator[Reader]:
    with closing(open_file(database(name))) as saver:
        yield Reader(saver, Codec(KEYS.get(name)))


def members(payload: Payload, codec: Codec) -> dict[str, Any]:
    """The raw parts of a checkpoint body by key, and of its channels as ``channel NAME``."""
    if payload.tag.endswith("+aes"):
        payload = Payload(payload.tag.partition("+")[0], codec._decrypt(payload))
    binary = payload.tag == "msgpack"
    wire: Any = MsgpackWire() if binary else JsonWire(payload.data.decode("utf-8", "surrogatepass"))
    raw: Any = payload.data if binary else payload.data.decode("utf-8", "surrogatepass")
    found = {key: part for key, _, part in wire.members(raw) or ()}
    inner = wire.members(found["channel_values"]) if "channel_values" in found else None
    return {**found, **{f"channel {key}": part for key, _, part in inner or ()}}


def chosen(reader: Reader, most: int = 40) -> list[CheckpointRow]:
    """Rows of every thread and namespace, spread over each."""
    rows: list[CheckpointRow] = []
    for thread in reader.saver.threads():
        for ns in reader.saver.namespaces(thread.thread_id):
            line = list(reader.saver.rows(thread.thread_id, ns))
            rows += [line[0], line[len(line) // 2], line[-1]]
    return rows[:: max(1, len(rows) // most)]


@pytest.mark.parametrize("make", [forked, rolled_back])
def test_untouched_values_keep_their_bytes(reader: Reader, make: Make) -> None:
    """In a new checkpoint every key and every channel that isn't its own has the bytes of the one it was made of."""
    made = 0
    for row in chosen(reader):
        (old,) = reader.saver.checkpoints([row.ref])
        try:
            plan = make(reader, row)
        except (NotSupported, Refused, PayloadCorrupt, UsageError):  # UsageError: JSON that LangGraph.js broke
            continue
        (new,) = plan.add
        assert isinstance(new, Checkpoint)
        before, after = members(old.body, reader.codec), members(new.body, reader.codec)
        snapshots = {key for key in after if key.startswith("channel ") and key not in before}
        assert {key: after[key] for key in after if key not in CHANGED | snapshots} == {
            key: before[key] for key in before if key not in CHANGED
        }
        assert make is rolled_back or not snapshots
        assert new.body.tag == old.body.tag
        assert new.row.checkpoint_id > reader.head(row.thread_id, row.ns).checkpoint_id
        made += 1
    assert made


def test_a_thread_of_its_own_has_the_same_bodies(reader: Reader) -> None:
    """A checkpoint under another thread id is the same, body by body and write by write."""
    for thread in list(reader.saver.threads())[:8]:
        row = reader.saver.row(thread.head)
        if row is None or row.ns:
            continue
        try:
            plan = moved(reader, row)
        except PayloadCorrupt:  # LangGraph.js stored words instead of a state
            continue
        for record in plan.add:
            if isinstance(record, Checkpoint):
                (old,) = reader.saver.checkpoints([Ref(row.thread_id, record.row.ns, record.row.checkpoint_id)])
                assert (old.body, old.row.parent_id) == (record.body, record.row.parent_id)
                assert row.thread_id not in (reader.value(record.metadata) or {}).values()


@pytest.mark.parametrize("make", [forked, rolled_back, moved])
def test_undo_leaves_nothing(reader: Reader, make: Make, tmp_path: Path) -> None:
    """After the change and its undo every row of the database is what it was, to the byte and the storage class."""
    path = Path(reader.saver.identity.removeprefix("sqlite:"))
    before = dump(path)
    with closing(OperationLog(tmp_path / "state" / "x" / "log.sqlite")) as log:
        for thread in list(reader.saver.threads())[:3]:
            for row in list(reader.saver.rows(thread.thread_id, ""))[:2]:
                try:
                    plan = make(reader, row)
                except (NotSupported, Refused, PayloadCorrupt):
                    continue
                number = apply(reader.saver, log, plan, at=NOW)
                assert dump(path) != before
                undo.undo(reader.saver, log, undo.find_operation(reader.saver, log, number), at=NOW, reason="")
                assert dump(path) == before


def test_without_the_key_nothing_is_made(database: Callable[[str], Path]) -> None:
    """An encrypted checkpoint can't be forked without its key, and says so."""
    with closing(open_file(database("encrypted"))) as saver:
        reader = Reader(saver, Codec())
        row = saver.row(next(saver.threads()).head)
        assert row is not None
        with pytest.raises(KeyMissing):
            forked(reader, row)
