"""A cluster: keys are found by scans, and changed one by one, each only where it is as it was."""

import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from ckpt_cli.conformance import Conformance, Make
from ckpt_cli.model import Checkpoint, Plan, Write
from ckpt_cli.savers.about import Ability
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.redis import open_url
from tests.savers.redis.records import RedisSamples
from tests.servers.processes import free_port
from tests.servers.redis import Server, binaries, started


@pytest.fixture(scope="module")
def cluster(redis_server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One node that has all slots."""
    if binaries() is None:
        pytest.skip(f"{redis_server.url} is no cluster")
    folder: Path = tmp_path_factory.mktemp("cluster")
    with (
        started(folder, "--cluster-enabled", "yes", "--cluster-port", str(free_port())) as server,
        server.client() as client,
    ):
        client.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        while b"cluster_state:ok" not in client.execute_command("CLUSTER", "INFO"):
            time.sleep(0.02)
        yield server


class TestCluster(RedisSamples, Conformance):
    """As on one server, but for the one transaction."""

    @pytest.fixture
    def make(self, cluster: Server) -> Iterator[Make]:
        opened: list[Saver] = []
        with cluster.client() as client:
            client.flushall()
            client.execute_command("FT.CREATE", "checkpoint", "ON", "JSON", "SCHEMA", "$.thread_id", "TAG")

        def make(records: Iterable[Checkpoint | Write]) -> Saver:
            saver = open_url(cluster.url)
            opened.append(saver)
            saver.apply(Plan("given", tuple(records)))
            return saver

        yield make
        for saver in opened:
            saver.close()

    def test_abilities(self, make: Make) -> None:
        """Nothing is atomic here, and it is said that this is a cluster."""
        saver = make([])
        assert Ability.ATOMIC not in saver.abilities
        assert "cluster" in saver.about().facts["server"]
