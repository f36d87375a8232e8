"""Blobs are shared: none is written twice or removed while a checkpoint names it, and undo restores every byte."""

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from ckpt_cli.app import run
from ckpt_cli.errors import Refused
from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Plan, Ref
from ckpt_cli.savers.postgres.saver import PostgresSaver, open_url
from tests.servers.postgres import PostgresServer

TABLES = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    return postgres.space()


@pytest.fixture
def saver(url: str) -> Iterator[PostgresSaver]:
    with closing(open_url(url)) as opened:
        yield opened


def checkpoint(name: str, versions: dict[str, str], channels: dict[str, bytes], ns: str = "") -> Checkpoint:
    header = {"v": 4, "id": name, "channel_values": {}, "channel_versions": versions}
    payloads = {channel: Payload("msgpack", data) for channel, data in channels.items()}
    return Checkpoint(
        CheckpointRow("t", ns, name, None),
        Payload("json", json.dumps(header).encode()),
        Payload("json", b"{}"),
        payloads,
    )


def stored(url: str) -> dict[str, list[Any]]:
    """All rows of all tables."""
    with psycopg.connect(url) as connection:
        return {table: sorted(connection.execute(f"SELECT * FROM {table}"), key=repr) for table in TABLES}


def blobs(url: str) -> set[tuple[str, str]]:
    return {(channel, version) for _, _, channel, version, *_ in stored(url)["checkpoint_blobs"]}


def test_existing_blobs_are_not_written_again(saver: PostgresSaver, url: str) -> None:
    """A checkpoint that names blobs of another checkpoint adds only those that don't exist yet."""
    saver.apply(Plan("", (checkpoint("1", {"a": "1", "b": "1"}, {"a": b"a1", "b": b"b1"}),)))
    second = checkpoint("2", {"a": "1", "b": "2"}, {"a": b"a1", "b": b"b2"})
    changes = saver.moment(lambda: list(saver.expand(Plan("", (second,)))))
    assert [(c.relation, c.key.get("version")) for c in changes] == [("checkpoints", None), ("checkpoint_blobs", "2")]
    saver.apply(Plan("", (second,)))
    assert blobs(url) == {("a", "1"), ("b", "1"), ("b", "2")}


def test_another_value_under_the_same_version(saver: PostgresSaver, url: str) -> None:
    """A plan with two values for one version of a channel, or another value than the stored one, is refused."""
    saver.apply(Plan("", (checkpoint("1", {"a": "1"}, {"a": b"a1"}),)))
    before = stored(url)
    with pytest.raises(Refused, match="another value at version 1"):
        saver.apply(Plan("", (checkpoint("2", {"a": "1"}, {"a": b"other"}),)))
    twice = (checkpoint("2", {"a": "2"}, {"a": b"a2"}), checkpoint("3", {"a": "2"}, {"a": b"other"}))
    with pytest.raises(Refused, match="two values at version 2"):
        saver.apply(Plan("", twice))
    with pytest.raises(Refused, match="no version of its channel 'b'"):
        saver.apply(Plan("", (checkpoint("2", {"a": "1"}, {"b": b"b"}),)))
    assert stored(url) == before


def test_only_unused_blobs_are_removed(saver: PostgresSaver, url: str) -> None:
    """With a checkpoint, the blobs that no other one in its namespace names are removed; undo restores every byte."""
    records = (
        checkpoint("1", {"a": "1", "b": "1"}, {"a": b"a1", "b": b"b1"}),
        checkpoint("2", {"a": "2", "b": "1"}, {"a": b"a2", "b": b"b1"}),
        checkpoint("3", {"a": "3", "b": "1"}, {"a": b"a3", "b": b"b1"}),
        checkpoint("2", {"a": "2"}, {"a": b"elsewhere"}, ns="sub:1"),
    )
    saver.apply(Plan("", records))
    before = stored(url)
    plan = Plan("", remove=(Ref("t", "", "2"), Ref("t", "", "3")))
    changes = saver.moment(lambda: list(saver.expand(plan)))
    saver.apply(plan)
    names = {(row[2], row[3], row[1]) for row in before["checkpoint_blobs"]}
    assert names - {(row[2], row[3], row[1]) for row in stored(url)["checkpoint_blobs"]} == {
        ("a", "2", ""),
        ("a", "3", ""),
    }
    saver.transaction(lambda: saver.change(change.inverse for change in reversed(changes)))
    assert stored(url) == before


