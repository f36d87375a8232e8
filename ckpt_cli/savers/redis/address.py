"""The address in a Redis URL: the server, the database's number, and the prefixes of LangGraph's keys."""

from typing import NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from ckpt_cli.errors import UsageError
from ckpt_cli.savers.url_options import parse_seconds, unknown_option

PREFIXES = ("checkpoint", "checkpoint_write")
"""The default prefixes of keys (checkpoint-redis 0.5.2, ``base.py: CHECKPOINT_PREFIX``)."""

_SECURE = ("rediss", "valkeys")
_TLS = ("ssl_cert_reqs", "ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_check_hostname")
_OWN = ("checkpoint_prefix", "checkpoint_write_prefix", "connect_timeout", "timeout", "cluster")
"""The URL's options. ``cluster`` is an option of LangGraph's saver; ckpt ignores it and asks the server."""


class Address(NamedTuple):
    """A database on a server.

    Attributes:
        scheme: ``redis`` or ``valkey``.
        hosts: the server and its port, or its Sentinels.
        service: the Sentinels' name for the server; "" without Sentinels.
        prefix: the prefix of checkpoints' keys, without the colon.
        write_prefix: the prefix of pending writes' keys.
        connect_timeout: seconds to wait for the server.
        timeout: seconds to wait for one answer.
        tls: the driver's options for TLS; None without TLS.
    """

    scheme: str
    hosts: tuple[tuple[str, int], ...]
    service: str
    database: int
    username: str | None
    password: str | None
    prefix: str
    write_prefix: str
    connect_timeout: float
    timeout: float
    tls: dict[str, object] | None

    @property
    def identity(self) -> str:
        """One text for this database and these prefixes, however the URL spells them."""
        place = f"{self.scheme}{self._place}"
        pair = (self.prefix, self.write_prefix)
        return place if pair == PREFIXES else f"{place}?{','.join(quote(name, safe='') for name in pair)}"

    @property
    def space(self) -> str:
        """The database's number on the server, and the key prefixes."""
        return f"{self.database}/{self.prefix}/{self.write_prefix}"

    @property
    def location(self) -> str:
        """The address as it may be shown: without user and password."""
        shown = "" if self.prefix == PREFIXES[0] else f"?checkpoint_prefix={self.prefix}"
        return f"{self.scheme}{'s' if self.tls is not None else ''}{self._place}{shown}"

    @property
    def _place(self) -> str:
        hosts = ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self.hosts)
        if not self.service:
            return f"://{hosts}/{self.database}"
        return f"+sentinel://{hosts}/{quote(self.service, safe='')}/{self.database}"


def parse_url(url: str) -> Address:
    """Parse a URL.

    Raises:
        UsageError: the text isn't a Redis URL; the error repeats no part of the text, which may hold a password.
    """
    try:
        parts = urlsplit(url)
        scheme, _, variant = parts.scheme.partition("+")
        hosts = _hosts(parts.netloc.rpartition("@")[2].lower(), variant)
    except ValueError as error:
        raise _invalid() from error
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    secure = scheme in _SECURE
    service, path = _service(parts.path) if variant else ("", parts.path)
    if unknown := sorted(set(options) - {*_OWN, *(_TLS if secure else ())}):
        known = (*_OWN, *_TLS)
        raise UsageError(f"the URL has {unknown_option(unknown, known)}", hint=f"known: {', '.join(known)}")
    return Address(
        scheme.removesuffix("s") if secure else scheme,
        hosts,
        service,
        _database(path),
        unquote(parts.username) if parts.username else None,
        unquote(parts.password) if parts.password else None,
        options.get("checkpoint_prefix") or PREFIXES[0],
        options.get("checkpoint_write_prefix") or PREFIXES[1],
        parse_seconds(options, "connect_timeout", 5.0),
        parse_seconds(options, "timeout", 60.0),
        {name: _option(options[name]) for name in _TLS if name in options} if secure else None,
    )


def _hosts(text: str, variant: str) -> tuple[tuple[str, int], ...]:
    """The host, or all Sentinels, which are sorted because their order in the URL means nothing."""
    if variant not in ("", "sentinel"):
        raise UsageError("the only redis+… URL is redis+sentinel", hint="redis://host:6379/0")
    hosts = [urlsplit(f"//{host}") for host in (text.split(",") if variant else [text])]
    return tuple(sorted({(host.hostname or "localhost", host.port or (26379 if variant else 6379)) for host in hosts}))


def _service(path: str) -> tuple[str, str]:
    """The Sentinels' name for the server, and the rest of the path, as LangGraph's saver reads them."""
    service, _, rest = path.removeprefix("/").partition("/")
    return unquote(service) or "mymaster", rest


def _database(path: str) -> int:
    number = path.strip("/")
    if number and not number.isdecimal():
        raise UsageError("the path of the URL must be the number of a database", hint="redis://host:6379/0")
    return int(number or 0)


def _option(text: str) -> object:
    return {"true": True, "false": False}.get(text.lower(), text)


def _invalid() -> UsageError:
    hint = "redis://user:password@host:6379/0; a password with special characters needs them %-escaped"
    return UsageError("that is no valid Redis URL", hint=hint)
