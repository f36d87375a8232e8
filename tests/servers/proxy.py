"""`CountingProxy`: passes bytes between a client and a server, and counts statements and round trips.

It counts the same for ckpt, for LangGraph's own savers and for any driver, sync or async: what is on the wire.
"""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Protocol

_OP_MSG = 2013
_NAME_AT = 26  # the header, flags, the section's kind, the document's length, the type of its first field


class Statements(Protocol):
    """Counts the statements in the bytes that one client sends."""

    def feed(self, data: bytes) -> int:
        """How many statements are complete with these bytes."""
        ...


class PostgresStatements:
    """Simple queries, and executions of prepared or unnamed statements (Postgres 15, 55.7 "Message Formats")."""

    def __init__(self) -> None:
        self._rest = b""
        self._started = False

    def feed(self, data: bytes) -> int:
        """See `Statements.feed`."""
        self._rest += data
        return sum(kind in (b"Q", b"E") for kind in self._kinds())

    def _kinds(self) -> Iterator[bytes]:
        while True:
            at = 1 if self._started else 0  # the first messages have no type
            length = at + int.from_bytes(self._rest[at : at + 4])
            if len(self._rest) < max(at + 4, length):
                return
            message, self._rest = self._rest[:length], self._rest[length:]
            if self._started:
                yield message[:1]
            self._started = self._started or message[4:6] == b"\x00\x03"  # else it asks for encryption


class MySQLStatements:
    """Commands that run a statement (MySQL, "Client/Server Protocol": COM_QUERY, COM_STMT_EXECUTE)."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> int:
        """See `Statements.feed`."""
        self._rest += data
        count = 0
        while len(self._rest) >= 4 and len(self._rest) >= (end := 4 + int.from_bytes(self._rest[:3], "little")):
            packet, self._rest = self._rest[:end], self._rest[end:]
            count += packet[3] == 0 and packet[4:5] in (b"\x03", b"\x17")
        return count


class MongoCommands:
    """Commands but those by which a driver watches a server, at times of its own (MongoDB, "Wire Protocol": OP_MSG)."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> int:
        """See `Statements.feed`."""
        self._rest += data
        count = 0
        while len(self._rest) >= 4 and len(self._rest) >= (end := int.from_bytes(self._rest[:4], "little")):
            message, self._rest = self._rest[:end], self._rest[end:]
            is_command = int.from_bytes(message[12:16], "little") == _OP_MSG
            count += is_command and message[_NAME_AT:].partition(b"\0")[0] not in (b"hello", b"ismaster")
        return count


class Uncounted:
    """For protocols whose round trips alone are counted."""

    def feed(self, data: bytes) -> int:
        """See `Statements.feed`."""
        return 0


class CountingProxy:
    """A port on this machine that leads to a server.

    Attributes:
        statements: statements of all clients so far.
        trips: how often a client sent something after it had received something, or for the first time.
    """

    def __init__(self, host: str, port: int, parser: Callable[[], Statements] = Uncounted) -> None:
        self._server, self._parser = (host, port), parser
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.statements = self.trips = 0
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Take no more clients."""
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(self._server)
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            answered = threading.Event()
            answered.set()
            threading.Thread(target=self._to_server, args=(client, server, answered), daemon=True).start()
            threading.Thread(target=self._to_client, args=(server, client, answered), daemon=True).start()

    def _to_server(self, client: socket.socket, server: socket.socket, answered: threading.Event) -> None:
        parser = self._parser()
        for data in _received(client):
            with self._lock:
                self.statements += parser.feed(data)
                self.trips += answered.is_set()
                answered.clear()
            _pass_on(server, data)
        with suppress(OSError):
            server.shutdown(socket.SHUT_WR)

    def _to_client(self, server: socket.socket, client: socket.socket, answered: threading.Event) -> None:
        for data in _received(server):
            with self._lock:  # never between a look at `answered` and its clearing
                answered.set()
            _pass_on(client, data)
        client.close()
        server.close()


def _received(source: socket.socket) -> Iterator[bytes]:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            yield data


def _pass_on(target: socket.socket, data: bytes) -> None:
    with suppress(OSError):
        target.sendall(data)
