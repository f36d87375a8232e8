"""Redis and Valkey: fields of documents, whole values, members, types and names of keys."""

import json
from base64 import b64encode
from contextlib import suppress
from typing import Any, ClassVar

from hypothesis import strategies as st
from langgraph.checkpoint.redis import RedisSaver
from langgraph_checkpoint_aws import ValkeySaver
from redis import exceptions

from tests.damage.kinds import THREADS, Kind, talk, with_field
from tests.damage.stored import BLOBS, DOCUMENTS, NOT_UTF8, TEXTS
from tests.savers.redis.kinds import indexed
from tests.savers.valkey.agentcore import Acting
from tests.servers.redis import Server

_ANYTHING = st.one_of(BLOBS, NOT_UTF8, DOCUMENTS, TEXTS.map(str.encode))
_DATA = st.one_of(TEXTS, st.one_of(BLOBS, DOCUMENTS).map(lambda data: b64encode(data).decode()))
_NAMES = st.one_of(TEXTS.map(str.encode), NOT_UTF8)
_READ = {
    b"ReJSON-RL": lambda key: ("JSON.GET", key),
    b"string": lambda key: ("GET", key),
    b"list": lambda key: ("LRANGE", key, 0, -1),
    b"zset": lambda key: ("ZRANGE", key, 0, -1, "WITHSCORES"),
    b"hash": lambda key: ("HGETALL", key),
}

Contents = dict[bytes, tuple[bytes, Any]]
"""Type and value by key."""


class Keys(Kind):
    """A server and its keys; the subclass says how a value is damaged."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.url = server.empty()
        self.fill()
        self.sound = self.dump()

    def fill(self) -> None:
        """Let the official saver write."""
        raise NotImplementedError

    def restore(self) -> None:
        """Put back every key."""
        self.server.empty()
        self.before_keys()
        with self.server.client() as client, client.pipeline(transaction=False) as pipeline:
            for key, (kind, value) in self.sound.items():
                pipeline.execute_command(*_written(key, kind, value))
            pipeline.execute()

    def before_keys(self) -> None:
        """What an application does before it writes."""

    def dump(self) -> Contents:
        """Type and value of every key."""
        with self.server.client() as client:
            kinds = {key: client.type(key) for key in sorted(client.scan_iter(count=1000))}
            return {key: (kind, client.execute_command(*_READ[kind](key))) for key, kind in kinds.items()}

    def harm(self, draw: Any) -> str:
        """Do something to one key; what the server won't hold doesn't happen."""
        key = draw(st.sampled_from(sorted(self.sound)))
        how = draw(st.sampled_from(["value", "value", "value", "value", "type", "name"]))
        with self.server.client() as client, suppress(exceptions.ResponseError, UnicodeError, ValueError):
            if how == "name":
                at = draw(st.integers(0, len(key)))
                client.rename(key, key[:at] + draw(_NAMES) + key[at:])
            elif how == "type":
                client.delete(key)
                kind = draw(st.sampled_from([b"string", b"list", b"zset", b"hash"]))
                client.execute_command(*_written(key, kind, _OTHER[kind]))
            else:
                kind, value = self.sound[key]
                client.execute_command(*self.changed(draw, key, kind, value))
        return next(name for name in THREADS if name.encode() in key)

    def changed(self, draw: Any, key: bytes, kind: bytes, value: Any) -> tuple[Any, ...]:
        """The command that gives a key another value."""
        if kind == b"string":
            return ("SET", key, draw(_ANYTHING))
        return ("RPUSH" if kind == b"list" else "ZADD", key, *([1] if kind == b"zset" else []), draw(_ANYTHING))


_OTHER = {b"string": b"x", b"list": [b"x"], b"zset": [b"x", b"1"], b"hash": [b"x", b"1"]}


def _written(key: bytes, kind: bytes, value: Any) -> tuple[Any, ...]:
    if kind == b"ReJSON-RL":
        return ("JSON.SET", key, "$", value)
    if kind == b"string":
        return ("SET", key, value)
    if kind == b"list":
        return ("RPUSH", key, *value)
    if kind == b"hash":
        return ("HSET", key, *value)
    pairs = value if isinstance(value[0], tuple | list) else list(zip(value[::2], value[1::2], strict=True))
    return ("ZADD", key, *(word for member, score in pairs for word in (score, member)))


class OnRedis(Keys):
    """The official saver's documents; without an index where they are to be found by a scan."""

    index: ClassVar[bool] = True

    def fill(self) -> None:
        """By `RedisSaver`."""
        with RedisSaver.from_conn_string(self.url) as saver:
            saver.setup()
            talk(saver)

    def before_keys(self) -> None:
        """Make the index."""
        if self.index:
            indexed(self.url)

    def changed(self, draw: Any, key: bytes, kind: bytes, value: Any) -> tuple[Any, ...]:
        """A field of a document, or all of it."""
        if kind != b"ReJSON-RL":
            return super().changed(draw, key, kind, value)
        document = with_field(draw, json.loads(value), "checkpoint", most=2)
        if "blob" in document and draw(st.booleans()):
            document = {**document, "blob": draw(_DATA)}
        whole = draw(st.sampled_from([document] * 9 + [draw(TEXTS), None, 7, [1], {}]))
        return ("JSON.SET", key, "$", json.dumps(whole))


class OnRedisScanned(OnRedis):
    """Without an index."""

    index = False


class OnValkey(Keys):
    """Strings of JSON."""

    def fill(self) -> None:
        """By `ValkeySaver`."""
        with ValkeySaver.from_conn_string(self.url) as saver:
            talk(saver)

    def changed(self, draw: Any, key: bytes, kind: bytes, value: Any) -> tuple[Any, ...]:
        """One field, of one of the writes if there are several; or the whole value."""
        if kind != b"string" or draw(st.sampled_from([True] + [False] * 5)):
            return super().changed(draw, key, kind, value)
        whole = json.loads(value)
        if isinstance(whole, list):
            at = draw(st.integers(0, len(whole) - 1))
            whole[at] = self.field(draw, whole[at])
        else:
            whole = self.field(draw, whole)
        return ("SET", key, json.dumps(whole, separators=(",", ":")))

    def field(self, draw: Any, document: dict[str, Any]) -> dict[str, Any]:
        """One field of an object; more often than others what is base64."""
        coded = [name for name in ("checkpoint", "metadata", "value") if isinstance(document.get(name), str)]
        if coded and draw(st.booleans()):
            return {**document, draw(st.sampled_from(coded)): draw(_DATA)}
        return with_field(draw, document, "metadata", most=2)


class OnAgentCore(OnValkey):
    """The other saver of Valkey, which ckpt reads."""

    written = False

    def fill(self) -> None:
        """Written by `AgentCoreValkeySaver`, for one actor."""
        with Acting.from_conn_string(self.url) as saver:
            talk(saver)

    def changed(self, draw: Any, key: bytes, kind: bytes, value: Any) -> tuple[Any, ...]:
        """A write is a member of a list."""
        if kind == b"list" and value[0].startswith(b"{"):
            at = draw(st.integers(0, len(value) - 1))
            return ("LSET", key, at, json.dumps(self.field(draw, json.loads(value[at]))))
        return super().changed(draw, key, kind, value)

    def harm(self, draw: Any) -> str:
        """Namespaces are hashed in its keys, so a key doesn't say which namespace it belongs to."""
        try:
            return super().harm(draw)
        except StopIteration:
            return "sub"