def test_an_emptied_namespace_keeps_nothing(saver: PostgresSaver, url: str) -> None:
    """With the last checkpoint of a namespace, all its blobs are removed, also those that no checkpoint named."""
    saver.apply(Plan("", (checkpoint("1", {"a": "1"}, {"a": b"a1"}), checkpoint("1", {"a": "1"}, {"a": b"x"}, ns="s"))))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("INSERT INTO checkpoint_blobs VALUES ('t', '', 'left', '7', 'empty', NULL)")
    before = stored(url)
    plan = Plan("", remove=(Ref("t", "", "1"),))
    changes = saver.moment(lambda: list(saver.expand(plan)))
    saver.apply(plan)
    assert [row[:3] for row in stored(url)["checkpoint_blobs"]] == [("t", "s", "a")]
    saver.transaction(lambda: saver.change(change.inverse for change in reversed(changes)))
    assert stored(url) == before


def test_a_replaced_checkpoint(saver: PostgresSaver, url: str) -> None:
    """When a checkpoint is replaced, unused blobs of the old one are removed and those of the new one are added."""
    saver.apply(Plan("", (checkpoint("1", {"a": "1", "b": "1"}, {"a": b"a1", "b": b"b1"}),)))
    saver.apply(Plan("", replace=(checkpoint("1", {"a": "2", "b": "1"}, {"a": b"a2", "b": b"b1"}),)))
    assert blobs(url) == {("a", "2"), ("b", "1")}


def test_a_version_without_a_value(saver: PostgresSaver, url: str) -> None:
    """The tag ``empty`` is stored with NULL, as older official savers do; ``null`` with no bytes."""
    record = checkpoint("1", {"a": "1", "b": "1"}, {})._replace(
        channels={"a": Payload("empty", b""), "b": Payload("null", b"")}
    )
    saver.apply(Plan("", (record,)))
    assert [row[4:] for row in stored(url)["checkpoint_blobs"]] == [("empty", None), ("null", b"")]
    (read,) = saver.checkpoints([record.row.ref])
    assert read.channels == record.channels


def test_a_real_delete_and_undo(postgres: PostgresServer, capsys: pytest.CaptureFixture[str]) -> None:
    """A real thread, or its last steps, is deleted with the blobs that become unused, and undo restores every byte."""
    url = postgres.url(postgres.loaded("pg"))
    before = stored(url)
    for words in (["forks"], ["forks", "--after", "step:-1", "--with-children"], ["subgraphs"]):
        assert run(["delete", *words, "--yes", "-d", url]) == 0
        after = stored(url)
        assert all(len(after[table]) < len(before[table]) for table in TABLES)
        named = {(row[0], row[1], *pair) for row in after["checkpoints"] for pair in row[5]["channel_versions"].items()}
        lost = {row[:4] for row in before["checkpoint_blobs"]} - {row[:4] for row in after["checkpoint_blobs"]}
        assert lost and not lost & named
        assert run(["undo", "--yes", "-d", url]) == 0
        assert stored(url) == before
    capsys.readouterr()


def test_many_namespaces_cost_few_statements(saver: PostgresSaver, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deleting a thread with hundreds of subgraph calls needs a statement for each page, not for each namespace."""
    records = [checkpoint("1", {"a": "1"}, {"a": b"a1"}, ns=f"sub:{number}") for number in range(600)]
    saver.apply(Plan("", tuple(records)))
    plan = Plan("", remove=tuple(record.row.ref for record in records))
    sent: list[str] = []
    query = saver._connection.query

    def recorded(sql: str, *arguments: Any, **options: Any) -> Any:
        sent.append(sql)
        return query(sql, *arguments, **options)

    monkeypatch.setattr(saver._connection, "query", recorded)
    saver.apply(plan)
    assert len(sent) < 30
    assert not any(stored(url).values())
