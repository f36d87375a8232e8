"""What ``ckpt info`` tells of a database."""

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
        size: bytes on disk, null where unknown.
        facts: what else the engine knows, label to text.
        unwritable: why nothing can be changed there by this user, null where reading tells nothing against it.
        abilities: what ckpt can do with it: ``write``, ``atomic``, ``branches``, ``task_paths``.
        oldest: when the first checkpoint was made (ISO 8601, UTC), null where ids don't tell.
        newest: when the last one was made.
        sampled: how many checkpoints were read for what follows: the first and the last of some threads, spread evenly
            over the most recently active ones.
        eras: the LangGraph releases that write such checkpoints, to how many of the sampled ones are theirs.
        encodings: type tag to how many of the sampled payloads (checkpoints and small writes) bear it.
        formats: checkpoint format (`v`) to sampled checkpoints.
        locked: sampled checkpoints that can't be read without the key.
        corrupt: sampled checkpoints that can't be read for another reason.
        side_effects: triggers, rules and foreign keys that do more when ckpt changes rows.
        caveats: what this user can't see, or the database won't do, a sentence each.
        key: where something is encrypted, whether the key ``fits``, is ``wrong`` or ``missing``; null where nothing is.
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
