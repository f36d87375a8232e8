"""Parses a URL of Postgres, or a string of libpq, into libpq's parameters and the location that may be shown.

Both may have all options of libpq (libpq 15, "Connection Strings"), ``service`` too; a URL also has ``schema``.
"""

import os
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, urlencode

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Conninfo

from ckpt_cli.errors import UsageError
from ckpt_cli.masking import keep_secret
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


def parse(database: str) -> Address:
    """The address that a URL or a libpq string names.

    Raises:
        UsageError: libpq can't read it.
    """
    return parse_url(database) if "://" in database.partition("=")[0] else parse_conninfo(database)


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
    return _address(url_parameters, schema)


def parse_conninfo(text: str) -> Address:
    """The address that a libpq string names: ``host=… dbname=…``, ``service=prod`` (libpq 15, 34.1.1.1).

    Raises:
        UsageError: libpq can't read it; libpq's message may quote the password, so it is not repeated.
    """
    try:
        parameters = {key: str(value) for key, value in conninfo_to_dict(text).items() if value is not None}
    except ProgrammingError:
        hint = "host=… port=… dbname=… user=…, or service=…; a value with blanks is in single quotes"
        raise UsageError("the libpq string can't be read", hint=hint) from None
    return _address(parameters, "")


def _address(named: Mapping[str, str], schema: str) -> Address:
    """The address of the named parameters, completed from a service of libpq and from libpq's variables."""
    service = named.get("service") or os.environ.get("PGSERVICE")
    values = {**(_service_values(service) if service else {}), **named}
    keep_secret(*(values[name] for name in ("password", "sslpassword") if name in values))
    host = values.get("host") or values.get("hostaddr") or os.environ.get("PGHOST") or _LOCAL
    port = values.get("port") or os.environ.get("PGPORT") or "5432"
    database = values.get("dbname") or os.environ.get("PGDATABASE") or values.get("user") or ""
    parameters = {name: value for name, value in _DEFAULTS.items() if name == "client_encoding" or name not in values}
    if "options" in values:
        parameters["options"] = values["options"]
    parameters.update(named)
    return Address(parameters, schema, host, port, database)


def _service_values(service: str) -> dict[str, str]:
    """The parameters that libpq reads for a service from ``~/.pg_service.conf``; none if there is no such service.

    libpq only reads a service for its defaults (libpq 15, ``fe-connect.c: conninfo_add_defaults``), and takes the name
    from $PGSERVICE. The defaults have also what other variables set.
    """
    before = os.environ.get("PGSERVICE")
    os.environ["PGSERVICE"] = service
    try:
        defaults = Conninfo.get_defaults()
    finally:
        if before is None:
            del os.environ["PGSERVICE"]
        else:
            os.environ["PGSERVICE"] = before
    return {one.keyword.decode(): one.val.decode() for one in defaults if one.val and one.keyword != b"service"}


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
