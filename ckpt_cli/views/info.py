"""The view of ``ckpt info``: a database as a whole."""

from dataclasses import dataclass, field
from typing import ClassVar

from ckpt_cli.views.base import View
from ckpt_cli.views.side_effects import SideEffectLine


@dataclass
class InfoView(View):
    """A database as a whole.

    Attributes:
        backend: the engine, ``sqlite``.
        location: path or URL without credentials.
        generation: the schema generation in words.
        layout: its short name.
        size: bytes on disk, null if unknown.
        facts: what else the engine reports, label to text.
        unwritable: why this user can't change anything there; null if no reason was seen by reading.
        abilities: what ckpt can do with it: ``write``, ``atomic``, ``branches``, ``task_paths``.
        oldest: when the first checkpoint was made (ISO 8601, UTC), null if its id holds no time.
        newest: when the last one was made.
        sampled: how many checkpoints were read for the following fields: the first and the last of some threads, spread
            evenly over the most recently active ones.
        eras: the LangGraph releases that write such checkpoints, to the number of sampled checkpoints.
        encodings: type tags, to the number of sampled payloads (checkpoints and small writes).
        formats: checkpoint formats (`v`), to the number of sampled checkpoints.
        locked: sampled checkpoints that can't be read without the key.
        corrupt: sampled checkpoints that can't be read for another reason.
        side_effects: triggers, rules and foreign keys that act when ckpt changes rows.
        caveats: what this user can't see or the database can't do, one sentence each.
        key: if something is encrypted, whether the key ``fits``, is ``wrong`` or ``missing``; else null.
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
