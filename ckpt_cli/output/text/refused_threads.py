"""Shows on a terminal why threads of a plan for many are refused: each reason once, whole.

Reasons that differ only by the ids in them, as by the id of the question that waits, count as one.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ckpt_cli.output.cells import flow
from ckpt_cli.output.line import Line, Page
from ckpt_cli.output.theme import MORE
from ckpt_cli.output.visible_names import visible
from ckpt_cli.views.bulk import ThreadLine

_NAMED = 3  # threads that are named with a reason
_SHOWN = 20  # reasons
_ID = re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{6,}(?:-[0-9a-f]{4,})*\b")


@dataclass(slots=True)
class _Reason:
    """A reason as the first of its threads has it; `differs` if other threads have other ids in it."""

    text: str
    names: list[str] = field(default_factory=list)
    threads: int = 0
    differs: bool = False


def by_reason(lines: Iterable[ThreadLine], page: Page) -> Iterator[Line]:
    """Each reason with the first threads that it is given for, and their number."""
    reasons, unshown = dict[str, _Reason](), set[str]()
    for one in lines:
        text = visible(one.problem)
        key = _ID.sub(MORE, one.problem.replace(one.thread_id, MORE))
        if key not in reasons and len(reasons) >= _SHOWN:
            unshown.add(key)
            continue
        reason = reasons.setdefault(key, _Reason(text))
        reason.threads += 1
        reason.differs = reason.differs or text != reason.text
        reason.names += [visible(one.thread_id)] if len(reason.names) < _NAMED else []
    for reason in reasons.values():
        yield from _shown(reason, page)
    if unshown:
        yield [("muted", f"  {MORE} for {len(unshown):,} more reasons (--json lists all)")]


def _shown(reason: _Reason, page: Page) -> Iterator[Line]:
    width = max((page.width or 0) - 4, 20)
    yield from ([("", "  "), ("bad", part)] for part in flow(reason.text, width + 2))
    more = f", {MORE} ({reason.threads:,} threads)" if reason.threads > len(reason.names) else ""
    more += " (the ids above are those of the first)" if reason.differs else ""
    yield from ([("", "    "), ("title", part)] for part in flow(", ".join(reason.names) + more, width))
