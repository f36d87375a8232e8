"""The address in a DynamoDB URL: a table, its region or endpoint, and the S3 bucket of large payloads."""

from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from ckpt_cli.errors import UsageError
from ckpt_cli.savers.url_options import parse_seconds, unknown_option

_WORDS = (
    "region",
    "endpoint_url",
    "profile",
    "s3_bucket",
    "s3_prefix",
    "s3_endpoint_url",
    "connect_timeout",
)
_FORM = "dynamodb://table?region=eu-west-1"


class Address(NamedTuple):
    """A table's address; parts that the URL doesn't give are "".

    Attributes:
        timeout: seconds to wait for a connection.
    """

    table: str
    region: str = ""
    endpoint_url: str = ""
    profile: str = ""
    s3_bucket: str = ""
    s3_prefix: str = ""
    s3_endpoint_url: str = ""
    timeout: float = 5.0

    @property
    def location(self) -> str:
        """The address as it may be shown: without credentials."""
        host = _host(self.endpoint_url)
        parts = [("region", self.region), ("endpoint", host), ("profile", self.profile), ("s3_bucket", self.s3_bucket)]
        words = "&".join(f"{name}={value}" for name, value in parts if value)
        return f"dynamodb://{self.table}{'?' if words else ''}{words}"

    def identity(self, arn: str, region: str) -> str:
        """One text for this table, however the URL spells it; `arn` holds region and account ("" if unknown)."""
        place = _host(self.endpoint_url) or "aws"
        return f"dynamodb://{place}/{arn or f'{region}/{self.table}'}"


def parse_url(url: str) -> Address:
    """Parse a URL.

    Raises:
        UsageError: the URL names no table, or has an unknown option.
    """
    parts = urlsplit(url)
    table = unquote(parts.netloc or parts.path.strip("/"))
    if not table or "@" in table:
        raise UsageError("the URL names no table", hint=f"{_FORM}; credentials come from AWS's own files and variables")
    words = dict(parse_qsl(parts.query))
    words |= {"endpoint_url": words.pop("endpoint")} if "endpoint" in words else {}
    if unknown := sorted(set(words) - set(_WORDS)):
        raise UsageError(f"dynamodb://{table}: {unknown_option(unknown, _WORDS)}", hint=f"known: {', '.join(_WORDS)}")
    timeout = parse_seconds(words, "connect_timeout", 5.0)
    words.pop("connect_timeout", None)
    return Address(table, **words, timeout=timeout)


def _host(url: str) -> str:
    """Host and port of an endpoint, without credentials."""
    return urlsplit(url if "://" in url or not url else f"//{url}").netloc.rpartition("@")[2].lower()
