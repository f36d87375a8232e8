"""Respells JSON numbers so that RedisJSON, which rounds twice, reads them exactly.

RedisJSON rounds the digits to a float, multiplies or divides by a power of ten and rounds again (serde_json 1.0 without
its feature ``float_roundtrip``, ``de.rs: f64_from_parts``). So one in three numbers of 17 digits
becomes a neighbouring float.
"""

import re
from collections.abc import Iterator

_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?')
_FLOAT = re.compile(r"[:,\[\s]-?\d+(?:\.\d+(?:[eE][+-]?\d+)?|[eE][+-]?\d+)[,\]}\s]")
"""Finds a number with a fraction or an exponent in an object or array; sometimes a part of a string looks like one."""
_MOST = 308  # the highest power of ten of a float
_NEAR = 40  # how many values on each side of a number are tried


def respell_numbers(document: str) -> str:
    """The JSON text with each number spelled so that the server reads what Python reads."""
    if document[:1] in ("{", "[") and _FLOAT.search(document) is None:
        return document
    return _TOKENS.sub(lambda match: _respell(match[0]), document)


def read_number(token: str) -> float:
    """The float that the server holds after this number is written: the same or, for one number in 200, a neighbour."""
    return _as_read(_respell(token))


def _respell(token: str) -> str:
    if token[0] == '"' or not ("." in token or "e" in token or "E" in token):
        return token
    value = float(token)
    return next((one for one in _spellings(token, value) if _as_read(one) == value), token)


def _spellings(token: str, value: float) -> Iterator[str]:
    """The token itself, then tokens of nearly the same value with 16 to 19 digits."""
    yield token
    for digits in (17, 18, 19, 16):
        shown, exponent = f"{value:.{digits - 1}e}".split("e")
        number, power = int(shown.replace(".", "")), int(exponent) - digits + 1
        for step in range(_NEAR):
            yield from (f"{number + off}e{power}" for off in (step, -step))


def _as_read(token: str) -> float:
    """The float that the server computes from a token."""
    digits, _, exponent = token.lower().lstrip("-").partition("e")
    whole, _, part = digits.partition(".")
    value, power = float(int(whole + part)), int(exponent or 0) - len(part)
    while power < -_MOST and value:
        value, power = value / 1e308, power + _MOST
    value = value * 10.0**power if power >= 0 else value / 10.0**-power if power >= -_MOST else value
    return -value if token[0] == "-" else value
