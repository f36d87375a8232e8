"""Sizes of all records: counted by numbers for the names, they are those of the records themselves."""

import random
import sqlite3
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from heapq import nlargest
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from ckpt_cli.conformance.records import checkpoint, write
from ckpt_cli.errors import DatabaseUnreachable
from ckpt_cli.model import Checkpoint, Payload, Plan, Ref, Write
from ckpt_cli.savers.measures import Group, Measurer, Part, ThreadSize
from ckpt_cli.savers.sqlite import create, measure_methods, open_file, whole_methods
from ckpt_cli.savers.sqlite import measure_statements as sql
from ckpt_cli.savers.sqlite.beside import Beside
from ckpt_cli.savers.sqlite.measure_methods import CHECKPOINTS
from ckpt_cli.savers.sqlite.saver import SqliteSaver
from tests.savers.sqlite.writer import Writer, opened, rollback_mode

BOUNDS = ["1f0", "1f1"]
EARLY, BETWEEN, LATE = (f"{start}0000-0000-6000-8000-0000000000{{:02x}}" for start in ("1ef0", "1f02", "1f05"))


def _sums(groups: Iterable[Group]) -> dict[Group, tuple[int, int]]:
    """Records and bytes by all in which groups differ."""
    numbers, sizes = Counter[Group](), Counter[Group]()
    for group in groups:
        alike = group._replace(number=0, bytes=0)
        numbers[alike] += group.number
        sizes[alike] += group.bytes or 0
    return {one: (numbers[one], sizes[one]) for one in numbers}


def _numbers(groups: Iterable[Group]) -> Counter[Group]:
    """How many records there are of each kind; whatever a list of rows doesn't know is left out."""
    counts = Counter[Group]()
    for group in groups:
        counts[group._replace(number=0, bytes=0, tag=None)] += group.number
    return counts


def _made(path: Path, channels: list[str], namespaces: list[str]) -> Path:
    records: list[Checkpoint | Write] = []
    for number, ns in enumerate(namespaces):
        for pattern in (EARLY, LATE, "no-uuid-{:02x}"):
            ref_id = pattern.format(number % 256)
            records.append(checkpoint(f"t{number}", ref_id, ns=ns))
            records += [
                write(f"t{number}", ref_id, ns=ns, idx=idx, channel=channel, payload=Payload("msgpack", b"x" * idx))
                for idx, channel in enumerate(channels)
            ]
    with closing(create(path)) as saver:
        saver.apply(Plan("records", tuple(records)))
    return path


@pytest.mark.parametrize(
    ("channels", "namespaces"),
    [
        (["a", "b", "a"], ["", "sub:1", "sub:2"]),
        ([f"c{number}" for number in range(60)], [""]),
        (["a", "é", "%7"], ["", "nü:1"]),
        (["a"], [""] * 400 + ["late:1"]),
    ],
    ids=["few names", "more names than numbers", "names that are not ASCII", "a name behind the rows that are sampled"],
)
def test_the_sums_are_those_of_the_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, channels: list[str], namespaces: list[str]
) -> None:
    """By namespace, channel, type, path and period, whichever statement adds them up."""
    with closing(open_file(_made(tmp_path / "x.sqlite", channels, namespaces))) as saver:
        quickly = list(saver.groups(BOUNDS))
        monkeypatch.setattr(measure_methods, "_NAMES", 0)
        assert _sums(quickly) == _sums(saver.groups(BOUNDS))
        assert _numbers(quickly) == _numbers(Measurer.groups(saver, BOUNDS))


def test_few_names_are_sorted_as_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite sorts no texts of a usual database, whose records have few names; of others it does."""
    with closing(open_file(_made(tmp_path / "x.sqlite", ["a", "b"], [""] * 3))) as saver:
        assert _statements(saver, monkeypatch) == [
            sql.NAMES,
            sql.CHECKPOINTS_BY_NUMBER,
            sql.WRITE_NAMES,
            sql.WRITES_BY_NUMBER,
        ]
    with closing(open_file(_made(tmp_path / "y.sqlite", ["a", "é"], [""]))) as saver:
        assert _statements(saver, monkeypatch)[-2:] == [sql.WRITE_NAMES, sql.WRITES]


def _statements(saver: SqliteSaver, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that measure all records."""
    rows, templates = saver._rows, list[str]()

    def noted(template: str, *args: Any, **parts: str) -> Any:
        templates.append(template)
        return rows(template, *args, **parts)

    monkeypatch.setattr(saver, "_rows", noted)
    assert list(saver.groups(BOUNDS))
    return templates


def test_the_largest_threads(tmp_path: Path) -> None:
    """Of all threads those with most bytes, and those with most recent checkpoints, with their whole figures."""
    path = tmp_path / "x.sqlite"
    records = [
        checkpoint(f"t{number}", EARLY.format(0), body=Payload("msgpack", b"x" * 20 * number)) for number in range(30)
    ]
    records += [checkpoint("busy", LATE.format(number)) for number in range(3)]
    written = write("t3", EARLY.format(0), payload=Payload("msgpack", b"x" * 900))
    with closing(create(path)) as saver:
        saver.apply(Plan("records", (*records, written)))
    with closing(open_file(path)) as saver:
        every = {one.thread_id: one for one in saver.thread_sizes(BOUNDS[0])}
        largest = list(saver.thread_sizes(BOUNDS[0], largest=2))
        assert sorted(one.thread_id for one in largest) == ["busy", "t29", "t3"]
        assert all(every[one.thread_id] == one for one in largest)


