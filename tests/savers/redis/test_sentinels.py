"""Sentinels name the primary server, which is read and written."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from langgraph.checkpoint.redis import RedisSaver

from ckpt_cli.app import run
from ckpt_cli.conformance import everything
from ckpt_cli.model import Plan, Ref
from ckpt_cli.savers.redis import open_url
from tests.cross.travel import start, stopping
from tests.graphs.building import on
from tests.requiring import missing
from tests.savers.redis.kinds import indexed
from tests.savers.redis.records import RedisSamples
from tests.servers.processes import ServerProcess, free_port, listens
from tests.servers.redis import Server, binaries, started


@pytest.fixture
def sentinel(redis_server: Server, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    """A Sentinel that watches the server under the name ``agents``."""
    home, port = binaries(), free_port()
    if home is None:
        missing(request.config, "no Redis to be a Sentinel")
    config = tmp_path / "sentinel.conf"
    config.write_text(
        f"port {port}\nbind 127.0.0.1\ndir {tmp_path}\nsentinel monitor agents 127.0.0.1 {redis_server.port} 1\n"
    )
    process = ServerProcess([home / "bin" / "redis-server", config, "--sentinel"], tmp_path / "sentinel.log")
    try:
        process.wait_until(lambda: listens(port))
        yield Server(f"redis://127.0.0.1:{port}", process)
    finally:
        process.stop()


def test_the_primary_server_is_read_and_written(
    redis_server: Server, sentinel: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    """The URL is the one for LangGraph's own saver; one Sentinel of several is enough, but it must know the name."""
    direct = redis_server.empty()
    hosts = f"127.0.0.1:{free_port()},127.0.0.1:{sentinel.port}"
    url = f"redis+sentinel://{hosts}/agents/0"
    with RedisSaver.from_conn_string(url) as official:
        official.setup()
        graph = stopping(official)
        start(graph, "t", {"log": [], "n": 1})
        with closing(open_url(url)) as saver, closing(open_url(direct)) as other:
            before = everything(saver)
            assert before == everything(other)
        assert run(["edit", "t", "--set", "n=8", "-d", url, "--yes"]) == 0, capsys.readouterr().err
        assert graph.get_state(on("t")).values["n"] == 8
        assert run(["undo", "-d", url, "--yes"]) == 0
    with closing(open_url(direct)) as saver:
        assert everything(saver) == before
    assert run(["info", "-d", url]) == 0
    assert f"redis+sentinel://{','.join(sorted(hosts.split(',')))}/agents/0" in capsys.readouterr().out
    assert run(["threads", "-d", url.replace("agents", "nobody").replace("//", "//me:secret@")]) == 3
    stderr = capsys.readouterr().err
    assert "/nobody/0: no Sentinel answers with a primary server of that name" in stderr
    assert "secret" not in stderr


def test_a_failover_is_followed(redis_server: Server, sentinel: Server, tmp_path: Path) -> None:
    """A broken connection is made again to the server that is primary by then."""
    indexed(redis_server.empty())
    data = tmp_path / "data"
    data.mkdir()
    with started(data) as other, closing(open_url(f"redis+sentinel://127.0.0.1:{sentinel.port}/agents")) as saver:
        indexed(other.url)
        for server, thread_id in ((redis_server, "before"), (other, "after")):
            with closing(open_url(server.url)) as direct:
                direct.apply(Plan("", (RedisSamples().checkpoint(thread_id, "1"),)))
        assert [thread.thread_id for thread in saver.threads()] == ["before"]
        with sentinel.client() as client, redis_server.client() as server:
            client.execute_command("SENTINEL", "REMOVE", "agents")
            client.execute_command("SENTINEL", "MONITOR", "agents", "127.0.0.1", other.port, 1)
            server.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        assert saver.moment(lambda: [thread.thread_id for thread in saver.threads()]) == ["after"]
        saver.apply(Plan("", remove=(Ref("after", "", "1"),)))
        with closing(open_url(other.url)) as direct:
            assert not [*direct.threads()]
