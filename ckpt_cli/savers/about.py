"""What savers declare: abilities, how LangGraph writes records today, place, totals, side effects.

Nothing here reads or writes.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from ckpt_cli.savers.selection import FilterKind


class Ability(StrEnum):
    """Something that not every saver can do. A saver declares its abilities; they are never found by trying."""

    WRITE = "write"
    """`Saver.transaction` works on this database."""
    ATOMIC = "atomic"
    """A plan is applied in one transaction; without this ability in steps, which the operation log can take back."""
    MOMENT = "moment"
    """All reads of a command see one moment; without this ability, an application may write between two reads."""
    SKIPS = "skips"
    """Threads are listed by jumps in an index, without a scan of all checkpoints."""
    BRANCHES = "branches"
    """Each checkpoint has its parent. Without this ability (shallow tables), a thread has no history."""
    TASK_PATHS = "task_paths"
    """Its writes name the task's path, which contains the node's name."""


def ability_set(has: Mapping[Ability, bool]) -> frozenset[Ability]:
    """The abilities whose value is true."""
    return frozenset(ability for ability, is_there in has.items() if is_there)


class RecordFormat(NamedTuple):
    """How LangGraph's own saver writes records to a database today; records that ckpt adds look the same.

    Attributes:
        apart: whether each channel's value is a payload of its own, except those in the header (`inline`).
        inline: whether values that are None, text or numbers are in the header.
        marks_snapshots: whether the header has ``true`` for a delta channel whose snapshot is stored apart.
        versions: ``text`` (32 digits, a dot and a random fraction) or ``int``.
        metadata: type tag of metadata payloads.
        body: type tag of a whole body or of a header; "" for the tag that the application's serializer gives.
        filter: how the saver's ``list`` compares metadata with a filter.
        none_seeds: whether a None in the header is the stored value of a delta channel, from which it is rebuilt.
    """

    apart: bool = False
    inline: bool = False
    marks_snapshots: bool = False
    versions: str = "text"
    metadata: str = "json"
    body: str = ""
    filter: FilterKind = FilterKind.EQUAL
    none_seeds: bool = True

    @property
    def outlasting(self) -> bool:
        """Whether a value may be read though the run's graph had no such channel, as where its version names it.

        How an application's own saver stores values isn't known.
        """
        return self.apart or self.filter is FilterKind.OWN


Form = RecordFormat
"""The earlier name of `RecordFormat`."""


class About(NamedTuple):
    """A description of a database, made from its schema alone.

    Attributes:
        location: path or URL without credentials.
        generation: the schema generation in words (``checkpoint-sqlite 3.1.2 or newer (task_path)``).
        layout: the generation's short name: a letter from ``A`` to ``H``, or the saver's own word.
        facts: more facts about the engine: texts by label (``journal mode``, ``page size``, ``other tables``).
        size: bytes on disk; None if unknown.
    """

    backend: str
    location: str
    generation: str
    layout: str
    facts: Mapping[str, str]
    size: int | None = None


class Place(NamedTuple):
    """Where a database is, so that it can be found again. Equal places don't prove that it is the same database.

    Attributes:
        address: `Saver.identity`.
        engine: an id that the engine stores with the data, so that a clone of the files has it too; "" for none.
        instance: an id that a running server has at all of its addresses, and that a clone of it doesn't have; "" for
            none.
    """

    address: str
    engine: str = ""
    instance: str = ""

    @property
    def mark(self) -> str:
        """The id that finds this database at another address; "" for none."""
        return self.engine or self.instance


class Totals(NamedTuple):
    """The counts of a whole database; counting reads the index once, never the values.

    Attributes:
        oldest: the lowest checkpoint id of all.
        newest: the highest one.
    """

    threads: int
    checkpoints: int
    writes: int
    oldest: str | None = None
    newest: str | None = None


class SideEffect(NamedTuple):
    """Something a database does by itself when ckpt changes rows. It is not planned, not logged and not undone.

    Attributes:
        kind: ``trigger``, ``rule`` or ``foreign key``.
        name: its name in the database.
        table: the table it is defined on.
        relation: the LangGraph table; a change of its rows starts the side effect.
        on: the kinds of change that start it: ``add``, ``change``, ``remove``.
        definition: a hash of its whole definition, so that an altered trigger counts as another one.
    """

    kind: str
    name: str
    table: str
    relation: str
    on: frozenset[str]
    definition: str
