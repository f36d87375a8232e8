"""Errors that occur only where rows are documents found by an index."""

import json
from collections.abc import Iterator
from contextlib import closing

import pytest

from ckpt_cli.app import run
from ckpt_cli.errors import Refused
from ckpt_cli.model import Payload, Plan, Ref, RowChange
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.redis import open_url
from ckpt_cli.savers.redis.expand import LATEST
from ckpt_cli.savers.redis.images import image
from ckpt_cli.savers.redis.json_numbers import respell_numbers
from tests.savers.redis.kinds import on_redis
from tests.savers.redis.records import TAG, RedisSamples
from tests.servers.redis import Server

MAKE = RedisSamples()


@pytest.fixture
def saver(redis_server: Server) -> Iterator[Saver]:
    """A database of two checkpoints."""
    url = on_redis(redis_server, index=True).filled([MAKE.checkpoint("t", "1"), MAKE.checkpoint("t", "2")])
    with closing(open_url(url)) as saver:
        yield saver


def test_no_checkpoints(redis_server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    """A database without LangGraph's documents is no checkpoint database, and isn't changed."""
    url = redis_server.empty()
    with redis_server.client() as client:
        client.set("something", "else")
        assert run(["threads", "-d", url]) == 3
        assert "no LangGraph checkpoints" in capsys.readouterr().err
        assert client.keys("*") == [b"something"]
        assert client.execute_command("FT._LIST") == []


def test_another_database_is_not_searched(
    saver: Saver, redis_server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    """An index answers in every database but loses its documents by that: it is queried only in its own."""
    for words in (["threads"], ["log", "t"], ["info"]):
        assert run([*words, "-d", f"{redis_server.url}/1"]) == 3
    assert "no LangGraph checkpoints" in capsys.readouterr().err
    with redis_server.client() as client:
        rows = client.execute_command("FT.AGGREGATE", "checkpoint", "*", "LOAD", "1", "$.thread_id")
    assert rows[1:] == [[b"$.thread_id", b"t"]] * 2


@pytest.mark.parametrize("url", ["redis://h/0?prefx=x", "redis://h/zero", "redis+sentry://h", "redis://h:1,i:2"])
def test_invalid_urls(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown option, a database that isn't a number, other schemes and hosts are usage errors with a hint."""
    assert run(["threads", "-d", url]) == 2
    assert "hint" in capsys.readouterr().err


def test_numbers_are_kept(saver: Saver, redis_server: Server) -> None:
    """Numbers that RedisJSON would read as their neighbours are respelled so that it reads them exactly."""
    numbers = [939167018948.5865, 23.308445025757262, 5e-324, -0.0, 1e22, 12088.995980580641, 1.7976931348623157e308]
    with redis_server.client() as client:
        client.execute_command("JSON.SET", "numbers", "$", json.dumps(numbers))
        assert json.loads(client.execute_command("JSON.GET", "numbers")) != numbers
        client.execute_command("JSON.SET", "numbers", "$", respell_numbers(json.dumps(numbers)))
        assert json.loads(client.execute_command("JSON.GET", "numbers")) == numbers
        client.delete("numbers")
    body = Payload(TAG, json.dumps({"v": 4, "channel_values": {"n": numbers}}, separators=(",", ":")).encode())
    written = MAKE.checkpoint("n", "1")._replace(body=body)
    saver.apply(Plan("", (written,)))
    (found,) = saver.checkpoints([Ref("n", "", "1")])
    assert json.loads(found.body.data) == json.loads(body.data)


@pytest.mark.parametrize(
    "form", ['{"a":%s}', '{"a": %s, "b": 1}', "[%s]", '[2026, %s,"12.5"]', "[\n  %s\n]", '{"a":{"b":[[%s]]}}']
)
@pytest.mark.parametrize(
    "number", ["939167018948.5865", "-939167018948.5865", "939167018948586.5E-3", "23308445025757262e-15"]
)
def test_numbers_in_every_place(form: str, number: str) -> None:
    """A number is respelled wherever it stands; text with a number's digits, and documents without such, stay."""
    alone = respell_numbers(number)
    assert alone != number and float(alone) == float(number)
    assert respell_numbers(form % number) == form % alone
    assert respell_numbers(form % f'"{number}, {number} :{number}"') == form % f'"{number}, {number} :{number}"'


KEYS = {
    "string": ('"x"', '"y"'),
    "list": ('["a","b"]', '["b"]'),
    "zset": ('[["a",1.0],["b",2.5]]', '[["b",3.0]]'),
    "ReJSON-RL": ('{"a":[1]}', '{"a":[2]}'),
}


@pytest.mark.parametrize("expires", [None, 4_000_000_000_000])
@pytest.mark.parametrize("kind", KEYS)
def test_a_key_of_each_kind_is_made_changed_and_removed(kind: str, expires: int | None, saver: Saver) -> None:
    """Its expiry is kept; a change with another before-image is refused, and the error says how it differs."""
    first, second = (image(kind, value, expires) for value in KEYS[kind])
    plain = image(kind, KEYS[kind][1])
    steps = [(None, first), (first, second), (second, plain), (plain, None)]
    for before, after in steps:
        for wrong in (first, second, plain, None):
            if wrong != before:
                how = "exists already" if wrong is None else "is gone" if before is None else "is not as it was"
                with pytest.raises(Refused, match=f"key of-a-test {how}; nothing was written"):
                    saver.change([RowChange(LATEST, {"key": "of-a-test"}, wrong, None)])
        saver.change([RowChange(LATEST, {"key": "of-a-test"}, before, after)])
        assert saver.currents([(LATEST, {"key": "of-a-test"})]) == [after]
