"""What ``ckpt grep`` finds."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

from ckpt_cli.views.base import View


@dataclass(frozen=True, slots=True)
class Sighted:
    """A checkpoint that holds the text."""

    checkpoint_id: str
    short: str
    step: int | None


@dataclass(frozen=True, slots=True)
class Hit:
    """A text that matches, reported once however many checkpoints hold it.

    Attributes:
        place: ``state``, ``writes`` or ``metadata``.
        channel: the channel, or the key of metadata.
        path: where it stands in `first`, as `ckpt get` takes it.
        first: where it appeared.
        last: the last checkpoint that holds it.
        present: the head of its namespace still does.
        checkpoints: how many hold it.
        before: what stands before the first match in its line.
        match: the first match.
        after: what stands after it.
        more: further matches in the same text.
    """

    thread_id: str
    ns: str
    place: str
    channel: str
    path: str
    first: Sighted
    last: Sighted
    present: bool
    checkpoints: int
    before: str
    match: str
    after: str
    more: int


@dataclass(frozen=True, slots=True)
class ThreadCount:
    """With ``--count``: how many texts of a thread match."""

    thread_id: str
    hits: int


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A checkpoint, or a channel or write of it, that could not be searched; `locked` where a key would help."""

    thread_id: str
    ns: str
    checkpoint_id: str
    problem: str
    locked: bool = False


@dataclass
class GrepView(View):
    """All that matches, as it is found.

    Attributes:
        hits: by thread; with ``--count`` a `ThreadCount` for each thread that has any.
        unreadable: what could not be searched, the first 1,000; complete once all hits were taken.
        unsearched: how many that are in all.
        undecoded: payloads whose bytes can't hold the pattern: they were read from end to end, but damage inside an
            object in them is not in `unreadable`.
    """

    verb: ClassVar[str] = "grep"
    rows_field: ClassVar[str] = "hits"
    finding = False
    found = 0
    searched = 0
    damaged = False

    hits: Iterable[Hit | ThreadCount]
    unreadable: list[Unreadable] = field(default_factory=list)
    undecoded: int = 0
    unsearched: int = 0

    @property
    def exit_code(self) -> int:
        """3 where the database itself is damaged; 1 where nothing was found and that was to be told so.

        5 where nothing was found and something couldn't be read.
        """
        if self.damaged:
            return 3
        if self.unsearched and not self.found:
            return 5
        return int(self.finding and not self.found)
