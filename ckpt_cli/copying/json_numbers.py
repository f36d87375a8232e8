"""Numbers that Postgres' JSONB changes: 1e22 is read as an integer, -0.0 as 0.0."""

import json
import re
from typing import Any

_SUSPECT = re.compile(rb"-0[.eE,\]} ]|\d[eE]\+?\d")


def rewritten_number(data: bytes) -> str:
    """The first number of a JSON text that JSONB would change, as it is spelled there; "" if there is none.

    JSONB stores a numeric: it has no negative zero, and one with an exponent has digits after the point only if the
    exponent leaves some. Python reads a number without them as an integer.
    """
    if not _SUSPECT.search(data):
        return ""
    found = list[str]()

    def number(text: str) -> Any:
        digits, _, exponent = text.lower().partition("e")
        places = len(digits.partition(".")[2]) - int(exponent or 0)
        if (float(text) == 0 and text.startswith("-")) or (exponent and places <= 0):
            found.append(text)
        return 0.0

    try:
        json.loads(data, parse_float=number)
    except (ValueError, RecursionError):
        return ""
    return found[0] if found else ""
