"""The threads that a selector chooses, found in one moment; remarks on those that are undecided."""

from itertools import islice

from ckpt_cli.parameters.selector import ThreadSelection
from ckpt_cli.queries.metadata_filter import UnreadMetadata
from ckpt_cli.queries.selected_threads import note_absent_key, selected_threads
from ckpt_cli.queries.thread_pages import Heads
from ckpt_cli.reading import Reader


def selected_heads(reader: Reader, chosen: ThreadSelection, limit: int | None = None) -> tuple[Heads, list[str]]:
    """The chosen threads, at most `limit`, and remarks about those that ``--where`` may have missed.

    Raises:
        UsageError: ``--where`` fails on every thread.
    """
    unread = UnreadMetadata()
    heads = Heads(islice(selected_threads(reader, chosen, unread), limit))
    complaint: str | None = None
    if chosen.where is not None:
        if not len(heads):
            note_absent_key(reader, chosen)
        if not unread.problems:
            chosen.where.must_have_worked()
        complaint = chosen.where.complaint
    return heads, [remark for remark in (complaint, unread.note) if remark]
