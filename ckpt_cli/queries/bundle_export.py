"""Exports threads to a bundle: each is read in one moment, and all are in effect at once."""

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ckpt_cli.errors import Refused
from ckpt_cli.model import RowChange
from ckpt_cli.parameters.redaction import RedactionOptions
from ckpt_cli.savers.bundle.files import bundle_writer, must_be_redacted_alike
from ckpt_cli.savers.bundle.index import Redaction
from ckpt_cli.savers.bundle.packed import PackedThreads
from ckpt_cli.savers.bundle.saver import BundleSaver
from ckpt_cli.savers.bundle.thread_export import export_thread
from ckpt_cli.savers.bundle.writer import BundleWriter
from ckpt_cli.session import Session
from ckpt_cli.views.export import ExportLine, ExportView

if TYPE_CHECKING:
    from ckpt_cli.queries.redaction import ThreadRedaction


RowsOf = Callable[[str], Callable[[], Iterable[RowChange]]]


@dataclass
class _Job:
    """An export: from where, how, and to which file."""

    session: Session
    path: Path
    skip_refused: bool
    view: ExportView
    redaction: "ThreadRedaction | None" = None
    mark: Redaction | None = None
    rows: RowsOf | None = None


def export_threads(
    session: Session,
    thread_ids: Iterable[str],
    path: Path,
    *,
    skip_refused: bool,
    dry_run: bool,
    redact: RedactionOptions | None = None,
    rows: RowsOf | None = None,
) -> ExportView:
    """Add threads to a bundle; a dry run only reads. `rows` gives the rows of a thread, for the bundle too.

    Raises:
        Refused: a thread can't be exported, and such threads aren't skipped; the bundle is what it was.
        PathNotFound: a path that is redacted leads nowhere; the bundle is what it was.
    """
    job = _Job(session, path, skip_refused, ExportView(str(path)), rows=rows)
    job.mark = source = _redaction_of(session)
    if redact:
        from ckpt_cli.queries.redaction import ThreadRedaction

        job.redaction = ThreadRedaction(redact, session.reader.codec, source)
        job.mark = job.redaction.mark
    with job.redaction.running() if job.redaction else nullcontext():
        if dry_run:
            _add_all(job, thread_ids, None)
            return job.view
        with bundle_writer(path, job.mark) as writer:
            _add_all(job, thread_ids, writer)
    job.view.size, job.view.checksum = writer.size, writer.checksum.hex()
    return job.view


def _redaction_of(session: Session) -> Redaction | None:
    """What the records of the database lack already; None unless it is a redacted bundle."""
    saver = session.reader.saver
    return saver.redaction if isinstance(saver, PackedThreads) else None


def _add_all(job: _Job, thread_ids: Iterable[str], writer: BundleWriter | None) -> None:
    view, ids = job.view, dict[str, str]()
    old = BundleSaver(job.path) if job.path.exists() else None
    try:
        if old is not None:
            must_be_redacted_alike(old.redaction, job.mark)
        for thread_id in thread_ids:
            line = _add(job, thread_id, writer, old)
            own_id = line.renamed or thread_id
            if job.redaction and not line.refused and ids.setdefault(own_id, thread_id) != thread_id:
                raise Refused("two threads have the same id once they are redacted; nothing was written")
            view.threads.append(line)
            job.session.progress(f"export: {len(view.threads):,} threads")
    finally:
        if old is not None:
            old.close()
    if job.redaction is not None:
        job.redaction.must_have_matched()
        view.redaction = job.redaction.report()


def _add(job: _Job, thread_id: str, writer: BundleWriter | None, old: BundleSaver | None) -> ExportLine:
    saver, redaction = job.session.reader.saver, job.redaction
    records = None if redaction is None else redaction.records
    rows = job.rows(thread_id) if job.rows else tuple
    try:
        added = saver.moment(partial(export_thread, saver, thread_id, writer, old, records, rows))
    except Refused as error:
        if not job.skip_refused:
            hint = error.hint or "--skip-refused leaves such threads out"
            raise Refused(f"{error.reason}; nothing was written", hint=hint) from error
        return ExportLine(thread_id, refused=error.reason)
    if redaction is not None:
        redaction.count()
    renamed = "" if added.thread_id == thread_id else added.thread_id
    return ExportLine(thread_id, added.checkpoints, added.writes, added.bytes, renamed=renamed)
