"""Clusters: each key is on one of three nodes, is found by scans of all nodes and changed by itself."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from threading import Timer
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.redis import RedisSaver
from langgraph.checkpoint.redis.key_registry import SyncCheckpointKeyRegistry

from ckpt_cli.app import run
from ckpt_cli.conformance import Make, everything
from ckpt_cli.errors import Failed
from ckpt_cli.langgraph.saver import CkptSaver
from ckpt_cli.model import Plan
from ckpt_cli.operations.apply import apply
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.operation import Phase
from ckpt_cli.savers.contract import Ability
from ckpt_cli.savers.redis import connection, open_url
from ckpt_cli.savers.redis.connection import Connection
from tests.cross.backend import Backend, Fresh
from tests.cross.steps import Steps
from tests.cross.travel import Travel
from tests.requiring import missing
from tests.savers import paged
from tests.savers.redis.conforming import OnKeys, OnRedis, OnValkey
from tests.savers.redis.kinds import BODY, Kind, on_redis, on_valkey
from tests.savers.redis.records import RedisSamples
from tests.savers.redis.test_cross import Ordered
from tests.savers.redis.trips import counted
from tests.servers import redis, valkey
from tests.servers.cluster import begin_to_move, clustered, end_move, move, slots
from tests.servers.redis import Server

Nodes = list[Server]


Starts = Callable[[str], Nodes]


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Starts]:
    """The nodes of either kind, started at first use; each node of Redis has the modules."""
    there = {"redis": redis.binaries, "valkey": valkey.binary}
    started: dict[str, Nodes] = {}
    with ExitStack() as stack:

        def give(name: str) -> Nodes:
            if there[name]() is None:
                missing(request.config, f"no {name} to make a cluster of")
            if name not in started:
                start = redis.started if name == "redis" else valkey.started
                started[name] = stack.enter_context(clustered(start, tmp_path_factory.mktemp(name)))
            emptied(started[name])
            return started[name]

        yield give


class Listing(Ordered):
    """LangGraph's own saver, listing by keys, as its index covers only one node."""

    def list(self, config: Any, **_: Any) -> Iterator[CheckpointTuple]:
        named = config["configurable"]
        place = ("checkpoint", named["thread_id"], named.get("checkpoint_ns", "") or "__empty__", "*")
        ids = sorted((key.rpartition(b":")[2].decode() for key in self._redis.scan_iter(":".join(place))), reverse=True)
        found = (self.get_tuple({"configurable": {**named, "checkpoint_id": one}}) for one in ids)
        return (one for one in found if one is not None)


@contextmanager
def official(node: Server) -> Iterator[BaseCheckpointSaver[Any]]:
    """LangGraph's own saver for Redis, and ckpt's for Valkey, where LangGraph's can't use a cluster."""
    if node.url.startswith("valkey"):
        with closing(CkptSaver(node.url)) as saver:
            yield saver
        return
    with Listing.from_conn_string(f"{node.url}?cluster=true") as saver:
        saver._detect_cluster_mode()  # as its setup does, which only works once: it then asks any node for its index
        saver._key_registry = SyncCheckpointKeyRegistry(saver._redis)
        yield saver


def emptied(nodes: Nodes) -> None:
    """Delete everything on all nodes but what LangGraph's own saver sets up."""
    for node in nodes:
        node.empty()
    with official(nodes[0]) as saver:
        if isinstance(saver, RedisSaver):
            saver.setup()


class OnCluster(OnKeys):
    """As on one server, except the one transaction."""

    def test_abilities(self, make: Make) -> None:
        """A cluster has no atomic plans, and `info` says that it is one."""
        saver = make([])
        assert Ability.ATOMIC not in saver.abilities
        assert "cluster" in saver.about().facts["server"]


class TestRedis(OnCluster, OnRedis):
    """Redis."""

    @pytest.fixture
    def url(self, cluster: Starts) -> str:
        """An empty database."""
        return cluster("redis")[0].url


class TestValkey(OnCluster, OnValkey):
    """Valkey."""

    @pytest.fixture
    def url(self, cluster: Starts) -> str:
        """An empty database."""
        return cluster("valkey")[0].url


@pytest.fixture(params=["redis", "valkey"])
def nodes(request: pytest.FixtureRequest, cluster: Starts) -> Nodes:
    """Either."""
    return cluster(request.param)


@pytest.fixture
def kind(nodes: Nodes) -> Kind:
    """The kind of database on the cluster."""
    return on_valkey(nodes[0]) if nodes[0].url.startswith("valkey") else on_redis(nodes[0], index=False)


@pytest.fixture
def fresh(nodes: Nodes) -> Fresh:
    """The cluster, empty for each test."""
    return lambda: Backend(nodes[0].url, lambda: official(nodes[0]))


class TestSteps(Steps):
    """Killed between two keys, in the middle of one command."""

    @pytest.mark.parametrize("name", ["delete of the last steps"])
    def test_killed_at_every_step(self, name: str, backend: Backend, capsys: pytest.CaptureFixture[str]) -> None:
        """A half-made change is taken back."""
        super().test_killed_at_every_step(name, backend, capsys)


