"""Options of a URL, in the same way for several backends: times in seconds, unknown options."""

from collections.abc import Iterable, Mapping
from math import inf

from ckpt_cli.errors import UsageError


def parse_seconds(options: Mapping[str, str], name: str, default: float) -> float:
    """The number of seconds that an option names, or `default` where the option is missing or empty.

    Raises:
        UsageError: its value is not a number, or is negative or infinite.
    """
    try:
        seconds = float(options.get(name) or default)
    except ValueError as error:
        raise UsageError(f"{name}: a number of seconds is needed") from error
    if not 0 <= seconds < inf:
        raise UsageError(f"{name}: a number of seconds is needed, 0 or more")
    return seconds


def unknown_option(names: Iterable[str], known: Iterable[str]) -> str:
    """A phrase for people about options that a URL may not have.

    It repeats only an option that looks like a misspelled known one; any other text may be part of a password.
    """
    from difflib import get_close_matches

    misspelled = next((name for name in sorted(names) if get_close_matches(name, known, n=1, cutoff=0.75)), "")
    return f"unknown option {misspelled!r}" if misspelled else "an option that isn't known"
