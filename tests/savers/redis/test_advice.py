"""What `stats --advise` prints for Redis and Valkey: Python that makes LangGraph's saver, and server commands."""

from contextlib import AbstractContextManager, closing, nullcontext
from typing import Any

import pytest
from langgraph.checkpoint.redis import RedisSaver
from langgraph_checkpoint_aws import ValkeySaver

from ckpt_cli.savers.measures import Figures
from tests.graphs.building import line, on
from tests.savers.redis.kinds import Kind

LARGE = Figures(threads=10**6, checkpoints=10**7, writes=10**7, bytes=None, repeated=None)


def test_what_is_stored_expires_as_advised(kind: Kind) -> None:
    """A saver made so sets a time to live, after which nothing more is said of it."""
    words = _time_to_live(kind, kind.filled([kind.samples.checkpoint("other", "1")]))
    url = kind.empty()
    made: Any = eval(words, {"RedisSaver": RedisSaver, "ValkeySaver": ValkeySaver, "url": url})
    saver: AbstractContextManager[Any] = made if hasattr(made, "__enter__") else nullcontext(made)
    with saver as official:
        if isinstance(official, RedisSaver):
            official.setup()
        line(official, "a").invoke({"log": []}, on("t"))
    with closing(kind.open_url(url)) as ours:
        expiring, _, looked_at = ours.space().settings["expiring"].partition(" of ")
        assert expiring == looked_at != "0"
        assert not [one for one in ours.advice(ours.space(), LARGE) if "time to live" in one.why]


def _time_to_live(kind: Kind, url: str) -> str:
    with closing(kind.open_url(url)) as saver:
        assert list(saver.advice(saver.space(), LARGE._replace(checkpoints=1))) == []
        (found,) = (one for one in saver.advice(saver.space(), LARGE) if "time to live" in one.why)
        return found.commands[0]


@pytest.mark.parametrize("policy", ["allkeys-lru", "allkeys-random"])
def test_the_server_takes_the_command(kind: Kind, policy: str) -> None:
    """The policy that evicts any key is changed by the printed command."""
    url = kind.filled([kind.samples.checkpoint("t", "1")])
    with closing(kind.open_url(url)) as saver, kind.server.client() as client:
        client.config_set("maxmemory-policy", policy)
        try:
            found = [one for one in saver.advice(saver.space(), LARGE) if "evicts" in one.why]
            (command,) = found[0].commands
            client.execute_command(*command.split())
            assert not [one for one in saver.advice(saver.space(), LARGE) if "evicts" in one.why]
        finally:
            client.config_set("maxmemory-policy", "noeviction")
