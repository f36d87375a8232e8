"""Parses a URL of Postgres into the parameters for libpq and the location that may be shown to people.

The URL may have all options of libpq (libpq 15, "Connection URIs"), and ``schema``.
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
_LOCAL = "local"  # a socket on this machine, in libpq's default folder


class Address(NamedTuple):
    """Where a database is.

    Attributes:
        parameters: for libpq, including the password.
        schema: the Postgres schema of the tables; "" for the first in the search path that has them.
        host: as in the URL; several are separated by commas.
        database: "" if the URL names no database and no user, and $PGDATABASE names no database.
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
    """The address that a URL names.

    Raises:
        UsageError: libpq can't read the URL; libpq's message may quote the password, so it is not repeated.
    """
    scheme, _, rest = url.partition("://")
    place, _, options = rest.partition("?")
    pairs = parse_qsl(options, keep_blank_values=True)
    schema = next((value for key, value in reversed(pairs) if key == "schema"), "")
    libpq_options = urlencode([pair for pair in pairs if pair[0] != "schema"], quote_via=quote)
    libpq_url = f"postgresql://{place}{'?' if libpq_options else ''}{libpq_options}"
    try:
        url_parameters = {key: str(value) for key, value in conninfo_to_dict(libpq_url).items() if value is not None}
    except ProgrammingError:
        unknown = _first_unknown(pairs)
        what = f"the {scheme} URL can't be read"
        if unknown:
            what = f"the {scheme} URL has {unknown_option([unknown], _option_names())}"
        hint = "postgresql://user:password@host:port/database; in names and passwords write @ : / ? # % as %40 %3A …"
        raise UsageError(what, hint=hint) from None
    host = url_parameters.get("host") or url_parameters.get("hostaddr") or os.environ.get("PGHOST") or _LOCAL
    port = url_parameters.get("port") or os.environ.get("PGPORT") or "5432"
    name = url_parameters.get("dbname") or os.environ.get("PGDATABASE") or url_parameters.get("user") or ""
    parameters: dict[str, str | int] = dict(_DEFAULTS)
    parameters.update(url_parameters)
    return Address(parameters, schema, host, port, name)


def _first_unknown(pairs: list[tuple[str, str]]) -> str:
    """The first option that libpq doesn't know; "" if libpq knows all."""
    for name, _ in pairs:
        try:
            conninfo_to_dict(f"postgresql:///?{quote(name, safe='')}=1")
        except ProgrammingError:
            return "" if name == "schema" else name
    return ""


def _option_names() -> list[str]:
    return [option.keyword.decode() for option in Conninfo.get_defaults()]


def _hosts(hosts: str, ports: str) -> str:
    """Each host with its port. A host is a name, an IPv6 address or a folder of sockets; all may share one port."""
    names = [f"[{one}]" if ":" in one else quote(one, safe="") for one in hosts.lower().split(",")]
    port_list = ports.split(",")
    return ",".join(
        f"{name}:{port_list[at] if at < len(port_list) else port_list[-1]}" for at, name in enumerate(names)
    )
