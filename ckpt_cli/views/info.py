"""The view of ``ckpt info``: a database as a whole."""

from dataclasses import dataclass, field
from typing import ClassVar

from ckpt_cli.views.base import View
from ckpt_cli.views.side_effects import SideEffectLine


@dataclass
class InfoView(View):
    """A database as a whole.

    Attributes:
        backend: the engine, such as ``sqlite``.
        location: path or URL without credentials.
        generation: the generation of the schema, in words.
        layout: the short name of that generation.
        size: bytes on disk; null if unknown.
        facts: other facts that the engine reports, from label to text.
        unwritable: why this user can't change the database; null if reading showed no reason.
        abilities: what ckpt can do with the database: ``write``, ``atomic``, ``branches``, ``task_paths``.
        oldest: the time of the first checkpoint (ISO 8601, UTC); null if its id contains no time.
        newest: the time of the last checkpoint; null if its id contains no time.
        sampled: the number of checkpoints that were read for the following fields. These are the first and the last
            checkpoints of some threads, spread evenly over the most recently active threads.
        eras: the LangGraph releases that write such checkpoints, each with its number of sampled checkpoints.
        encodings: the type tags, each with its number of sampled payloads (checkpoints and small writes).
        formats: the checkpoint formats (`v`), each with its number of sampled checkpoints.
        locked: the number of sampled checkpoints that can't be read without the key.
        corrupt: the number of sampled checkpoints that can't be read for another reason.
        side_effects: triggers, rules and foreign keys that act when ckpt changes rows.
        caveats: sentences about things that this user can't see or that the database can't do.
        reducers: channel to the reducer that the user has named for this database with ``--remember``.
        key: ``fits``, ``wrong`` or ``missing`` if something is encrypted; else null.
    """

    verb: ClassVar[str] = "info"

    backend: str
    location: str
    generation: str
    layout: str
    size: int | None
    facts: dict[str, str]
    abilities: list[str]
    threads: int
    checkpoints: int
    writes: int
    oldest: str | None
    newest: str | None
    sampled: int = 0
    eras: dict[str, int] = field(default_factory=dict)
    encodings: dict[str, int] = field(default_factory=dict)
    formats: dict[str, int] = field(default_factory=dict)
    locked: int = 0
    corrupt: int = 0
    key: str | None = None
    unwritable: str | None = None
    side_effects: list[SideEffectLine] = field(default_factory=list)
    caveats: list[str] = field(default_factory=list)
    reducers: dict[str, str] = field(default_factory=dict)
