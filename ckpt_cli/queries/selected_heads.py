"""The threads that a selector chooses, found in one moment; remarks on those that are undecided."""

from collections.abc import Sequence
from itertools import islice

from ckpt_cli.errors import ThreadNotFound
from ckpt_cli.parameters.selector import ThreadSelection
from ckpt_cli.queries.metadata_filter import UnreadThreads
from ckpt_cli.queries.selected_threads import note_absent_key, selected_threads
from ckpt_cli.queries.thread_pages import Heads
from ckpt_cli.reading import Reader
from ckpt_cli.values.counts import count_text

_NAMED = 5  # missing threads


def selected_heads(
    reader: Reader, chosen: ThreadSelection, limit: int | None = None, *, skip_missing: bool | None = None
) -> tuple[Heads, list[str]]:
    """The chosen threads, at most `limit`, and remarks about those that ``--where`` may have missed.

    With `skip_missing`, a remark names the threads that don't exist; None if the command has no ``--skip-refused``.

    Raises:
        ThreadNotFound: a named thread doesn't exist.
        UsageError: ``--where`` fails on every thread.
    """
    unread, missing = UnreadThreads(), list[str]()
    threads = selected_threads(reader, chosen, unread, missing=missing if skip_missing else None)
    try:
        heads = Heads(islice(threads, limit))
    except ThreadNotFound as error:
        if skip_missing is not False or len(chosen.named or ()) < 2:
            raise
        hint = f"{error.hint}; --skip-refused leaves out threads that don't exist"
        raise ThreadNotFound(error.message, hint=hint, candidates=error.candidates) from error
    complaint: str | None = None
    if chosen.where is not None:
        if not len(heads):
            note_absent_key(reader, chosen)
        if not unread.problems:
            chosen.where.must_have_worked()
        complaint = chosen.where.complaint
    return heads, [remark for remark in (complaint, unread.note, _note_missing(missing)) if remark]


def _note_missing(missing: Sequence[str]) -> str:
    names = ", ".join([*map(repr, missing[:_NAMED]), *(["…"] if len(missing) > _NAMED else [])])
    return f"{count_text(len(missing), 'thread')} left out, as there is none with this id: {names}" if missing else ""
