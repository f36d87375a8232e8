"""Exports threads to a bundle: each is read in one moment, and all are in effect at once."""

from collections.abc import Iterable
from contextlib import closing
from functools import partial
from pathlib import Path

from ckpt_cli.errors import Refused
from ckpt_cli.savers.bundle.files import bundle_writer
from ckpt_cli.savers.bundle.saver import BundleSaver
from ckpt_cli.savers.bundle.thread_export import export_thread
from ckpt_cli.savers.bundle.writer import BundleWriter
from ckpt_cli.session import Session
from ckpt_cli.views.export import ExportLine, ExportView


def export_threads(
    session: Session, thread_ids: Iterable[str], path: Path, *, skip_refused: bool, dry_run: bool
) -> ExportView:
    """Add threads to a bundle; a dry run only reads.

    Raises:
        Refused: a thread can't be exported, and such threads aren't skipped; the bundle is what it was.
    """
    view = ExportView(str(path))
    if dry_run:
        _add_all(session, thread_ids, path, None, view, skip_refused=skip_refused)
        return view
    with bundle_writer(path) as writer:
        _add_all(session, thread_ids, path, writer, view, skip_refused=skip_refused)
    with closing(BundleSaver(path)) as bundle:
        about = bundle.about()
        view.size, view.checksum = about.size, about.facts["checksum"]
    return view


def _add_all(
    session: Session,
    thread_ids: Iterable[str],
    path: Path,
    writer: BundleWriter | None,
    view: ExportView,
    *,
    skip_refused: bool,
) -> None:
    old = BundleSaver(path) if path.exists() else None
    try:
        for thread_id in thread_ids:
            view.threads.append(_add(session, thread_id, writer, old, skip_refused=skip_refused))
            session.progress(f"export: {len(view.threads):,} threads")
    finally:
        if old is not None:
            old.close()


def _add(
    session: Session, thread_id: str, writer: BundleWriter | None, old: BundleSaver | None, *, skip_refused: bool
) -> ExportLine:
    saver = session.reader.saver
    try:
        return ExportLine(thread_id, *saver.moment(partial(export_thread, saver, thread_id, writer, old)))
    except Refused as error:
        if not skip_refused:
            hint = error.hint or "--skip-refused leaves such threads out"
            raise Refused(f"{error.reason}; nothing was written", hint=hint) from error
        return ExportLine(thread_id, refused=error.reason)
