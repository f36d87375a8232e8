"""Makes bundles of records, and reads them whole."""

from collections.abc import Iterable, Mapping
from itertools import groupby
from pathlib import Path

from ckpt_cli.conformance.samples import everything
from ckpt_cli.model import Checkpoint, Record, Write
from ckpt_cli.savers.about import RecordFormat
from ckpt_cli.savers.bundle import open_path
from ckpt_cli.savers.bundle.files import bundle_writer
from ckpt_cli.savers.bundle.index import Origin
from ckpt_cli.savers.bundle.writer import BundleWriter

ORIGIN = Origin("SQLite", "made by a test", "E", RecordFormat())


def thread_of(record: Record) -> str:
    """The thread of a record."""
    return record.row.thread_id if isinstance(record, Checkpoint) else record.thread_id


def add(writer: BundleWriter, records: Iterable[Checkpoint | Write], origin: Origin = ORIGIN) -> None:
    """Add records to a bundle; those of one name replace each other."""
    for thread_id, some in by_thread(records).items():
        writer.begin(thread_id, origin)
        for record in some:
            writer.add(record)
        writer.end()


def by_thread(records: Iterable[Checkpoint | Write]) -> Mapping[str, list[Record]]:
    """The records of each thread."""
    ordered = sorted(records, key=thread_of)
    return {thread_id: [*some] for thread_id, some in groupby(ordered, key=thread_of)}


def make_bundle(path: Path, records: Iterable[Checkpoint | Write], origin: Origin = ORIGIN) -> Path:
    """Add these records to a bundle, which is made if there is none."""
    with bundle_writer(path) as writer:
        add(writer, records, origin)
    return path


def contents(path: Path) -> object:
    """Everything in a bundle."""
    saver = open_path(path)
    try:
        return everything(saver)
    finally:
        saver.close()
