"""Makes the driver's client for an address: for one server, for the primary that Sentinels name, or for a cluster."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from redis import Redis
from redis import __version__ as driver_version
from redis.backoff import NoBackoff
from redis.connection import SSLConnection
from redis.retry import Retry

from ckpt_cli.errors import DatabaseUnreachable, MissingExtra
from ckpt_cli.savers.faults import no_tls_file, not_encrypted
from ckpt_cli.savers.redis.address import Address

_FILES = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")
_NOT_FOR_SENTINELS = ("db", "username", "password")
_FIRST_COMPLETE = (7, 2)
"""The first version of the driver whose scans of a cluster reach every key."""


def server_client(address: Address) -> Redis:
    """A client of the URL's server or, if the URL names Sentinels, of the primary that they name."""
    if address.service:
        return _primary_client(address, _options(address))
    host, port = address.hosts[0]
    client = Redis(host=host, port=port, **_options(address))
    if address.tls is not None:
        client.connection_pool.connection_class = _TlsConnection
    return client


def cluster_client(address: Address) -> Any:
    """A client of the cluster that the server belongs to.

    Raises:
        DatabaseUnreachable: a node's connection would not be encrypted though the URL asks for TLS.
    """
    from redis.cluster import RedisCluster

    host, port = address.hosts[0]
    options = {name: value for name, value in _options(address).items() if name != "db"}
    client: Any = RedisCluster(host=host, port=port, **options, require_full_coverage=True)
    must_be_encrypted(address, [node.redis_connection for node in client.get_nodes()])
    return client


def must_be_encrypted(address: Address, clients: Iterable[Any]) -> None:
    """Check that clients of a ``rediss`` or ``valkeys`` URL make only TLS connections.

    Raises:
        DatabaseUnreachable: a client would connect without TLS; nothing was sent.
    """
    if address.tls is None:
        return
    for client in clients:
        if client is not None and not issubclass(client.connection_pool.connection_class, SSLConnection):
            raise not_encrypted(address.location)


def must_list_whole_clusters(location: str, version: str = driver_version) -> None:
    """Check that the driver scans every node of a cluster to its end.

    Raises:
        MissingExtra: the driver is older than 7.2; such a driver misses keys without an error (seen with 5.2 to 7.1).
    """
    if tuple(int(part) for part in version.split(".")[:2] if part.isdecimal()) < _FIRST_COMPLETE:
        what = f"{location} is a cluster; redis {version} for Python misses some of its keys without an error"
        from ckpt_cli.installing import install

        raise MissingExtra(what, hint=install(f"redis>={'.'.join(map(str, _FIRST_COMPLETE))}"))


class _TlsConnection(SSLConnection):
    """A connection that applies the connect timeout to the TLS handshake, which a server without TLS never answers."""

    def _wrap_socket_with_ssl(self, sock: Any) -> Any:
        sock.settimeout(self.socket_connect_timeout)
        wrapped = super()._wrap_socket_with_ssl(sock)  # type: ignore[no-untyped-call]
        wrapped.settimeout(self.socket_timeout)
        return wrapped


def _primary_client(address: Address, options: dict[str, Any]) -> Redis:
    """A client of the server that Sentinels name as the primary; after a lost connection, it asks them again.

    ckpt logs in to the Sentinels with the server's user and password, as LangGraph's saver does. If no Sentinel answers
    with a primary, ckpt tries again without a login.

    Raises:
        DatabaseUnreachable: no Sentinel answers, or no Sentinel knows a primary of that name.
    """
    from redis.sentinel import MasterNotFoundError, Sentinel

    bare = {name: value for name, value in options.items() if name not in _NOT_FOR_SENTINELS}
    login = {name: options[name] for name in _NOT_FOR_SENTINELS[1:] if options[name] is not None}
    for more in (login, {}) if login else ({},):
        sentinels = cast(Any, Sentinel)([*address.hosts], sentinel_kwargs={**bare, **more})
        with suppress(MasterNotFoundError):
            sentinels.discover_master(address.service)
            return cast(Redis, sentinels.master_for(address.service, **options))
    raise DatabaseUnreachable(
        f"{address.location}: no Sentinel answers with a primary server of that name",
        hint="redis+sentinel://HOST:26379,HOST:26379/NAME/0; are they running, and do they know name and password?",
    )


def _options(address: Address) -> dict[str, Any]:
    if address.tls is not None:
        _must_be_readable(address.location, [str(address.tls[name]) for name in _FILES if name in address.tls])
    options: dict[str, Any] = {
        "db": address.database,
        "username": address.username,
        "password": address.password,
        "socket_connect_timeout": address.connect_timeout,
        "socket_timeout": address.timeout,
        "protocol": 2,
        "retry": Retry(NoBackoff(), 0),
        "encoding_errors": "surrogateescape",
    }
    return options if address.tls is None else {**options, "ssl": True, **address.tls}


def _must_be_readable(location: str, files: Iterable[str]) -> None:
    """Check that the TLS files can be read: the driver reports a missing file as a lost connection."""
    for file in files:
        try:
            Path(file).open("rb").close()
        except OSError as error:
            raise no_tls_file(location, file, error.strerror or "") from error
