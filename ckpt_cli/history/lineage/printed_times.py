"""Times as ckpt prints them on a terminal: local, to the second, with their zone."""

import re
from collections.abc import Callable
from datetime import datetime
from functools import partial
from math import floor

_SHORT = {r"\d\d:\d\d:\d\d": "%H:%M:%S", r"\d\d-\d\d \d\d:\d\d": "%m-%d %H:%M"}
_ZONE = r"UTC|[+-]\d\d:\d\d"


def printed_time(then: float) -> str:
    """``2026-11-21 09:28:05 +01:00``, which `typed_times` reads again."""
    local = datetime.fromtimestamp(floor(then)).astimezone()
    return f"{local:%Y-%m-%d %H:%M:%S} {zone(local)}"


def zone(moment: datetime) -> str:
    """The offset of a time that has one: ``+01:00``; ``UTC`` for none."""
    offset = f"{moment:%z}"
    return f"{offset[:3]}:{offset[3:5]}" if offset.strip("+-0") else "UTC"


def short_form(text: str) -> Callable[[float], str] | None:
    """Prints times in the form of `text`, a time in a list that has its date or year beside it; None for other texts.

    Where the zones in a list differ, each of its times has its own.
    """
    for pattern, form in _SHORT.items():
        if match := re.fullmatch(f"({pattern})(?: ({_ZONE}))?", text):
            return partial(_print_as, form, zoned=match[2] is not None)
    return None


def _print_as(form: str, then: float, *, zoned: bool) -> str:
    local = datetime.fromtimestamp(floor(then)).astimezone()
    return f"{local:{form}} {zone(local)}" if zoned else f"{local:{form}}"
