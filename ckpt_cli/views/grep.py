"""The view of ``ckpt grep``: the texts that match."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

from ckpt_cli.views.base import View


@dataclass(frozen=True, slots=True)
class Sighted:
    """A checkpoint that contains the text."""

    checkpoint_id: str
    short: str
    step: int | None


@dataclass(frozen=True, slots=True)
class Hit:
    """A text that matches; it is reported once, even if many checkpoints contain it.

    Attributes:
        place: ``state``, ``writes`` or ``metadata``.
        channel: the channel, or the key of the metadata.
        path: the path of the text in the checkpoint `first`, as `ckpt get` takes it.
        first: the first checkpoint that contains the text.
        last: the last checkpoint that contains the text.
        present: whether the head of the namespace contains the text.
        checkpoints: the number of checkpoints that contain the text.
        before: the part before the first match, in the same line.
        match: the first match.
        after: the part after the first match, in the same line.
        more: the number of further matches in the same text.
        is_key: whether the text is the last key of the path, and no value.
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
    is_key: bool = False


@dataclass(frozen=True, slots=True)
class ThreadCount:
    """With ``--count``, the number of matching texts in one thread."""

    thread_id: str
    hits: int


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A checkpoint that could not be searched, or a channel or write of it; `locked` says that a key would help."""

    thread_id: str
    ns: str
    checkpoint_id: str
    problem: str
    locked: bool = False


@dataclass
class GrepView(View):
    """All matching texts, as they are found.

    Attributes:
        hits: the hits, thread by thread; with ``--count``, a `ThreadCount` for each thread that has hits.
        unreadable: the first 1,000 parts that could not be searched. The list is complete after the last hit was read.
        unsearched: the number of all parts that could not be searched.
        undecoded: the number of payloads that were not decoded because their bytes can't contain the pattern. They were
            read to their end, but damage inside one of their objects is not in `unreadable`.
    """

    verb: ClassVar[str] = "grep"
    rows_field: ClassVar[str] = "hits"
    with_exit_code = False
    found = 0
    searched = 0
    damaged = False

    hits: Iterable[Hit | ThreadCount]
    unreadable: list[Unreadable] = field(default_factory=list)
    undecoded: int = 0
    unsearched: int = 0

    @property
    def exit_code(self) -> int:
        """3 if the database itself is damaged; 5 if nothing was found and something couldn't be read.

        1 if nothing was found and ``--exit-code`` was given; else 0.
        """
        if self.damaged:
            return 3
        if self.unsearched and not self.found:
            return 5
        return int(self.with_exit_code and not self.found)
