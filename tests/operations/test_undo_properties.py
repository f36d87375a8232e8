"""Properties: whatever a plan changes, undo restores every row, and a plan that fails half-way changes nothing."""

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckpt_cli.conformance import everything
from ckpt_cli.errors import Failed, Refused
from ckpt_cli.model import NULL, Checkpoint, CheckpointRow, Payload, Plan, Ref, RowChange, Write, WriteKey
from ckpt_cli.operations import undo
from ckpt_cli.operations.apply import apply
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.operation import Phase
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.memory import MemorySaver
from ckpt_cli.savers.sqlite import SqliteSaver, open_file
from tests.operations.databases import dump, make

LAYOUTS = ("memory", "C", "D", "E", "H")
SETTINGS = settings(max_examples=30, deadline=None)

_names = st.sampled_from(["t", "u", 7, "it's 中"])
_spaces = st.sampled_from(["", "", "sub:1"])
_ids = st.sampled_from(["1", "2", "3"])
_stored = st.one_of(
    st.binary(max_size=20), st.text(max_size=5), st.none(), st.integers(0, 9), st.floats(allow_nan=False)
)
_tags = st.sampled_from(["msgpack", "json", None])


@st.composite
def rows(draw: st.DrawFn) -> list[tuple[str, dict[str, Any]]]:
    """Rows as any program may have left them."""
    found: list[tuple[str, dict[str, Any]]] = []
    for _ in range(draw(st.integers(0, 6))):
        thread, checkpoint_id, parent, tag = draw(_names), draw(_ids), draw(_ids), draw(_tags)
        key = {"thread_id": thread, "checkpoint_ns": draw(_spaces)}
        ids = {"checkpoint_id": checkpoint_id, "thread_ts": checkpoint_id}
        value, metadata = draw(_stored), draw(_stored)
        parents = {"parent_checkpoint_id": parent, "parent_ts": parent, "parent_id": parent}
        found.append(("checkpoints", {**key, **ids, **parents, "type": tag, "checkpoint": value, "metadata": metadata}))
        write = {
            "task_id": "task",
            "idx": draw(st.integers(-4, 2)),
            "channel": "c",
            "type": tag,
            "value": draw(_stored),
        }
        found.append(("writes", {**key, **ids, **write, "task_path": draw(st.sampled_from(["", "~__pregel_pull, a"]))}))
    return found


@dataclass(frozen=True)
class Wish:
    """What a random plan shall do; places are taken modulo what is there."""

    removed: frozenset[int]
    replaced: frozenset[int]
    added: int
    data: bytes


wishes = st.builds(
    Wish,
    st.frozensets(st.integers(0, 11), max_size=4),
    st.frozensets(st.integers(0, 11), max_size=4),
    st.integers(0, 3),
    st.binary(max_size=20),
)


@dataclass
class Opened:
    """A database under test, its log, and what it holds as it is stored."""

    saver: Saver
    log: OperationLog
    path: Path | None

    def stored(self) -> Any:
        """Every row, exactly."""
        return everything(self.saver) if self.path is None else dump(self.path)


