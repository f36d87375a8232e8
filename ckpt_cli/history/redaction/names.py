"""`Names`: names of nodes, channels, namespaces, tasks' paths and keys without what a pattern matches.

Names are made of others: ``branch:to:NODE``, ``NODE:task id|INNER``. Each part by itself gets its pseudonym, so that a
node has the same name in all of them. LangGraph's own words and ids are never replaced.
"""

import re
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from itertools import accumulate

from ckpt_cli.history.redaction.patterns import Patterns

_SEPARATORS = re.compile(r"(\||:|\+|~|, )")
_OWN_ID = re.compile(
    r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9a-f]{32}|[0-9]{0,10}"
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{8,15}(?:Z|\+00:00)"  # langgraph 0.0: when it was made
)
_TRIGGERS = ("branch:", "join:", "start:")
_TRIGGER_WORDS: AbstractSet[str] = frozenset({"branch", "join", "start", "to"})
_NO_WORDS: AbstractSet[str] = frozenset()
_REMEMBERED = 20_000


def is_own_id(text: str) -> bool:
    """Whether a text is an id that LangGraph made: of a checkpoint, a task, an interrupt."""
    return _OWN_ID.fullmatch(text) is not None


def parts_of_names(names: Iterable[str]) -> Iterator[str]:
    """The names, and the names that they are made of."""
    for name in names:
        yield name
        yield from _SEPARATORS.split(name)[::2]


class Names:
    """Redacts names; equal names become equal names."""

    def __init__(self, patterns: Patterns) -> None:
        self._patterns = patterns
        self._known: dict[str, str] = {}

    def name(self, text: str) -> str:
        """The name without what matches."""
        if not self._patterns:
            return text
        known = self._known.get(text)
        if known is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            known = self._known[text] = self._redacted(text)
        return known

    def _redacted(self, text: str) -> str:
        reserved = _TRIGGER_WORDS if text.startswith(_TRIGGERS) else _NO_WORDS
        parts = _SEPARATORS.split(text)
        own = [at for at in range(0, len(parts), 2) if not self._is_reserved(parts[at], reserved)]
        goes_over = len(own) > 1 and self._goes_over(parts[own[0] : own[-1] + 1])
        for at in own:
            parts[at] = self._patterns.text(parts[at], name=True)
        return self._whole(parts, own) if goes_over else "".join(parts)

    def _goes_over(self, parts: list[str]) -> bool:
        """Whether a match isn't inside one of these parts; what a pattern finds in pseudonyms is no match."""
        ends = [0, *accumulate(map(len, parts))]
        inside = [*zip(ends[::2], ends[1::2], strict=False)]
        spans = self._patterns.spans("".join(parts))
        return any(not any(start >= begin and end <= stop for begin, stop in inside) for start, end in spans)

    def _whole(self, parts: list[str], own: list[int]) -> str:
        """The name where a match goes over several parts."""
        between = parts[own[0] : own[-1] + 1]
        return "".join((*parts[: own[0]], self._patterns.text("".join(between), name=True), *parts[own[-1] + 1 :]))

    @staticmethod
    def _is_reserved(part: str, reserved: AbstractSet[str]) -> bool:
        return part in reserved or part.startswith("__") or is_own_id(part)
