"""Deletes and answers in databases of every generation: each changes what it says and undo brings every byte back."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ckpt_cli.errors import NotSupported, Refused
from ckpt_cli.history.state.channels import TASKS
from ckpt_cli.history.tasks.answers import takes_answer
from ckpt_cli.model import CheckpointRow, Plan
from ckpt_cli.operations.apply import apply
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.undo import find_operation, undo
from ckpt_cli.plans import delete, resume, rollback
from ckpt_cli.plans.answer_values import Answer
from ckpt_cli.plans.mint import Mint
from ckpt_cli.reading import Reader
from ckpt_cli.savers.about import Ability
from ckpt_cli.savers.sqlite import open_file
from ckpt_cli.serde.codec import Codec
from tests.databases import DATABASES, KEYS

Database = Callable[[str], Path]


def images(path: Path) -> list[Any]:
    """Every row of every table, to the byte."""
    with closing(sqlite3.connect(path)) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        connection.text_factory = bytes
        return [(t, sorted(connection.execute(f'SELECT * FROM "{t}"').fetchall(), key=repr)) for t in sorted(tables)]


class Bench:
    """A database with plans made, applied and taken back."""

    def __init__(self, path: Path, key: bytes | None) -> None:
        self.path = path
        self.saver = open_file(path)
        self.reader = Reader(self.saver, Codec(key))
        self.log = OperationLog(path.with_suffix(".log"))

    def there_and_back(self, make: Callable[[Reader], Plan], between: Callable[[Reader], None]) -> None:
        """Apply a plan, look, and undo it."""
        before = images(self.path)
        plan = self.reader.moment(lambda: make(self.reader))
        apply(self.saver, self.log, plan, at=1.0)
        assert images(self.path) != before
        self.reader.moment(lambda: between(self.reader))
        undo(self.saver, self.log, find_operation(self.saver, self.log, None), at=2.0, reason="")
        assert images(self.path) == before

    def close(self) -> None:
        """Close both files."""
        self.saver.close()
        self.log.close()


def writable(name: str, database: Database) -> Bench:
    """The database, unless it belongs to the two generations that can't be changed."""
    bench = Bench(database(name), KEYS.get(name))
    if Ability.WRITE not in bench.saver.abilities:
        bench.close()
        pytest.skip("its rows have no ids")
    return bench


@pytest.mark.parametrize("name", DATABASES)
def test_threads_go_and_come_back(name: str, database: Database) -> None:
    """Some threads of each database, whole and what came after their first checkpoint."""
    with closing(writable(name, database)) as bench:
        every = [thread.thread_id for thread in bench.reader.saver.threads()]
        for thread_id in every[:3]:

            def gone(reader: Reader, thread_id: str = thread_id) -> None:
                assert reader.saver.thread(thread_id) is None
                assert not list(reader.saver.writes(thread_id, values=0))

            bench.there_and_back(lambda reader, t=thread_id: delete.threads(reader, [t]), gone)
        assert [thread.thread_id for thread in bench.reader.saver.threads()] == every


@pytest.mark.parametrize("name", DATABASES)
def test_what_came_after_goes_and_comes_back(name: str, database: Database) -> None:
    """After a checkpoint nothing is left of its line, and nothing that stays lost its parent."""
    with closing(writable(name, database)) as bench:
        for thread in list(bench.reader.saver.threads())[-4:]:
            lineage = bench.reader.lineage(thread.thread_id, thread.head.ns)
            start = list(lineage.line(thread.head.checkpoint_id))[-1]
            if not lineage.children.get(start):
                continue
            row, missing = lineage.rows[start], {i for i in lineage.rows if lineage.missing(i)}

            def stands(reader: Reader, row: Any = row, missing: set[str] = missing) -> None:
                left = reader.lineage(row.thread_id, row.ns)
                assert row.checkpoint_id in left.tips
                assert {i for i in left.rows if left.missing(i)} <= missing
                assert reader.writes(row.ref, values=0) == []

            bench.there_and_back(lambda reader, row=row: delete.after(reader, row, delete.OrphanAction.DELETE), stands)


ANSWER = {"ok": [1, "ja"]}


def newest(reader: Reader, thread_id: str) -> list[Any]:
    """The last answers stored in every namespace of a thread."""
    spaces = reader.saver.namespaces(thread_id)
    writes = [write for ns in spaces for write in reader.writes(reader.head(thread_id, ns).ref)]
    given = [write.value for write in writes if write.channel == "__resume__"]
    return [value[-1] if isinstance(value, list) else value for value in given]


@pytest.mark.parametrize("name", DATABASES)
def test_questions_are_answered_and_asked_again(name: str, database: Database) -> None:
    """Every question takes an answer in the encoding of its database, but for those of NodeInterrupt."""
    with closing(writable(name, database)) as bench:
        for thread_id in [
            t.thread_id for t in bench.reader.saver.threads() if "intr" in t.thread_id or "interrupt" in t.thread_id
        ]:
            waiting = bench.reader.moment(lambda t=thread_id: resume.questions(bench.reader, t))

            def recorded(reader: Reader, thread_id: str = thread_id) -> None:
                assert ANSWER in newest(reader, thread_id)

            for question in waiting:

                def make(reader: Reader, thread_id: str = thread_id, asked: str | None = question.id) -> Plan:
                    return resume.plan(reader, thread_id, [Answer(asked, ANSWER)])

                if not takes_answer(question.id):
                    with pytest.raises(Refused, match="raised NodeInterrupt, which takes no answer"):
                        bench.reader.moment(lambda make=make: make(bench.reader))
                else:
                    bench.there_and_back(make, recorded)


SENDING = ("legacy/js-0.2.3", "legacy/py-0.2.3", "legacy/py-0.3.34", "old/sqlite-v03")


def with_sends(reader: Reader) -> Iterator[CheckpointRow]:
    """The checkpoints that start with Sends or whose tasks wrote some, but for heads without writes."""
    for thread in list(reader.saver.threads()):
        for row in list(reader.saver.rows(thread.thread_id)):
            written = [write.channel for write in reader.writes(row.ref, values=0)]
            is_past = written or row.checkpoint_id != reader.head(row.thread_id, row.ns).checkpoint_id
            if is_past and (TASKS in written or reader.state(row.ref).sends):
                yield row


@pytest.mark.parametrize("name", SENDING)
def test_sends_come_back_with_their_checkpoint(name: str, database: Database) -> None:
    """Before checkpoints of format 4: in Python the new head has the same Sends; LangGraph.js keeps them elsewhere."""
    with closing(writable(name, database)) as bench:
        found = bench.reader.moment(lambda: list(with_sends(bench.reader)))
        assert len(found) > 1
        for row in found:

            def make(reader: Reader, row: CheckpointRow = row) -> Plan:
                return rollback.plan(reader, row, Mint())

            def kept(reader: Reader, row: CheckpointRow = row) -> None:
                head = reader.head(row.thread_id, row.ns)
                assert head.parent_id == row.checkpoint_id
                assert reader.state(head.ref).sends == reader.state(row.ref).sends

            if "js" in name:
                with pytest.raises(NotSupported, match="Sends with its parent"):
                    bench.reader.moment(lambda make=make: make(bench.reader))
            else:
                bench.there_and_back(make, kept)
