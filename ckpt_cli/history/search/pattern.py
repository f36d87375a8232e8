"""The pattern of ``grep``, and a plain word in every match, by which payloads are skipped undecoded.

Most patterns have such a word. msgpack stores text as UTF-8, and JSON stores ASCII letters unchanged unless an escape
is near. So a payload without the word has no match and needn't be decoded. Numbers, dates and paths are not stored as
text, but the search looks at their text. So a word that could be in such a text is not used.
"""

import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ckpt_cli.errors import UsageError
from ckpt_cli.history.search.match_watch import ADVICE, MatchWatch
from ckpt_cli.model import Payload

_COMPUTED = ("true", "false", "null", "none", "nan", "inf", "infinity", "undefined", "days", "utc", "+e", "**")
_COMPUTED_CHARACTERS = re.compile(r"[\d\s\-+:.,/\\\"'*_e\x00-\x1f\x7f]*")
_BREAKS = re.compile(r"[\d\s\-+:.,/\\\"'*\x00-\x1f\x7f\ud800-\udfff]+")
_BREAKS_ANY_CASE = re.compile(r"[^a-hj-jl-rt-zA-HJ-JL-RT-Z]+")
"""Words end at these if case is ignored: k also matches the Kelvin sign, s a long s, i a capital with a dot."""

_AROUND = 40  # characters of context at each side of a match
_MANY = 999  # further matches that are counted


@dataclass(frozen=True, slots=True)
class Match:
    """The first match in a text, with the text around it in its line.

    Attributes:
        more: how many further matches the text has.
    """

    before: str
    text: str
    after: str
    more: int


class Needle:
    """A compiled pattern.

    Args:
        fixed: the pattern is plain text.
        ignore_case: whether upper and lower case are the same.
        advice: what a person may do about a pattern that doesn't work.

    Raises:
        UsageError: the pattern is no regular expression; a caret shows where.
    """

    def __init__(self, pattern: str, *, fixed: bool = False, ignore_case: bool = False, advice: str = ADVICE) -> None:
        if not pattern:
            raise UsageError("the pattern is empty")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about patterns that a later Python may read in another way
                self._regex = re.compile(re.escape(pattern) if fixed else pattern, re.IGNORECASE if ignore_case else 0)
                runs = [pattern] if fixed else list(_runs(self._regex))
        except (re.error, RecursionError, OverflowError) as error:
            at = getattr(error, "pos", None)
            shown = [pattern, " " * at + "^"] if isinstance(at, int) and "\n" not in pattern else []
            raise UsageError(
                f"not a regular expression: {error}", hint="" if fixed else advice, candidates=shown
            ) from error
        folded = bool(self._regex.flags & re.IGNORECASE)
        self.word = _best(runs, folded)
        self._finds = _finder(self.word, folded)
        self._exact = "" if folded else max(runs, key=len, default="")
        self.watch = MatchWatch(advice)

    def may_hold(self, payload: Payload) -> bool:
        """Whether a payload may have a match and so must be decoded; True if its encoding hides the text."""
        if self._finds is None:
            return True
        if payload.tag == "msgpack":
            return self._finds(payload.data)
        if payload.tag == "json" and self.word.isascii():
            return self._finds(payload.data) or b"\\u00" in payload.data
        return payload.tag not in ("null", "empty", "bytes", "bytearray")

    def may_hold_raw(self, encoding: str, raw: bytes) -> bool:
        """Whether the bytes of one object may have a match."""
        return self._finds is None or not encoding.startswith("msgpack") or self._finds(raw)

    def match(self, text: str) -> Match | None:
        """The first match that is not empty."""
        if self._exact and self._exact not in text:
            return None
        watch = self.watch
        watch.texts += 1
        watch.length = len(text)
        try:
            return self._search(text)
        finally:
            watch.length = -1

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where each match that is not empty begins and ends."""
        if self._exact and self._exact not in text:
            return []
        watch = self.watch
        watch.texts += 1
        watch.length = len(text)
        try:
            return [m.span() for m in self._regex.finditer(text) if m.end() > m.start()]
        finally:
            watch.length = -1

    def _search(self, text: str) -> Match | None:
        matches = (m for m in self._regex.finditer(text) if m.end() > m.start())
        first = next(matches, None)
        if first is None:
            return None
        start, end = first.span()
        more = sum(1 for _ in islice(matches, _MANY))
        head = text[max(start - _AROUND, 0) : start].rpartition("\n")[2]
        tail = text[end : end + 2 * _AROUND].partition("\n")[0]
        before = f"…{head}" if start - len(head) > 0 and text[start - len(head) - 1] != "\n" else head
        after = f"{tail}…" if end + len(tail) < len(text) and text[end + len(tail)] != "\n" else tail
        return Match(before, text[start : min(end, start + 5 * _AROUND)], after, more)


def _runs(regex: "re.Pattern[str]") -> Iterator[str]:
    """The plain texts that every match contains, from the parsed pattern; none if this Python has no `re._parser`."""
    try:
        from re import _parser  # type: ignore[attr-defined]

        yield from _required(_parser.parse(regex.pattern, regex.flags))
    except (ImportError, AttributeError, re.error, RecursionError):
        return


def _required(parsed: Any) -> Iterator[str]:
    run = ""
    for op, arg in parsed:
        name = str(op)
        if name == "LITERAL":
            run += chr(arg)
        elif name not in ("AT", "ASSERT", "ASSERT_NOT"):  # these match no characters
            yield run
            run = ""
            yield from _inside(name, arg)
    yield run


def _inside(name: str, arg: Any) -> Iterator[str]:
    """The plain texts that a group, or a repetition with at least one round, must contain."""
    if name == "SUBPATTERN" and not arg[1] and not arg[2]:
        yield from _required(arg[3])
    elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT") and arg[0] > 0:
        yield from _required(arg[2])
    elif name == "ATOMIC_GROUP":
        yield from _required(arg)


def _best(runs: list[str], folded: bool) -> str:
    """The longest word that no computed text can contain; "" if there is none."""
    words = [word for run in runs for word in (_BREAKS_ANY_CASE if folded else _BREAKS).split(run)]
    return max((word for word in words if len(word) > 1 and not _computed(word)), key=len, default="")


def _computed(word: str) -> bool:
    low = word.lower()
    return _COMPUTED_CHARACTERS.fullmatch(low) is not None or any(low in made for made in _COMPUTED)


def _finder(word: str, folded: bool) -> Callable[[bytes], bool] | None:
    if not word:
        return None
    data = word.lower().encode() if folded else word.encode()
    return (lambda raw: data in raw.lower()) if folded else (lambda raw: data in raw)
