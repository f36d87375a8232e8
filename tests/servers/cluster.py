"""A cluster of Redis or Valkey for tests: three servers, each with a third of the slots."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

from tests.servers.processes import free_port
from tests.servers.redis import Server

_SLOTS, _NODES = 16384, 3

Start = Callable[..., AbstractContextManager[Server]]
"""Starts a server in a folder, with options."""


@contextmanager
def clustered(start: Start, folder: Path) -> Iterator[list[Server]]:
    """Its nodes, once each can reach all keys."""
    with ExitStack() as stack:
        nodes = []
        for at in range(_NODES):
            place = folder / str(at)
            place.mkdir()
            options = ("--cluster-enabled", "yes", "--cluster-port", str(free_port()))
            nodes.append(stack.enter_context(start(place, *options)))
        clients = [stack.enter_context(node.client()) for node in nodes]
        for at, client in enumerate(clients):
            client.execute_command("CLUSTER", "ADDSLOTSRANGE", at * _SLOTS // _NODES, (at + 1) * _SLOTS // _NODES - 1)
            bus = client.config_get("cluster-port")["cluster-port"]
            clients[0].execute_command("CLUSTER", "MEET", "127.0.0.1", nodes[at].port, bus)
        for client in clients:
            while b"cluster_state:ok" not in client.execute_command("CLUSTER", "INFO"):
                time.sleep(0.02)
        yield nodes


def slots(node: Server) -> list[int]:
    """The slots of a node that have keys."""
    with node.client() as client:
        return sorted({client.execute_command("CLUSTER", "KEYSLOT", key) for key in client.keys("*")})


def move(slot: int, source: Server, target: Server) -> None:
    """Move a slot with its keys from one node to another."""
    begin_to_move(slot, source, target)
    end_move(slot, source, target)


def begin_to_move(slot: int, source: Server, target: Server) -> None:
    """Move the keys; until `end_move` the old node redirects clients that ask for one of them."""
    with source.client() as here, target.client() as there:
        there.execute_command("CLUSTER", "SETSLOT", slot, "IMPORTING", here.execute_command("CLUSTER", "MYID"))
        here.execute_command("CLUSTER", "SETSLOT", slot, "MIGRATING", there.execute_command("CLUSTER", "MYID"))
        for key in here.execute_command("CLUSTER", "GETKEYSINSLOT", slot, 1000):
            here.execute_command("MIGRATE", "127.0.0.1", target.port, key, 0, 5000)


def end_move(slot: int, source: Server, target: Server) -> None:
    """Give the slot to the node that has its keys."""
    with source.client() as here, target.client() as there:
        for client in (there, here):
            client.execute_command("CLUSTER", "SETSLOT", slot, "NODE", there.execute_command("CLUSTER", "MYID"))
