"""Imports threads from a bundle: the same as a copy, under other ids if a person gives some."""

from collections.abc import Iterable, Mapping, Sequence

from ckpt_cli.copying.renamed_threads import RenamedThreads
from ckpt_cli.errors import NotFound, Refused, UsageError
from ckpt_cli.model import Row, RowChange
from ckpt_cli.queries.thread_copies import CopyOptions, Kept, copy_threads
from ckpt_cli.reading import Reader
from ckpt_cli.savers.bundle.packed import FindRow, PackedThreads
from ckpt_cli.savers.bundle.thread_export import home_of
from ckpt_cli.savers.contract import Saver
from ckpt_cli.session import Session
from ckpt_cli.views.bulk import BulkView


def must_be_bundle(source: Session) -> None:
    """Refuse a database that isn't a bundle.

    Raises:
        UsageError: the hint names the command that copies from a database.
    """
    saver = source.reader.saver
    if saver.name != "bundle":
        what = f"{saver.about().location} is no bundle"
        raise UsageError(what, hint="`ckpt copy FROM TO` copies from any database")


def import_threads(
    source: Session, target: Session, thread_ids: Sequence[str], renames: Iterable[str], *, skip_refused: bool
) -> BulkView:
    """Add what the target lacks of these threads of a bundle.

    Args:
        source: the bundle.
        target: gets the threads.
        thread_ids: the threads, by their ids in the bundle.
        renames: texts like ``OLD=NEW``.
        skip_refused: import the others if some threads can't be imported.

    Raises:
        UsageError: a rename can't be understood, or gives two threads the same id.
        NotFound: a thread to rename isn't among the selected ones.
        Failed: an imported thread isn't what it is in the bundle.
    """
    names = _parse(renames, thread_ids)
    reader = source.reader
    renamed = Reader(RenamedThreads(reader.saver, names, reader.codec), reader.codec, source.clock)
    origin = Session(source.database, source.key_env, source.clock, source.say, source.progress, _reader=renamed)
    ids = [names.get(one, one) for one in thread_ids]
    if len(set(ids)) < len(ids):
        raise UsageError("two threads would have the same id; nothing was written")
    return copy_threads(
        origin,
        target,
        ids,
        CopyOptions(skip_refused),
        verb="import",
        must_fit=_must_be_the_same_history,
        kept=_rows_of(reader.saver, target, names),
    )


def _rows_of(bundle: Saver, target: Session, names: Mapping[str, str]) -> Kept | None:
    """Gives the rows of a thread that the bundle took out of this very database.

    Such a row has columns that an application added, too. A thread under another id has none.
    """
    if not isinstance(bundle, PackedThreads):
        return None
    home, tables = home_of(target.reader.saver), dict[str, FindRow]()

    def kept(thread_id: str, change: RowChange) -> Row | None:
        if thread_id in names.values():
            return None
        if thread_id not in tables:
            tables.clear()
            tables[thread_id] = bundle.row_table(thread_id)
        return next((row for where, row in tables[thread_id].find(change.relation, change.key) if where == home), None)

    return kept


def _parse(renames: Iterable[str], thread_ids: Sequence[str]) -> dict[str, str]:
    """Old id to new id. An id may contain ``=``, so the selected threads decide where OLD ends."""
    names = dict[str, str]()
    for text in renames:
        at = [place for place, char in enumerate(text) if char == "=" and text[:place] in thread_ids]
        if not at:
            old = text.partition("=")[0]
            if "=" not in text or not old:
                raise UsageError(f"--rename {text}: it is not OLD=NEW")
            raise NotFound(f"--rename {text}: no thread {old!r} is selected; nothing was written")
        if len(at) > 1:
            raise UsageError(f"--rename {text} can be read in {len(at)} ways")
        old, new = text[: at[0]], text[at[0] + 1 :]
        if not new or old in names:
            raise UsageError(f"--rename {text}: {'the new id is empty' if not new else f'{old!r} is there twice'}")
        names[old] = new
    return names


def _must_be_the_same_history(source: Saver, target: Saver, thread_id: str) -> None:
    """Refuse to mix two histories: of a thread that the target has, one must continue what the other has.

    Raises:
        Refused: they share neither a checkpoint nor a parent.
    """
    there = list(target.rows(thread_id))
    if not there:
        return
    here = list(source.rows(thread_id))
    ids = [
        {(row.ns, one) for row in rows for one in (row.checkpoint_id, row.parent_id) if one} for rows in (there, here)
    ]
    if ids[0].isdisjoint(ids[1]):
        what = f"the database has a thread {thread_id!r} with another history"
        raise Refused(what, hint="--rename OLD=NEW gives the imported one another id")
