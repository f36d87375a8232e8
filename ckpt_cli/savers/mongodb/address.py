"""The address in a MongoDB URL: the server, the database, and LangGraph's two collections in it."""

import re
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, unquote

from ckpt_cli.errors import UsageError
from ckpt_cli.savers.url_options import parse_seconds

DATABASE = "checkpointing_db"
"""The default database (checkpoint-mongodb 0.5.1, ``saver.py: MongoDBSaver.__init__``)."""

PAIRS = (("checkpoints", "checkpoint_writes"), ("checkpoints_aio", "checkpoint_writes_aio"))
"""Pairs of collections, for checkpoints and for writes: the saver's, and those of its async variant (up to 0.1)."""

_OWN = ("collection", "writes_collection", "connect_timeout")
_URL = re.compile(r"(mongodb(?:\+srv)?)://([^/?#]*(?:@[^/?#]*)?)(?:/([^?#]*))?(?:\?(.*))?", re.DOTALL | re.IGNORECASE)


class Address(NamedTuple):
    """A database on a server.

    Attributes:
        url: the URL for the driver, with credentials and without ckpt's own parameters.
        hosts: each ``host:port``, without credentials.
        collection: the collection of checkpoints; "" if the URL names none.
        writes: the collection of pending writes; "" if the URL names none.
        options: the names of the URL's options for the driver, in lower case.
        timeout: seconds to wait for a server.
        tls: whether the URL asks for TLS; a ``mongodb+srv`` URL does unless an option turns TLS off.
    """

    url: str
    scheme: str
    hosts: tuple[str, ...]
    database: str
    collection: str
    writes: str
    options: frozenset[str]
    timeout: float
    tls: bool

    @property
    def identity(self) -> str:
        """One text for this database and these collections, however the URL spells them."""
        pair = (self.collection, self.writes)
        place = f"mongodb://{','.join(sorted(self.hosts))}/{quote(self.database, safe='')}"
        return place if pair == PAIRS[0] else f"{place}/{','.join(quote(name, safe='') for name in pair)}"

    @property
    def location(self) -> str:
        """The address as it may be shown: without user and password."""
        named = (self.collection, self.writes) not in (*PAIRS[:1], ("", ""))
        shown = f"?collection={self.collection}&writes_collection={self.writes}" if named else ""
        return f"{self.scheme}://{','.join(self.hosts)}/{self.database}{shown}"


def parse_url(url: str) -> Address:
    """Parse a URL.

    Raises:
        UsageError: the text isn't a MongoDB URL; the error repeats no part of the text, which may hold a password.
    """
    match = _URL.fullmatch(url)
    if match is None or not match[2].rpartition("@")[2] or "@" in (match[3] or "") + (match[4] or ""):
        hint = "mongodb://user:password@host:27017/database; a password with special characters needs them %-escaped"
        raise UsageError("that is no valid MongoDB URL", hint=hint)
    scheme, authority, path, query = match[1].lower(), match[2], match[3] or "", match[4] or ""
    words = dict(parse_qsl(query, keep_blank_values=True))
    options = [part for part in query.split("&") if part and unquote(part.partition("=")[0]) not in _OWN]
    collection = words.get("collection", "")
    writes = words.get("writes_collection", "") or dict(PAIRS).get(collection, PAIRS[0][1] if collection else "")
    return Address(
        f"{scheme}://{authority}/{path}{'?' if options else ''}{'&'.join(options)}",
        scheme,
        tuple(_host(host, scheme) for host in authority.rpartition("@")[2].split(",")),
        unquote(path) or DATABASE,
        collection or (PAIRS[0][0] if writes else ""),
        writes,
        frozenset(part.partition("=")[0].lower() for part in options),
        parse_seconds(words, "connect_timeout", 5.0),
        _tls(words, scheme),
    )


def _tls(words: dict[str, str], scheme: str) -> bool:
    options = {name.lower(): value.lower() for name, value in words.items()}
    return options.get("tls", options.get("ssl", "true" if scheme.endswith("srv") else "")) == "true"


def _host(host: str, scheme: str) -> str:
    """The host with its port, except where an SRV record gives the port."""
    name = unquote(host).lower()
    return name if scheme.endswith("srv") or re.search(r":\d+$", name) else f"{name}:27017"
