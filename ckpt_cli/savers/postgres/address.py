"""A URL of Postgres: what libpq gets of it, and what of it may be shown.

Everything libpq knows may stand in the URL (libpq 15, "Connection URIs"), and ``schema`` besides.
"""

import os
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, urlencode

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Conninfo

from ckpt_cli.errors import UsageError
from ckpt_cli.savers.url_options import unknown_option

_CONNECT_TIMEOUT = 5  # seconds
_DEFAULTS: dict[str, str | int] = {
    "connect_timeout": _CONNECT_TIMEOUT,
    "application_name": "ckpt",
    "client_encoding": "utf8",
    "keepalives_idle": 30,
}
_LOCAL = "local"  # a socket of this machine, wherever libpq looks for it


class Address(NamedTuple):
    """Where a database is.

    Attributes:
        parameters: for libpq, the password among them.
        schema: where the tables are; "" for the first of the search path that has them.
        host: as given, several separated by commas.
        database: "" until a connection tells it.
    """

    parameters: dict[str, str | int]
    schema: str
    host: str
    port: str
    database: str

    @property
    def location(self) -> str:
        """The URL without credentials and options."""
        place = f"postgresql://{_hosts(self.host, self.port)}/{quote(self.database, safe='')}"
        return f"{place}?schema={quote(self.schema, safe='')}" if self.schema else place


def parse_url(url: str) -> Address:
    """Take a URL apart.

    Raises:
        UsageError: libpq can't read it; what it says is not repeated, as it may quote the password.
    """
    scheme, _, rest = url.partition("://")
    place, _, options = rest.partition("?")
    pairs = parse_qsl(options, keep_blank_values=True)
    schema = next((value for key, value in reversed(pairs) if key == "schema"), "")
    kept = urlencode([pair for pair in pairs if pair[0] != "schema"], quote_via=quote)
    plain = f"postgresql://{place}{'?' if kept else ''}{kept}"
    try:
        given: dict[str, str] = {key: str(value) for key, value in conninfo_to_dict(plain).items() if value is not None}
    except ProgrammingError:
        unknown = _unknown(pairs)
        what = f"the {scheme} URL can't be read"
        if unknown:
            what = f"the {scheme} URL has {unknown_option([unknown], _option_names())}"
        hint = "postgresql://user:password@host:port/database; in names and passwords write @ : / ? # % as %40 %3A …"
        raise UsageError(what, hint=hint) from None
    host = given.get("host") or given.get("hostaddr") or os.environ.get("PGHOST") or _LOCAL
    port = given.get("port") or os.environ.get("PGPORT") or "5432"
    name = given.get("dbname") or os.environ.get("PGDATABASE") or given.get("user") or ""
    parameters: dict[str, str | int] = dict(_DEFAULTS)
    parameters.update(given)
    return Address(parameters, schema, host, port, name)


def _unknown(pairs: list[tuple[str, str]]) -> str:
    """The first option that libpq doesn't know by name."""
    for name, _ in pairs:
        try:
            conninfo_to_dict(f"postgresql:///?{quote(name, safe='')}=1")
        except ProgrammingError:
            return "" if name == "schema" else name
    return ""


def _option_names() -> list[str]:
    return [option.keyword.decode() for option in Conninfo.get_defaults()]


def _hosts(hosts: str, ports: str) -> str:
    """Each host with its port: names, IPv6 addresses, or folders of sockets (libpq takes one port for all of them)."""
    names = [f"[{one}]" if ":" in one else quote(one, safe="") for one in hosts.lower().split(",")]
    each = ports.split(",")
    return ",".join(f"{name}:{each[at] if at < len(each) else each[-1]}" for at, name in enumerate(names))
