"""The connection to a server: sends commands in few round trips, and repeats reads after a broken connection."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from time import sleep
from typing import TYPE_CHECKING, Any, TypeVar, cast

from redis import exceptions

from ckpt_cli.errors import CkptError
from ckpt_cli.savers.redis.address import Address
from ckpt_cli.savers.redis.client import cluster_client, must_be_encrypted, must_list_whole_clusters, server_client
from ckpt_cli.savers.redis.faults import is_lost, is_moving, is_other_type, translate_errors

if TYPE_CHECKING:
    from ckpt_cli.savers.redis.events import KeyEvents

T = TypeVar("T")
Command = tuple[Any, ...]

_PAGE = 1000  # commands in one round trip
_SCANNED = 2000  # keys that one step of a scan visits
_PAUSES = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)  # seconds between tries, while a cluster moves a few keys


class Connection:
    """One client of one server or cluster.

    Attributes:
        is_cluster: whether keys are spread over several servers; then no transaction covers all keys.
        version: the server's version; "" if the server doesn't say.
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        self._in_moment = False
        self._events: KeyEvents | None = None
        with translate_errors(address.location):
            self._client: Any = server_client(address)
            must_be_encrypted(address, [self._client])
            info = self._client.info()
        self._run_id = str(info.get("run_id", ""))
        self.version = str(info.get("valkey_version") or info.get("redis_version", ""))
        self.major = int(str(info.get("redis_version", "0")).partition(".")[0] or 0)
        self.is_cluster = bool(info.get("cluster_enabled"))
        # commands to a cluster go to primary nodes anyway
        self.is_replica = info.get("role") == "slave" and not self.is_cluster
        if self.is_cluster:
            self._connect_to_cluster(address)

    def _connect_to_cluster(self, address: Address) -> None:
        self._client.close()
        must_list_whole_clusters(address.location)
        with translate_errors(address.location):
            self._client = cluster_client(address)

    @property
    def user(self) -> dict[str, str]:
        """The ACL user, as a fact of `About`; none if the server has no users (before 6.0) or doesn't say."""
        try:
            with translate_errors(self.address.location):
                name = self._client.execute_command("ACL WHOAMI")
        except CkptError:
            return {}
        return {"user": name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)}

    def instance(self) -> str:
        """The server's run id, or a cluster's lowest node id: the same id whichever address the URL uses."""
        if not self.is_cluster:
            return self._run_id
        with translate_errors(self.address.location):
            nodes = self._client.execute_command("CLUSTER NODES")
        return min((str(node["node_id"]) for node in nodes.values()), default="")

    def all(self, commands: Iterable[Command], *, failing: bool = False) -> Iterator[Any]:
        """The answers to commands, which are sent in pages; with `failing`, a failed command's answer is its error."""
        page: list[Command] = []
        for command in commands:
            page.append(command)
            if len(page) == _PAGE:
                yield from self._send(page, failing=failing)
                page = []
        if page:
            yield from self._send(page, failing=failing)

    def read(self, commands: Iterable[Command]) -> Iterator[Any]:
        """The answers to commands that read keys of one type; None for a key of another type."""
        with translate_errors(self.address.location):
            for answer in self.all(commands, failing=True):
                if isinstance(answer, Exception) and not is_other_type(answer):
                    raise answer
                yield None if isinstance(answer, Exception) else answer

    def one(self, *command: Any) -> Any:
        """The answer to one command."""
        return next(self.all([command]))

    def execute(self, *command: Any) -> Any:
        """The answer to one command; raises the driver's own errors."""
        return self._client.execute_command(*command)

    def _send(self, page: Sequence[Command], *, failing: bool) -> list[Any]:
        with translate_errors(self.address.location):
            if len(page) == 1 and not failing:
                return [self._client.execute_command(*page[0])]
            pipeline = self._client.pipeline(transaction=False)
            for command in page:
                pipeline.execute_command(*command, **self._target(command))
            return cast(list[Any], pipeline.execute(raise_on_error=not failing))

    def _target(self, command: Command) -> dict[str, Any]:
        """The option that names a script's node; without it the driver asks for the script's keys each time."""
        if not self.is_cluster or command[0] != "EVAL_RO":
            return {}
        return {"target_nodes": self._client.get_node_from_key(command[3])}

    def memory_settings(self) -> dict[str, str]:
        """The limit of the server's memory and what it does there, where the server says so."""
        if self.is_cluster:
            return {}
        try:
            facts = self._client.info("memory")
        except exceptions.RedisError:
            return {}
        names = ("maxmemory", "maxmemory_policy", "used_memory")
        return {name: str(facts[name]) for name in names if name in facts}

    def keys(self, pattern: str) -> Iterator[str]:
        """Every key that matches the pattern; the scan visits all keys of the database."""
        seen: set[str] = set()
        with translate_errors(self.address.location):
            for key in self._client.scan_iter(match=pattern, count=_SCANNED):
                name = text(key)
                if name not in seen:
                    seen.add(name)
                    yield name

    def pipeline(self, key: str) -> Any:
        """A transaction on the server that holds this key: watch, multi, execute."""
        client = self._client
        if self.is_cluster:
            client = client.get_redis_connection(client.get_node_from_key(key))
        return client.pipeline(transaction=True)

    def await_key(self, prefixes: Sequence[str], seconds: float) -> None:
        """Wait so many seconds, or until the server says that a key with one of these prefixes was written."""
        if self._events is None and not self.is_cluster:  # in a cluster each server would have to be asked
            from ckpt_cli.savers.redis.events import KeyEvents

            self._events = KeyEvents(self._client, self.address.database, prefixes)
        sleep(seconds) if self._events is None else self._events.wait(seconds)

    def follow(self, write: Callable[[], None]) -> None:
        """Run `write`, and repeat it while a cluster is moving keys to another node."""
        for pause in _PAUSES:
            try:
                return write()
            except CkptError as error:
                if not is_moving(error.__cause__):
                    raise
            sleep(pause)
            with translate_errors(self.address.location, writing=True):
                self._client.nodes_manager.initialize()
        return write()

    def moment(self, look: Callable[[], T]) -> T:
        """Run `look`, and once more if the connection broke meanwhile."""
        if self._in_moment:
            return look()
        self._in_moment = True
        try:
            return look()
        except Exception as error:
            if not isinstance(error.__cause__, exceptions.RedisError) or not is_lost(error.__cause__):
                raise
            return look()
        finally:
            self._in_moment = False

    def close(self) -> None:
        """Close the sockets; safe to call twice."""
        if self._events is not None:
            self._events.close()
        self._client.close()


def text(value: Any) -> str:
    """The server's bytes as text; bytes that aren't UTF-8 become surrogates, which encode to the same bytes."""
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)
