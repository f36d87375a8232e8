"""What is read of each checkpoint of a line besides the channel's value (``blame``)."""

from collections.abc import Sequence
from typing import NamedTuple

from ckpt_cli.history.diff.part_moments import ABSENT
from ckpt_cli.history.tasks.metadata_notes import Note
from ckpt_cli.queries.channel_line import Reading
from ckpt_cli.values.state import Version


class Moment(NamedTuple):
    """What was read of one checkpoint of the line besides the value.

    Attributes:
        note: all that the metadata says; None if it wasn't read whole, or is long.
        version: the channel's version.
        run_id, ran: see `Reading`.
        turn: the number of inputs up to here; None if it isn't known.
        has_value: whether the channel holds a value.
        unknown_before: why the value at the checkpoint before isn't known; "" if it is.
    """

    note: Note | None
    version: Version | None
    run_id: str | None
    ran: Sequence[str] | None
    turn: int | None
    has_value: bool
    unknown_before: str

    def has_version_of(self, before: "Moment") -> bool:
        """Whether the channel has the same version here."""
        return self.version is not None and self.version == before.version


class Moments:
    """Collects the `Moment` of each checkpoint of a line, without the values."""

    def __init__(self) -> None:
        self.all: list[Moment] = []
        self._last: Reading | None = None
        self._inputs: int | None = 0

    def add(self, reading: Reading, *, is_root: bool) -> None:
        """Add the next checkpoint; `is_root` says that no checkpoint was before the first one."""
        last, self._last = self._last, reading._replace(value=None)
        if self._inputs is not None and self._is_known(reading, last, is_root=is_root):
            self._inputs += reading.note.source == "input"
        else:
            self._inputs = None
        is_whole = reading.is_note_whole and reading.note.outputs is None  # outputs may be long, and are read again
        run_id = reading.run_id
        if self.all and self.all[-1].run_id == run_id:
            run_id = self.all[-1].run_id  # the same object for all checkpoints of a run
        ran = None if reading.ran is None else tuple(reading.ran)
        problem = last.problem if last is not None else ""
        note, has_value = reading.note if is_whole else None, reading.value is not ABSENT
        self.all.append(Moment(note, reading.version, run_id, ran, self._inputs, has_value, problem))

    def _is_known(self, reading: Reading, last: Reading | None, *, is_root: bool) -> bool:
        """Whether no input is missing between this checkpoint and the last one."""
        step, source = reading.note.step, reading.note.source
        if not source:
            return False
        if last is None:
            return is_root and source != "loop" and (step is None or step < 1)  # a loop's step comes after an input
        is_run = source in ("loop", "input")
        return not is_run or step is None or last.note.step is None or step <= last.note.step + 1
