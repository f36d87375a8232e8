"""The title of a thread whose state has no message, from the input of its first checkpoint."""

from ckpt_cli.errors import PayloadCorrupt
from ckpt_cli.history.state import titles
from ckpt_cli.history.tasks.step_changes import ChangeKind
from ckpt_cli.model import Ref
from ckpt_cli.output.text.brief import brief
from ckpt_cli.queries.step_lines import StepLines
from ckpt_cli.reading import Reader

_INPUT_BYTES = 65536  # a first checkpoint with more bytes isn't read for a title
_TITLE = 120  # a title that is made of an input without text has at most this many terminal cells


def title_of_input(reader: Reader, first: Ref) -> str:
    """The first text of the input that the thread's first checkpoint took in; else the input in short."""
    all_changes = StepLines(reader, first.thread_id, first.ns).changes(first.checkpoint_id)
    changes = [change for change in all_changes if change.kind not in (ChangeKind.UNREAD, ChangeKind.UNREADABLE)]
    title = titles.from_changes(changes) or _from_raw_input(reader, first)
    return title or (brief({change.channel: change.after for change in changes}, _TITLE) if changes else "")


def _from_raw_input(reader: Reader, ref: Ref) -> str:
    """A title from the raw input, which is only stored in the first checkpoint."""
    row = reader.saver.row(ref)
    if row is None or (row.size or 0) > _INPUT_BYTES:
        return ""
    try:
        values = reader.state(ref).values
    except PayloadCorrupt:
        return ""
    value = values.get("__start__")
    return titles.from_input(value) or ("" if value in (None, {}, []) else brief(value, _TITLE))
