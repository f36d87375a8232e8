"""Texts of the formats in the JSON schemas of Pydantic's types: times, UUIDs, addresses.

Pydantic takes more than the formats' standards: also seconds as a number, a space for the ``T``, a day for a time
(pydantic 2 ``docs/concepts/conversion_table.md``). A text that is refused here is refused there; what is taken here may
still be refused there, as a day of the year's 13th month is.
"""

import re
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from types import MappingProxyType
from uuid import UUID

_DAY = r"\d{4}-\d{2}-\d{2}"
_TIME = r"\d{2}:\d{2}(:\d{2}([.,]\d+)?)?\s?([Zz]|[+\u2212-]\d{2}:?(\d{2})?)?"
_SECONDS = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
_MOMENT = re.compile(rf"\s*(?:{_DAY}(?:[Tt _]{_TIME})?|{_SECONDS})\s*", re.ASCII)
_CLOCK = re.compile(rf"\s*(?:{_TIME}|{_SECONDS})\s*", re.ASCII)
_DIGIT = re.compile(r"\d", re.ASCII)


def _is_uuid(text: str) -> bool:
    UUID(text)
    return True


def _is_address(text: str) -> bool:
    ip_address(text)
    return True


CHECKS: Mapping[str, Callable[[str], bool]] = MappingProxyType(
    {
        "date": lambda text: _MOMENT.fullmatch(text) is not None,
        "date-time": lambda text: _MOMENT.fullmatch(text) is not None,
        "time": lambda text: _CLOCK.fullmatch(text) is not None,
        "duration": lambda text: _DIGIT.search(text) is not None,
        "uuid": _is_uuid,
        "ipv4": _is_address,
        "ipv6": _is_address,
    }
)
"""Format to whether a text may be of it; a ValueError says that it isn't."""
