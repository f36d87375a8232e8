"""Gives the same name to a checkpoint of each of many threads: ``ckpt tag --name NAME --at REV``."""

from collections.abc import Callable

from ckpt_cli.errors import Refused
from ckpt_cli.model import CheckpointRow, Ref, Thread
from ckpt_cli.operations import tags
from ckpt_cli.operations.witnesses import WITNESSES, read_digests
from ckpt_cli.parameters.target import Target
from ckpt_cli.queries.thread_plans import resolve_in_each, selected
from ckpt_cli.reading import Reader
from ckpt_cli.savers.about import Ability
from ckpt_cli.savers.paging import pages
from ckpt_cli.session import Session

_AT_ONCE = 50  # threads that are read in one moment


def tag_many(session: Session, target: Target, name: str, *, move: bool) -> tuple[list[tags.Tag], dict[str, str]]:
    """Tag a checkpoint in each selected thread, in one transaction of the log.

    Args:
        session: the command's session.
        target: the threads, and the revision in each.
        name: the name.
        move: True allows taking the name from another checkpoint of a thread.

    Returns:
        The new tags, and the threads that were left alone with the reasons (only with ``--skip-refused``).

    Raises:
        UsageError: the text can't be a tag.
        Refused: some threads can't be tagged; no tag was added.
    """
    tags.must_be_a_name(name)
    log, at = session.logs.for_writing(), session.clock()
    old = tags.read_named(log, name)
    added: list[tags.Tag] = []
    refused: dict[str, str] = {}
    for page in pages(selected(session, target), _AT_ONCE):
        for thread, row in session.read(_on(page, target)):
            other = None if isinstance(row, str) else old.get((row.thread_id, row.ns))
            if isinstance(row, str):
                refused[thread.thread_id] = row
            elif other not in (None, row.ref) and not move:
                refused[thread.thread_id] = f"tag {name!r} is on {other.checkpoint_id if other else ''} already"
            else:
                added.append(tags.Tag(name, row.ref, at))
        session.progress(f"tag: {len(added) + len(refused):,} threads")
    session.progress("")
    if refused and not target.skip_refused:
        reasons = [f"{thread_id}: {reason}" for thread_id, reason in refused.items()]
        what = f"{len(refused):,} of {len(refused) + len(added):,} threads can't be tagged; no tag was added"
        raise Refused(what, hint="--skip-refused tags the others; --force moves names", candidates=reasons)
    if added:
        tags.add_all(log, added, witnesses=_witnesses(session, added), place=session.reader.saver.place())
    return added, refused


def _on(page: list[Thread], target: Target) -> Callable[[Reader], list[tuple[Thread, CheckpointRow | str]]]:
    return lambda reader: [(thread, resolve_in_each(reader, thread.thread_id, target)) for thread in page]


def _witnesses(session: Session, added: list[tags.Tag]) -> dict[Ref, bytes]:
    """Digests of the first of the tagged checkpoints; none of a shallow saver, which overwrites its only one."""
    refs = [tag.ref for tag in added[:WITNESSES]]
    saver = session.reader.saver
    return session.read(lambda _: read_digests(saver, refs)) if Ability.BRANCHES in saver.abilities else {}
