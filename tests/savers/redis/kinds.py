"""The kinds of database whose rows are keys; tests state once what is true for each of them."""

from collections.abc import Callable, Iterable
from contextlib import closing
from typing import Any, NamedTuple

from langgraph.checkpoint.redis import RedisSaver

from ckpt_cli.conformance.samples import Samples
from ckpt_cli.model import Checkpoint, Payload, Plan, Write
from ckpt_cli.savers import redis, valkey
from ckpt_cli.savers.contract import Saver
from tests.savers import paged
from tests.savers.redis.records import TAG, RedisSamples
from tests.servers import redis as of_redis
from tests.servers import valkey as of_valkey
from tests.servers.cluster import Start
from tests.servers.redis import Server


class PathlessSamples(Samples):
    """The usual records without the task's path, which Valkey can't store."""

    def write(self, *place: Any, **given: Any) -> Write:
        """A write without a path."""
        return super().write(*place, **{**given, "path": ""})


class Kind(NamedTuple):
    """A kind of database on a server.

    Attributes:
        start: starts another server of it.
        reads: what a user needs beside ``+@read``, ``+@connection`` and ``+info`` to read all.
        body: of a checkpoint whose state can be shown.
        index: what finds documents is made, and stays; else all keys are scanned.
    """

    server: Server
    samples: Samples
    open_url: Callable[[str], Saver]
    start: Start
    reads: tuple[str, ...]
    body: Payload = paged.BODY
    index: bool = False

    @property
    def _has_documents(self) -> bool:
        return self.server.url.startswith("redis")

    def empty(self) -> str:
        """A database without a key, as LangGraph's own saver leaves it before its first checkpoint."""
        url = self.server.empty()
        if self._has_documents:
            indexed(url)
        return url

    def filled(self, records: Iterable[Checkpoint | Write]) -> str:
        """A database with these records."""
        url = self.empty()
        with closing(self.open_url(url)) as saver:
            saver.apply(Plan("", tuple(records)))
        if self._has_documents and not self.index:
            with self.server.client() as client:
                client.execute_command("FT.DROPINDEX", "checkpoint_write")
        return url


BODY = Payload(TAG, b'{"v":4,"channel_values":{"a":7},"channel_versions":{"a":"1"},"versions_seen":{}}')


def indexed(url: str) -> None:
    """Make LangGraph's index."""
    with RedisSaver.from_conn_string(url) as official:
        official.setup()


def on_redis(server: Server, *, index: bool) -> Kind:
    """Redis, with the index or without."""
    reads = ("+json.get", "+ft.info", "+ft.search", "+ft.aggregate", "+ft.cursor")
    return Kind(server, RedisSamples(), redis.open_url, of_redis.started, reads, BODY, index)


def on_valkey(server: Server) -> Kind:
    """Valkey."""
    return Kind(server, PathlessSamples(), valkey.open_url, of_valkey.started, ("+dbsize", "-@scripting"))
