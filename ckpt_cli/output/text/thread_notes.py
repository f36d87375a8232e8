"""Shows the notes of the plans of many threads: each once, with the number of its threads.

Notes that differ only by ids and counts in them, as by how many steps show a reducer, count as one.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ckpt_cli.output.cells import flow
from ckpt_cli.output.line import Line, Page
from ckpt_cli.output.theme import MORE
from ckpt_cli.output.visible_names import visible
from ckpt_cli.views.bulk import ThreadLine

_EXPECTED = "the thread continues from the new checkpoint"
"""How a note begins that says of each thread what the title says of all."""
_WEAK = "only a few steps show"
"""How a note begins after which the resulting values should be read: it is never left out for the others."""
_SHOWN = 12  # notes
_KEPT = 500  # different notes that are counted
_ID = r"\b(?=[0-9a-f]*\d)[0-9a-f]{6,}(?:-[0-9a-f]{4,})*\b"
_COUNT = r"\b\d[\d,]*(?= (?:of|threads?|steps?|runs?|checkpoints?)\b)"
_VARYING = re.compile(f"{_ID}|{_COUNT}")


@dataclass(slots=True)
class _Note:
    """A note as the `first` of its threads has it; `differs` if other threads have other ids or counts in it."""

    text: str
    first: str
    threads: int = 0
    differs: bool = False


def notes_of(one: ThreadLine) -> list[str]:
    """The notes of one thread's plan, without what the title says."""
    return [note for note in one.notes if not one.problem and not note.startswith(_EXPECTED)]


def _key(note: str, one: ThreadLine) -> str:
    """What notes have in common that count as one."""
    return note if note.startswith(_WEAK) else _VARYING.sub(MORE, note.replace(one.thread_id, MORE))


class ThreadNotes:
    """Counts the notes of threads whose rows are printed meanwhile."""

    def __init__(self) -> None:
        self._notes = dict[str, _Note]()
        self._has_uncounted = False

    def counted(self, lines: Iterable[ThreadLine]) -> Iterator[ThreadLine]:
        """The same threads."""
        for one in lines:
            own = dict[str, str]()  # a thread may have a note twice, as for two questions
            for note in notes_of(one):
                own.setdefault(_key(note, one), visible(note))
            for key, text in own.items():
                self._add(key, text, one.thread_id)
            yield one

    def own(self, one: ThreadLine) -> list[str]:
        """The notes of a counted thread that no other counted thread has, as far as they were counted."""
        shared = {key for key, note in self._notes.items() if note.threads > 1}
        return [note for note in notes_of(one) if _key(note, one) not in shared]

    def _add(self, key: str, text: str, thread_id: str) -> None:
        if key not in self._notes and len(self._notes) >= _KEPT:
            self._has_uncounted = True
            return
        note = self._notes.setdefault(key, _Note(text, visible(thread_id)))
        note.threads += 1
        note.differs = note.differs or text != note.text

    def lines(self, page: Page, least: int = 1) -> Iterator[Line]:
        """The notes of so many threads at least: those of weak evidence first, then those of most threads."""
        counted = [one for one in self._notes.values() if one.threads >= least]
        notes = sorted(counted, key=lambda one: (not one.text.startswith(_WEAK), -one.threads))
        weak = sum(one.text.startswith(_WEAK) for one in notes)
        shown = notes[: max(_SHOWN, weak)]
        for note in shown:
            threads = note.first if note.threads == 1 else f"{note.threads:,} threads"
            text = f"{threads}: {note.text}{' (numbers and ids are those of the first)' if note.differs else ''}"
            parts = [text] if page.width is None else flow(text, max(page.width - 2, 20))
            yield from ([("", "  "), ("muted", part)] for part in parts)
        if more := len(notes) - len(shown):
            count = f"at least {more:,}" if self._has_uncounted else f"{more:,}"
            yield [("muted", f"  {MORE} and {count} other notes (--json lists all)")]