def test_heads_are_counted_by_values_of_every_type(tmp_path: Path) -> None:
    """Texts as they are, other values as JSON; None for broken metadata and for threads without a root graph."""
    documents = [
        '{"user": "[1]"}',
        '{"user": true, "x": false}',
        '{"x": {"a": [null, "é"]}, "user": 1.50}',
        '{"user": [1, "a"]}',
        '{"user": "u", "x": "\\u00e9"}',
        '{"user": "u"',
    ]
    heads = [
        checkpoint(f"t{n}", EARLY.format(1), metadata=Payload("json", text.encode()))
        for n, text in enumerate(documents)
    ]
    below = checkpoint("below", EARLY.format(1), ns="sub", metadata=Payload("json", b'{"user": "u"}'))
    with closing(create(tmp_path / "x.sqlite")) as saver:
        saver.apply(Plan("records", (*heads, below)))
    with closing(open_file(tmp_path / "x.sqlite")) as saver:
        values = {"[1]": 1, "true": 1, "1.5": 1, '[1,"a"]': 1, "u": 1, None: 2}
        assert dict(saver.heads_by(["user"])) == {(value,): number for value, number in values.items()}
        assert dict(saver.heads_by(["x", "user"])) == {
            (None, "[1]"): 1,
            ("false", "true"): 1,
            ('{"a":[null,"é"]}', "1.5"): 1,
            (None, '[1,"a"]'): 1,
            ("é", "u"): 1,
            (None, None): 2,
        }


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", ["usual", "many names", "an odd id", "a late name"])
def test_a_whole_database_is_measured_as_its_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, kind: str
) -> None:
    """Few threads' writes are added up, and whichever thread's are: the largest and the busiest are the same."""
    monkeypatch.setattr(whole_methods, "_LARGE", 6)
    monkeypatch.setattr(whole_methods, "_CANDIDATES", 2 if seed % 2 else 30)
    if kind == "a late name":
        few = CHECKPOINTS._replace(names=CHECKPOINTS.names.replace("LIMIT 1000", "LIMIT 20"))
        monkeypatch.setattr(whole_methods, "CHECKPOINTS", few)
    path = tmp_path / "x.sqlite"
    _make_random(path, random.Random(seed), kind)
    with closing(open_file(path)) as saver:
        measured = [*saver.measure(BOUNDS, "1f04", 5)]
        groups = [one for one in measured if isinstance(one, Group)]
        sizes = [one for one in measured if isinstance(one, ThreadSize)]
        assert _sums(groups) == _sums(saver.groups(BOUNDS))
        every = [*saver.thread_sizes("1f04")]
        assert not {*sizes} - {*every}
        assert len({one.thread_id for one in sizes}) == len(sizes)
        for number in (lambda one: one.bytes or 0, lambda one: one.recent):
            assert nlargest(5, map(number, sizes)) == nlargest(5, map(number, every))


def test_a_whole_database_is_measured_on_one_state_of_the_file(path: Path) -> None:
    """What runs beside sees the same state: a read that a writer disturbed is repeated, a live log is read alone."""
    rollback_mode(path)
    with Writer(path) as writer, opened(path) as saver:
        calls = count()

        def read() -> int:
            measured = saver.measure(BOUNDS, "1f04", 5)
            first = next(measured)
            if next(calls) == 0:
                writer.add("2")
            groups = [one for one in (first, *measured) if isinstance(one, Group)]
            return sum(group.number for group in groups if group.part is Part.CHECKPOINT)

        assert saver.moment(read) == 2
        assert next(calls) == 2
    with Writer(path) as writer, opened(path) as saver:
        writer.run("PRAGMA journal_mode = wal")
        writer.add("3")
        assert saver.moment(read) == 3


def test_what_runs_beside_ends_with_its_reader(tmp_path: Path) -> None:
    """A statement that would take for ever is stopped, or never begins; one that fails says so where it is asked."""
    path = _made(tmp_path / "x.sqlite", ["a"], [""])
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n", ()
    with Beside(path, [("SELECT ?", [7]), endless, endless]) as rows_of:
        assert rows_of(0) == [(7,)]
    with Beside(path, [("SELECT * FROM nothing", ())]) as rows_of, pytest.raises(DatabaseUnreachable, match="nothing"):
        rows_of(0)


def _make_random(path: Path, dice: random.Random, kind: str) -> None:
    records: list[Checkpoint | Write] = []
    for number in range(40):
        lengths, usual = dice.choice([[0], [10, 20], [1000]]), dice.choice([*[BETWEEN, "no-uuid-{:02x}"] * 2, LATE])
        for step in range(dice.choice([1, 1, 2, 7])):
            ref_id = dice.choice([EARLY, BETWEEN, LATE, usual, usual]).format(step)
            ns = dice.choice(["", "", "sub:1"]) if kind != "many names" else f"n{dice.randrange(80)}"
            ns = "late" if kind == "a late name" and number > 30 else ns
            body = Payload("msgpack", b"x" * dice.choice(lengths))
            records.append(checkpoint(f"t{number}", ref_id, ns=ns, body=body))
            written = Payload("msgpack", b"x" * dice.choice([0, 0, 50, 2000]))
            records += [
                write(f"t{number}", ref_id, ns=ns, idx=idx, payload=written) for idx in range(dice.randrange(3))
            ]
    with closing(create(path)) as saver:
        saver.apply(Plan("records", tuple({_key(one): one for one in records}.values())))
    with closing(sqlite3.connect(path)) as connection:
        if kind == "an odd id":
            connection.execute("UPDATE checkpoints SET thread_id = x'7431' WHERE thread_id = 't1'")
        connection.commit()


def _key(one: Checkpoint | Write) -> tuple[Ref, int | None]:
    return (one.ref, one.idx) if isinstance(one, Write) else (one.row.ref, None)