FEW = ("copy", "edit of a delta channel", "answer two levels down")


class TestTravel(Travel):
    """Some of the commands that change."""

    test_one_moment_or_not = None  # a cluster has no moment; but one scan lists all keys

    @pytest.mark.parametrize("name", FEW)
    def test_goes_on_like_its_twin(self, name: str, backend: Backend, capsys: pytest.CaptureFixture[str]) -> None:
        """After undo nothing of a change is left; without it the thread continues."""
        super().test_goes_on_like_its_twin(name, backend, capsys)


def test_every_node_is_searched(kind: Kind, nodes: Nodes, capsys: pytest.CaptureFixture[str]) -> None:
    """Each node has a part of the keys, and the URL may name any of them."""
    with closing(kind.open_url(nodes[0].url)) as saver:
        saver.apply(Plan("", tuple(paged.records(kind.samples, 20, kind.body))))
    for node in nodes:
        assert slots(node)
        for words in (["threads", "-n", "0"], ["grep", "7", "--count"]):
            assert run([*words, "-d", node.url]) == 0, capsys.readouterr().err
            assert len(capsys.readouterr().out.splitlines()) == 21


def test_keys_move_to_another_node(kind: Kind, nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys are read and written on their present node; a key that is moving is waited for, and refused in the end."""
    here, there, _ = nodes
    with closing(kind.open_url(here.url)) as saver:
        saver.apply(Plan("", tuple(paged.records(kind.samples, 20, kind.body))))
        before = everything(saver)
        first, second, third, *_ = slots(here)
        move(first, here, there)
        assert everything(saver) == before
        refs = [row.ref for thread in saver.threads() for row in saver.rows(thread.thread_id)]
        changes = [*saver.expand(Plan("", remove=tuple(refs)))]
        move(second, here, there)
        begin_to_move(third, here, there)
        with monkeypatch.context() as patched:
            patched.setattr(connection, "_PAUSES", ())
            with pytest.raises(Failed, match="moving keys"):
                saver.transaction(lambda: saver.change(changes))
        assert everything(saver) == before
        patience = Timer(0.3, end_move, (third, here, there))
        patience.start()
        saver.transaction(lambda: saver.change(changes))
        patience.join()
        assert not [*saver.threads()]
        saver.transaction(lambda: saver.change(change.inverse for change in reversed(changes)))
        assert everything(saver) == before


def test_the_sizes_of_writes_take_a_round_trip_a_node(
    kind: Kind, nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scripts take one round trip to each node: the driver needn't ask the server for the keys of each script."""
    with closing(kind.open_url(nodes[0].url)) as saver:
        saver.apply(Plan("", tuple(paged.records(kind.samples, 20, kind.body))))
        refs = [row.ref for row in saver.rows("tips")]
        sent = counted(monkeypatch)
        assert len([*saver.writes_on(refs, values=0)]) == 20
        assert len([command for command in sent if "SCAN" not in command]) <= 3 * len(nodes)


def test_a_user_who_may_not_ask_for_the_nodes(nodes: Nodes, capsys: pytest.CaptureFixture[str]) -> None:
    """The error is reported in the server's words."""
    with nodes[0].client() as client:
        client.execute_command("ACL", "SETUSER", "half", "on", ">secret", "~*", "+@all", "-cluster")
    assert run(["threads", "-d", nodes[0].url.replace("//", "//half:secret@")]) == 3
    stderr = capsys.readouterr().err
    assert "this user may not read it" in stderr and "'cluster|slots'" in stderr
    assert "secret" not in stderr


def test_a_node_is_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """No incomplete list is shown, and what was written is distinguished from what can't be written any more."""
    with clustered(redis.started, tmp_path) as nodes, closing(OperationLog(tmp_path / "log.sqlite")) as log:
        make, url = RedisSamples(), nodes[0].url
        emptied(nodes)
        with closing(open_url(url)) as saver:
            saver.apply(Plan("", tuple(paged.records(make, 5, BODY))))
            follow, written = Connection.follow, iter(range(100))

            def dying(self: Connection, write: Callable[[], None]) -> None:
                if next(written) == 10 and nodes[2].process is not None:
                    nodes[2].process.kill()
                follow(self, write)

            monkeypatch.setattr(Connection, "follow", dying)
            refs = tuple(row.ref for thread in saver.threads() for row in saver.rows(thread.thread_id))
            with pytest.raises(Failed, match=r"written|writing") as failed:
                apply(saver, log, Plan("", remove=refs), at=0)
            assert "--settle" in failed.value.hint
            assert [operation.phase for operation in log.operations()] == [Phase.PLANNED]
        assert run(["threads", "-d", f"{url}?cluster=true"]) == 3
        assert f"node 127.0.0.1:{nodes[2].port}: no server answers" in capsys.readouterr().err
        with nodes[0].client() as client:
            client.execute_command("CLUSTER", "DELSLOTSRANGE", 0, 100)
        assert run(["threads", "-d", url]) == 3
        assert "the cluster doesn't serve all keys" in capsys.readouterr().err