@contextmanager
def opened(layout: str, given_rows: list[tuple[str, dict[str, Any]]]) -> Iterator[Opened]:
    """A database of that layout in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        log = OperationLog(Path(folder) / "state" / "x" / "log.sqlite")
        log.is_trusted = True  # some plans leave no row that could prove it
        path = None if layout == "memory" else Path(folder) / "x.sqlite"
        if path is None:
            saver: Saver = MemorySaver(_records(given_rows))
        else:
            make(path, layout, given_rows)
            saver = open_file(path)
        with closing(saver), closing(log):
            yield Opened(saver, log, path)


def _records(given_rows: Iterable[tuple[str, dict[str, Any]]]) -> list[Checkpoint | Write]:
    found: dict[Ref | WriteKey, Checkpoint | Write] = {}
    for table, row in given_rows:
        ref = Ref(str(row["thread_id"]), row["checkpoint_ns"], row["checkpoint_id"])
        if table == "checkpoints":
            body = Payload(row["type"] or "", repr(row["checkpoint"]).encode())
            skeleton = CheckpointRow(ref.thread_id, ref.ns, ref.checkpoint_id, row["parent_id"])
            found[ref] = Checkpoint(skeleton, body, NULL)
        else:
            payload = Payload(row["type"] or "", repr(row["value"]).encode())
            place = (ref.thread_id, ref.ns, ref.checkpoint_id, row["task_id"], row["idx"], "c", row["task_path"])
            found[WriteKey(ref, "task", row["idx"])] = Write(*place, payload, len(payload.data))
    return list(found.values())


def planned(home: Opened, layout: str, wish: Wish) -> Plan:
    """A plan that does what is wished, as far as the layout has a place for it."""
    _, checkpoints, writes = everything(home.saver)
    records: list[Checkpoint | Write] = [*checkpoints, *writes]
    removed = {place % len(records) for place in wish.removed} if records else set()
    replaced = ({place % len(records) for place in wish.replaced} if records else set()) - removed
    payload = Payload("json", wish.data.hex().encode()) if layout in "CH" else Payload("msgpack", wish.data)
    payload = Payload("", payload.data) if layout in "CH" else payload
    added: list[Checkpoint | Write] = []
    for number in range(wish.added):
        ns = "" if layout in "CH" else "new"
        ref = Ref("t", ns, f"9{number}")
        added.append(
            Checkpoint(CheckpointRow(ref.thread_id, ns, ref.checkpoint_id, None), payload, Payload("json", b"{}"))
        )
        if layout != "H":
            added.append(Write(ref.thread_id, ns, ref.checkpoint_id, "task", 0, "c", "", payload, len(payload.data)))
    changed = [_changed(records[place], payload) for place in sorted(replaced)]
    return Plan("why", tuple(added), tuple(changed), tuple(_name(records[place]) for place in sorted(removed)))


def _name(record: Checkpoint | Write) -> Ref | WriteKey:
    return record.row.ref if isinstance(record, Checkpoint) else WriteKey(record.ref, record.task_id, record.idx)


def _changed(record: Checkpoint | Write, payload: Payload) -> Checkpoint | Write:
    if isinstance(record, Checkpoint):
        return record._replace(body=payload, metadata=Payload("json", b'{"changed": 1}'))
    return record._replace(payload=payload)


@pytest.mark.parametrize("layout", LAYOUTS)
@SETTINGS
@given(given_rows=rows(), wish=wishes)
def test_undo_restores_every_row(layout: str, given_rows: list[tuple[str, dict[str, Any]]], wish: Wish) -> None:
    """After undo every column has its bytes and storage class again; undoing that redoes the plan, or refuses."""
    with opened(layout, given_rows) as home:
        plan, before = planned(home, layout, wish), home.stored()
        number = apply(home.saver, home.log, plan, at=1.0)
        after = home.stored()
        assert (after == before) is not bool(plan.add or plan.remove or (plan.replace and after != before))
        number = _undone(home, number)
        assert home.stored() == before
        if _bears(home, plan):
            with pytest.raises(Refused, match="continued from what it brought back"):
                _undone(home, number)
            assert home.stored() == before
            return
        number = _undone(home, number)
        assert home.stored() == after
        _undone(home, number)
        assert home.stored() == before
        phases = [operation.phase for operation in home.log.operations()]
        assert phases == [Phase.DONE, Phase.UNDONE, Phase.DONE, Phase.UNDONE]


def _undone(home: Opened, number: int) -> int:
    return undo.undo(home.saver, home.log, undo.find_operation(home.saver, home.log, number), at=2.0, reason="")


def _bears(home: Opened, plan: Plan) -> bool:
    """Whether a child or a write of what the plan removes stays."""
    _, checkpoints, writes = everything(home.saver)
    removed = set(plan.remove)
    children = [c.row for c in checkpoints if c.row.ref not in removed and c.row.parent_id]
    left = {Ref(row.thread_id, row.ns, row.parent_id or "") for row in children}
    return bool(removed & (left | {write.ref for write in writes if _name(write) not in removed}))


class Breaking(SqliteSaver):
    """Writes so many rows of a plan, and then the engine fails."""

    limit = 0

    def change(self, changes: Iterable[RowChange]) -> None:
        """Some of the changes, then an error."""
        super().change(islice(changes, self.limit))
        raise Failed("the disk went away")


class BreakingMemory(MemorySaver):
    """The same in memory."""

    limit = 0

    def change(self, changes: Iterable[RowChange]) -> None:
        """Some of the changes, then an error."""
        super().change(islice(changes, self.limit))
        raise Failed("the disk went away")


@pytest.mark.parametrize("layout", LAYOUTS)
@SETTINGS
@given(given_rows=rows(), wish=wishes, written=st.integers(0, 8))
def test_a_failure_changes_nothing(
    layout: str, given_rows: list[tuple[str, dict[str, Any]]], wish: Wish, written: int
) -> None:
    """A plan that fails after any number of rows leaves all as it was, and the log says so."""
    with opened(layout, given_rows) as home:
        plan, before = planned(home, layout, wish), home.stored()
        whole = type(home.saver)
        home.saver.__class__ = BreakingMemory if layout == "memory" else Breaking
        home.saver.limit = written  # type: ignore[attr-defined]
        with pytest.raises(Failed, match="went away"):
            apply(home.saver, home.log, plan, at=1.0)
        assert home.stored() == before
        assert [operation.phase for operation in home.log.operations()] == [Phase.ABANDONED]
        home.saver.__class__ = whole
        apply(home.saver, home.log, plan, at=2.0)
        assert [operation.phase for operation in home.log.operations()] == [Phase.DONE, Phase.ABANDONED]
