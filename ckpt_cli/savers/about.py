"""What a database is and can do, as its saver declares it: nothing here reads or writes."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple


class Ability(StrEnum):
    """What a saver may or may not be able to do; declared, never probed."""

    WRITE = "write"
    """`Saver.transaction` works on this database."""
    ATOMIC = "atomic"
    """A plan is applied in one transaction; elsewhere in steps that the operation log finishes or takes back."""
    MOMENT = "moment"
    """All that one command reads belongs to one moment; elsewhere an application may write between two reads."""
    SKIPS = "skips"
    """Threads are listed without a scan of all checkpoints."""
    BRANCHES = "branches"
    """It keeps parents; a shallow or headless layout has one checkpoint a thread and no history."""
    TASK_PATHS = "task_paths"
    """Its writes name the task's path, and so the node."""


def able(has: Mapping[Ability, bool]) -> frozenset[Ability]:
    """Those that a database has."""
    return frozenset(ability for ability, there in has.items() if there)


class Form(NamedTuple):
    """How a database keeps the records that its own LangGraph saver writes now; who adds records follows it.

    Attributes:
        apart: each channel's value is a payload of its own, but for those that stand in the header (`inline`).
        inline: None, text and numbers stand in the header.
        marks_snapshots: a delta channel's snapshot, kept apart, leaves ``true`` in the header.
        versions: ``text`` (32 digits, a dot and a random fraction) or ``int``.
        metadata: type tag of metadata payloads.
        body: type tag of a whole body or of a header; "" is whatever the application's serializer makes.
    """

    apart: bool = False
    inline: bool = False
    marks_snapshots: bool = False
    versions: str = "text"
    metadata: str = "json"
    body: str = ""


class About(NamedTuple):
    """What a database is, by its schema alone.

    Attributes:
        location: path or URL without credentials.
        generation: the schema generation in words (``checkpoint-sqlite 3.1.2 or newer (task_path)``).
        layout: the generation's short name in LEGACY terms (``A`` … ``H``) or the saver's own.
        facts: further engine facts, label to text (``journal mode``, ``page size``, ``other tables``).
        size: bytes on disk, where known.
    """

    backend: str
    location: str
    generation: str
    layout: str
    facts: Mapping[str, str]
    size: int | None = None


class Place(NamedTuple):
    """Where a database is: what helps to find it again; none of it proves that it is the same one.

    Attributes:
        address: `Saver.identity`.
        engine: an id that the engine keeps with the database and a clone of its files shares; "" where it has none.
        instance: what is the same for every address of one running server and not the same for a clone of it; "" where
            nothing is.
    """

    address: str
    engine: str = ""
    instance: str = ""

    @property
    def mark(self) -> str:
        """What finds this database at another address; "" where nothing does."""
        return self.engine or self.instance


class Totals(NamedTuple):
    """What was counted; a full count reads the index once, never the values.

    Attributes:
        oldest: the lowest checkpoint id of all.
        newest: the highest.
    """

    threads: int
    checkpoints: int
    writes: int
    oldest: str | None = None
    newest: str | None = None


class SideEffect(NamedTuple):
    """What the database does by itself when ckpt changes rows: more than a plan says, not logged and not undone.

    Attributes:
        kind: ``trigger``, ``rule`` or ``foreign key``.
        name: its name in the database.
        table: the table it is defined on.
        relation: the table of LangGraph's whose rows set it off.
        on: what is done to a row then: ``add``, ``change``, ``remove``.
        definition: a hash of all that it says, so that an altered one is another.
    """

    kind: str
    name: str
    table: str
    relation: str
    on: frozenset[str]
    definition: str
