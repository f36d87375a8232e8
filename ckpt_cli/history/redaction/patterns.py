"""`Patterns`: replaces what regular expressions match in a text, in whichever spelling it is there."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from ckpt_cli.errors import UsageError
from ckpt_cli.history.redaction.hidden_texts import Span, opaque_runs, plain_text, views
from ckpt_cli.history.redaction.masks import MASK, Masks
from ckpt_cli.history.search.match_watch import MatchWatch
from ckpt_cli.history.search.pattern import Needle

_LEVELS = 3  # spellings inside each other: JSON in JSON in base64


class Patterns:
    """Several patterns, and the replacement of their matches.

    Attributes:
        counts: how often each pattern matched.

    Raises:
        UsageError: a pattern is no regular expression.
    """

    def __init__(self, patterns: Iterable[str], masks: Masks) -> None:
        self._needles = [*map(_needle, patterns)]
        self._masks = masks
        self._watch = MatchWatch("nothing was written")
        for needle in self._needles:
            needle.watch = self._watch
        self.counts = [0] * len(self._needles)

    def __bool__(self) -> bool:
        return bool(self._needles)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Inside this block, a match that takes seconds raises UsageError."""
        with self._watch.running():
            yield

    def text(self, text: str, *, name: bool = False) -> str:
        """The text without what matches; the same object if nothing does. A name gets pseudonyms for its matches."""
        spans = self._spans(text, _LEVELS) if text else []
        mask = self._masks.name if name else self._masks.text
        return _replaced(text, spans, [mask(text[start:end]) for start, end in spans]) if spans else text

    def without_opaque(self, text: str) -> str:
        """The text without long runs of base64 that can't be looked into; the same object if there are none."""
        runs = opaque_runs(text)
        return _replaced(text, runs, [MASK] * len(runs)) if runs else text

    def data(self, data: bytes) -> bytes | None:
        """The bytes without what matches; the same object if nothing does; None if they can't be looked into."""
        text = plain_text(data)
        if text is None:
            return None
        new = self.without_opaque(self.text(text))
        return data if new is text else new.encode()

    def match(self, text: str) -> bool:
        """Whether a pattern matches a text in some spelling."""
        return bool(self.spans(text))

    def spans(self, text: str) -> list[Span]:
        """Where patterns match a text in some spelling, in ascending order and apart from each other."""
        return self._spans(text, _LEVELS) if text else []

    def _spans(self, text: str, levels: int) -> list[Span]:
        """Where the matches are, in ascending order and apart from each other."""
        found = list[Span]()
        for number, needle in enumerate(self._needles):
            spans = needle.spans(text)
            self.counts[number] += len(spans)
            found += spans
        if levels:
            found += [view.original(span) for view in views(text) for span in self._spans(view.text, levels - 1)]
        return _merged(found) if found else found


def _needle(pattern: str) -> Needle:
    try:
        return Needle(pattern)
    except UsageError as error:
        raise UsageError(error.message, candidates=error.candidates) from error


def _merged(spans: list[Span]) -> list[Span]:
    spans.sort()
    merged = spans[:1]
    for start, end in spans[1:]:
        if start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _replaced(text: str, spans: Sequence[Span], masks: Sequence[str]) -> str:
    pieces, end = list[str](), 0
    for (start, stop), mask in zip(spans, masks, strict=True):
        pieces += (text[end:start], mask)
        end = stop
    return "".join((*pieces, text[end:]))
