"""What a Redis URL names: the server, the numbered database, and how LangGraph's keys begin in it."""

from typing import NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from ckpt_cli.errors import UsageError
from ckpt_cli.savers.url_options import parse_seconds, unknown_option

PREFIXES = ("checkpoint", "checkpoint_write")
"""How keys begin where nothing else is said (checkpoint-redis 0.5.2, ``base.py: CHECKPOINT_PREFIX``)."""

_SECURE = ("rediss", "valkeys")
_TLS = ("ssl_cert_reqs", "ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_check_hostname")
_OWN = ("checkpoint_prefix", "checkpoint_write_prefix", "connect_timeout", "timeout", "cluster")
"""Options; ``cluster`` makes LangGraph's saver expect one, which is seen here."""


class Address(NamedTuple):
    """A database, named.

    Attributes:
        scheme: ``redis`` or ``valkey``.
        hosts: the server with its port, or the Sentinels that know it.
        service: what Sentinels call the server; "" where it is named itself.
        prefix: of keys of checkpoints, without the colon.
        write_prefix: of keys of pending writes.
        connect_timeout: seconds to wait for the server.
        timeout: seconds to wait for one answer.
        tls: what the driver is told of TLS; None without it.
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
        """The same for every way to name this database and these prefixes."""
        place = f"{self.scheme}{self._place}"
        pair = (self.prefix, self.write_prefix)
        return place if pair == PREFIXES else f"{place}?{','.join(quote(name, safe='') for name in pair)}"

    @property
    def space(self) -> str:
        """What of a server is named: the number of the database, and how keys begin in it."""
        return f"{self.database}/{self.prefix}/{self.write_prefix}"

    @property
    def location(self) -> str:
        """What people may see."""
        shown = "" if self.prefix == PREFIXES[0] else f"?checkpoint_prefix={self.prefix}"
        return f"{self.scheme}{'s' if self.tls is not None else ''}{self._place}{shown}"

    @property
    def _place(self) -> str:
        hosts = ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self.hosts)
        if not self.service:
            return f"://{hosts}/{self.database}"
        return f"+sentinel://{hosts}/{quote(self.service, safe='')}/{self.database}"


def parse_url(url: str) -> Address:
    """The parts of a URL.

    Raises:
        UsageError: it isn't one; no part of it is repeated, since any could be a password.
    """
    try:
        parts = urlsplit(url)
        scheme, _, more = parts.scheme.partition("+")
        hosts = _hosts(parts.netloc.rpartition("@")[2].lower(), more)
    except ValueError as error:
        raise _invalid() from error
    words = dict(parse_qsl(parts.query, keep_blank_values=True))
    secure = scheme in _SECURE
    service, path = _service(parts.path) if more else ("", parts.path)
    if unknown := sorted(set(words) - {*_OWN, *(_TLS if secure else ())}):
        known = (*_OWN, *_TLS)
        raise UsageError(f"the URL has {unknown_option(unknown, known)}", hint=f"known: {', '.join(known)}")
    return Address(
        scheme.removesuffix("s") if secure else scheme,
        hosts,
        service,
        _database(path),
        unquote(parts.username) if parts.username else None,
        unquote(parts.password) if parts.password else None,
        words.get("checkpoint_prefix") or PREFIXES[0],
        words.get("checkpoint_write_prefix") or PREFIXES[1],
        parse_seconds(words, "connect_timeout", 5.0),
        parse_seconds(words, "timeout", 60.0),
        {name: _option(words[name]) for name in _TLS if name in words} if secure else None,
    )


def _hosts(text: str, more: str) -> tuple[tuple[str, int], ...]:
    """One host, or as many Sentinels as are named, in an order that says nothing."""
    if more not in ("", "sentinel"):
        raise UsageError("the only redis+… URL is redis+sentinel", hint="redis://host:6379/0")
    named = [urlsplit(f"//{one}") for one in (text.split(",") if more else [text])]
    return tuple(sorted({(one.hostname or "localhost", one.port or (26379 if more else 6379)) for one in named}))


def _service(path: str) -> tuple[str, str]:
    """What Sentinels call their server, and the rest of the path; as LangGraph's saver reads it."""
    service, _, rest = path.removeprefix("/").partition("/")
    return unquote(service) or "mymaster", rest


def _database(path: str) -> int:
    number = path.strip("/")
    if number and not number.isdecimal():
        raise UsageError("the path of the URL is the number of a database", hint="redis://host:6379/0")
    return int(number or 0)


def _option(text: str) -> object:
    return {"true": True, "false": False}.get(text.lower(), text)


def _invalid() -> UsageError:
    hint = "redis://user:password@host:6379/0; a password with special characters needs them %-escaped"
    return UsageError("that is no valid Redis URL", hint=hint)
