"""What ``ckpt show`` tells: one checkpoint whole."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ckpt_cli.views.base import View
from ckpt_cli.views.interrupts import InterruptView


class Link(NamedTuple):
    """Another checkpoint of the same namespace.

    Attributes:
        stored: false for a parent that is named but in no row.
    """

    checkpoint_id: str
    short: str
    step: int | None
    stored: bool = True


class Channel(NamedTuple):
    """One channel of a checkpoint.

    Attributes:
        value: null where the channel is empty.
        empty: it has a version and holds nothing.
        version: as stored, null where there is none.
        changed: its value is not the parent's.
        control: the graph's own, no part of the user's state.
        problem: why it can't be decoded, null where it can.
        note: how a value that is not stored here was found (a delta channel), null for others.
    """

    value: Any
    empty: bool
    version: int | float | str | None
    changed: bool
    control: bool
    problem: str | None = None
    note: str | None = None


class TaskLine(NamedTuple):
    """A task of the step that begins here.

    Attributes:
        node: null where it can't be known.
        status: ``finished``, ``waiting``, ``answered``, ``failed`` or ``due``.
        namespaces: the subgraphs it called.
        answers: those recorded that it has not taken yet.
    """

    id: str | None
    node: str | None
    status: str
    path: str
    error: Any
    interrupts: list[InterruptView]
    namespaces: list[str]
    answers: Sequence[Any] = ()


class Stored(NamedTuple):
    """A payload as it is in the database.

    Attributes:
        what: ``checkpoint``, ``metadata``, or ``channel NAME`` where channels are kept apart.
        tag: the serializer's type tag, "" where the schema has none.
        head: its first bytes, in hexadecimal.
    """

    what: str
    tag: str
    size: int
    head: str


@dataclass
class ShowView(View):
    """One checkpoint.

    Attributes:
        step: as recorded, null where it isn't.
        source: ``input``, ``loop``, ``update``, ``fork``; "" where not recorded.
        nodes: the nodes that made it, to their number of tasks, as far as known.
        time: when it was made (ISO 8601, UTC).
        format: the checkpoint format (`v`).
        parent: null for a first checkpoint.
        marks: ``head``, ``tip``, ``fork point``, ``branch:N`` for each it is on where there are
            several, or ``on N branches`` where it is on more than three.
        metadata: what else is in it beside source and step.
        metadata_problem: what of it can't be read; null if all can.
        given: what came in, still to be taken in by the step that begins here; null where nothing did.
        channels: by name; control channels only if asked for.
        hidden: control channels left out.
        next: the nodes still to run (all that ran where a child continues it); null where that can't be known.
        tasks: null where a checkpoint is only partly readable.
        consumed: a child continues it.
        config: what names this checkpoint in code.
        stored: with ``--raw``, the payloads.
        problem: what beside the channels can't be read, so that channels, versions and next are not all known; null if
            all can.
    """

    verb: ClassVar[str] = "show"
    full = False
    only_channels = False

    thread_id: str
    ns: str
    checkpoint_id: str
    short: str
    step: int | None
    source: str
    nodes: dict[str, int]
    time: str | None
    format: int
    parent: Link | None
    children: list[Link]
    marks: list[str]
    metadata: dict[str, Any]
    channels: Mapping[str, Channel]
    hidden: int
    next: list[str] | None
    tasks: list[TaskLine]
    consumed: bool
    config: dict[str, Any]
    stored: list[Stored]
    problem: str | None = None
    given: Channel | None = None
    metadata_problem: str | None = None
