"""Reads and changes keys as rows of the operation log. A row holds a key's type, content and expiry."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from redis import exceptions

from ckpt_cli.errors import CkptError, Failed, Refused
from ckpt_cli.model import Row, RowChange
from ckpt_cli.savers.faults import safe_text
from ckpt_cli.savers.paging import pages
from ckpt_cli.savers.redis.connection import Command, Connection, text
from ckpt_cli.savers.redis.faults import translate_errors
from ckpt_cli.savers.redis.json_numbers import respell_numbers
from ckpt_cli.savers.redis.records import canonical, parse_json

T = TypeVar("T")

_PAGE = 200  # keys that are watched and read at once
_GET: Mapping[str, Callable[[str], Command]] = {
    "ReJSON-RL": lambda key: ("JSON.GET", key),
    "string": lambda key: ("GET", key),
    "list": lambda key: ("LRANGE", key, 0, -1),
    "zset": lambda key: ("ZRANGE", key, 0, -1, "WITHSCORES"),
}


class Images:
    """The keys of one server as rows."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._in_transaction = False
        self._done_changes: list[RowChange] = []

    def of(self, keys: Iterable[str]) -> Iterator[tuple[str, Row | None]]:
        """Each of these keys with its row; for a missing key, None instead of the row."""
        for page in pages(keys, _PAGE):
            yield from zip(page, self._read(page), strict=True)

    def _read(self, keys: Sequence[str]) -> list[Row | None]:
        answers = [*self._connection.all(command for key in keys for command in (("TYPE", key), self.expiry(key)))]
        types = [text(kind) for kind in answers[::2]]
        known = [(key, kind) for key, kind in zip(keys, types, strict=True) if kind in _GET]
        values = iter([*self._connection.all(_GET[kind](key) for key, kind in known)])
        return [
            _row(kind, next(values), self.expires_at(expiry)) if kind in _GET else None
            for kind, expiry in zip(types, answers[1::2], strict=True)
        ]

    def expiry(self, key: str) -> Command:
        """The command whose answer `expires_at` takes."""
        return ("PEXPIRETIME" if self._connection.major >= 7 else "PTTL", key)

    def expires_at(self, expiry: Any) -> int | None:
        """When a key expires, in milliseconds since 1970; rounded to seconds where the server gives the time left."""
        if int(expiry) < 0:
            return None
        if self._connection.major >= 7:
            return int(expiry)
        seconds, millionths = self._connection.one("TIME")
        return round((int(seconds) * 1000 + int(millionths) // 1000 + int(expiry)) / 1000) * 1000

    def transaction(self, work: Callable[[], T]) -> T:
        """Run `work`; if it fails, take back what it changed."""
        if self._in_transaction:
            return work()
        self._in_transaction, self._done_changes = True, []
        try:
            return work()
        except BaseException as error:
            self._take_back_after(error)
            raise
        finally:
            self._in_transaction, self._done_changes = False, []

    def change(self, changes: Iterable[RowChange]) -> None:
        """Make rows equal to their after-images: all in one transaction of the server or, on a cluster, key by key.

        Raises:
            Refused: a key doesn't equal its before-image, or another program wrote the key meanwhile.
        """
        if not self._connection.is_cluster:
            self._write(changes)
            return
        for change in changes:
            self._connection.follow(partial(self._write, [change], _key(change)))

    def _write(self, changes: Iterable[RowChange], first: str = "") -> None:
        made: list[RowChange] = []
        commands: list[Command] = []
        with (
            translate_errors(self._connection.address.location, writing=True),
            self._connection.pipeline(first) as pipeline,
        ):
            for page in pages(changes, _PAGE):
                keys = tuple(_key(change) for change in page)
                pipeline.watch(*keys)
                for change, now in zip(page, self._read(keys), strict=True):
                    if now != change.before:
                        raise Refused(_differs(change, now))
                    commands += _commands(_key(change), change.after)
                    made.append(change)
            pipeline.multi()
            for command in commands:
                pipeline.execute_command(*command)
            answers = pipeline.execute(raise_on_error=False) if commands else []
        self._done_changes += made
        failed = [answer for answer in answers if isinstance(answer, exceptions.RedisError)]
        if failed:
            self._take_back()
            raise Failed(f"{self._connection.address.location}: {safe_text(str(failed[0]))}; nothing was written")

    def _take_back_after(self, error: BaseException) -> None:
        """Take back what was changed; if a cluster's node is out of reach, say that some keys remain written."""
        try:
            self._take_back()
        except CkptError as another:
            message = f"some keys were written, and can't be taken back now ({another.message})"
            raise Failed(message, hint="`ckpt operations --settle` takes them back once it can") from error

    def _take_back(self) -> None:
        """Undo all changes whose key still equals its after-image; keys that others changed stay as they are."""
        changes, self._done_changes = {_key(change): change for change in self._done_changes}, []
        inverses = [changes[key].inverse for key, now in self.of(changes) if now == changes[key].after]
        if inverses:
            self.change(reversed(inverses))
            self._done_changes = []


def document(row: Row | None) -> Any:
    """The value of a key that holds JSON."""
    return None if row is None else parse_json(str(row["value"]))


def image(kind: str, value: str, expires: Any = None) -> Row:
    """The row of a key with this type, value and expiry."""
    return {"type": kind, "value": value, "expires": expires}


def _row(kind: str, value: Any, expires: int | None) -> Row | None:
    if value is None:
        return None
    if kind == "ReJSON-RL":
        return image(kind, canonical(parse_json(value)), expires)
    if kind == "zset":
        return image(kind, canonical([[text(member), float(score)] for member, score in _scored(value)]), expires)
    if kind == "list":
        return image(kind, canonical([text(item) for item in value]), expires)
    return image(kind, text(value), expires)


def _scored(value: list[Any]) -> Iterable[tuple[Any, Any]]:
    """Pairs of member and score; the driver gives pairs for a command that the driver knows, else a flat list."""
    paired = value and isinstance(value[0], tuple | list)
    return value if paired else zip(value[::2], value[1::2], strict=True)


def _commands(key: str, after: Row | None) -> Iterator[Command]:
    if after is None:
        yield ("DEL", key)
        return
    kind, value = str(after["type"]), str(after["value"])
    if kind == "ReJSON-RL":
        yield ("JSON.SET", key, "$", respell_numbers(value))
    elif kind == "string":
        yield ("SET", key, value)
    else:
        yield ("DEL", key)
        items = json.loads(value)
        if kind == "zset":
            yield ("ZADD", key, *(word for member, score in items for word in (score, member)))
        else:
            yield ("RPUSH", key, *items)
    yield ("PERSIST", key) if after["expires"] is None else ("PEXPIREAT", key, int(str(after["expires"])))


def _key(change: RowChange) -> str:
    return str(change.key["key"])


def _differs(change: RowChange, now: Row | None) -> str:
    how = "exists already" if change.before is None else "is gone" if now is None else "is not as it was"
    return f"key {_key(change)} {how}; nothing was written"
