"""The view of ``ckpt diff``: the differences between two checkpoints."""

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from ckpt_cli.values.difference import Difference
from ckpt_cli.views.base import Json, View


class End(NamedTuple):
    """One side of a comparison.

    Attributes:
        checkpoint_id: null for the empty state before a first checkpoint.
        database: with ``--other``, the database that it is in; else null.
    """

    thread_id: str
    ns: str
    checkpoint_id: str | None
    short: str
    step: int | None
    database: str | None = None


@dataclass
class DiffView(View):
    """Two checkpoints side by side.

    Attributes:
        equal: whether everything that was compared is equal.
        channels: one difference for each channel that isn't equal.
        same: the number of equal channels.
        meta: with ``--meta``, the differences of metadata, versions and versions_seen.
        patch: an RFC 6902 patch that turns the older state into the newer one. A state is an object of channels, with
            values in the typed JSON form of ``show --json``. Secrets are masked unless ``--reveal`` is given.
        notes: why values of the differing channels aren't proven: rebuilt, and larger than all that show how; or in a
            redacted bundle, where equal ones may have differed.
    """

    verb: ClassVar[str] = "diff"
    full = False
    stat = False
    with_exit_code = False

    before: End
    after: End
    equal: bool
    channels: list[Difference]
    same: int
    meta: list[Difference] = field(default_factory=list)
    patch: Json = field(default_factory=lambda: Json([]))
    notes: list[str] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """1 if something differs and ``--exit-code`` was given, else 0."""
        return int(self.with_exit_code and not self.equal)
