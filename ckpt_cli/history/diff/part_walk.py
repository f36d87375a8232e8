"""`Walk`: what all parts of a value share that are followed from checkpoint to checkpoint."""

from collections.abc import Callable
from typing import Any

from ckpt_cli.history.diff.equal_elements import When
from ckpt_cli.history.diff.part_kinds import Kind, kind_of
from ckpt_cli.history.diff.part_moments import ABSENT, Alternatives, Gone, Path
from ckpt_cli.values.same import same
from ckpt_cli.values.write_forms import is_kept, is_part_kept


class Walk:
    """The number of the checkpoint, and where to report parts that are gone."""

    def __init__(self, gone: list[Gone] | None, *, whole: bool) -> None:
        self.gone = gone
        self.whole = whole
        self.number = 0
        self.is_after_gap = False
        self.has_kept_version = False
        self.is_guessed = False
        self._grows_at: set[str] = set()

    @property
    def same_part(self) -> Callable[[Any, Any], bool]:
        """Says whether a part of the channel's value is the one at the checkpoint before, which may be a pickle."""
        return is_kept if self.has_kept_version else is_part_kept

    @property
    def same_whole(self) -> Callable[[Any, Any], bool]:
        """Says whether the whole value is; one that was written in another zone is another value."""
        return is_kept if self.has_kept_version else same

    def grew(self, end: str) -> None:
        """Note that a list grew at its ``beginning`` or ``end``, and not at the other one."""
        self._grows_at.add(end)

    def possible(self, others: Alternatives) -> Alternatives:
        """Without those that need a list to grow at its beginning, if it only ever grew at its end."""
        if not others or self._grows_at != {"end"}:
            return others
        return {number: other for number, other in others.items() if other.when is not When.PREPENDED}

    def kind(self, value: Any, steps: Path | None) -> Kind:
        """How a value is followed; `steps` is the rest of the path, None behind its end."""
        if value is ABSENT:
            return Kind.NOTHING
        if steps is None or (not steps and self.whole):
            return Kind.WHOLE
        return kind_of(value, steps)
