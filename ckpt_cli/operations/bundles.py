"""`Bundles`: reads rows for the log whose image only a bundle has; a bundle that is gone or another one."""

import json
from collections.abc import Iterable, Iterator, Set
from pathlib import Path
from typing import NamedTuple

from ckpt_cli.errors import DatabaseDamaged, DatabaseUnreachable, Refused
from ckpt_cli.model import Plan, Ref, Row, RowChange
from ckpt_cli.operations.row_images import BUNDLED, BundledRow, digest
from ckpt_cli.savers.bundle.reader import BundleReader
from ckpt_cli.savers.bundle.rows import RowTable
from ckpt_cli.savers.bundle.saver import BundleSaver
from ckpt_cli.savers.bundle.thread_export import export_thread
from ckpt_cli.savers.contract import Saver


def bundled(changes: Iterable[RowChange], bundle: BundleSaver, path: Path, thread_id: str) -> Iterator[RowChange]:
    """These changes of a thread; the log will keep where their before-images are in the bundle, and no image.

    Raises:
        Refused: the bundle doesn't have a row as it is now.
    """
    place = [str(path.resolve()), bundle.about().facts["checksum"], thread_id]
    reference, table = BUNDLED + json.dumps(place).encode(), bundle.row_table(thread_id)
    for change in changes:
        if change.before is None:
            yield change
            continue
        now = digest(change.before)
        if all(digest(row) != now for _, row in table.find(change.relation, change.key)):
            raise Refused(f"thread {thread_id!r} changed since it was packed in {path}")
        row = BundledRow(change.before)
        row.reference = reference
        yield change._replace(before=row)


class Packed(NamedTuple):
    """Gives the rows of plans as the log keeps them if a bundle has them: where they are, and no image.

    Attributes:
        saver: the database.
        bundle: the open bundle; None if nothing was packed.
        path: where it is.
        is_preview: whether nothing will be written, so that nothing needs to be packed.
    """

    saver: Saver
    bundle: BundleSaver | None
    path: Path
    is_preview: bool = False

    def expand(self, plan: Plan) -> Iterator[RowChange]:
        """The row changes of a plan for one thread.

        Raises:
            Refused: the bundle doesn't have a row as it is now.
        """
        if self.bundle is not None:
            yield from bundled(self.saver.expand(plan), self.bundle, self.path, plan.basis[0].ref.thread_id)
            return
        if not self.is_preview:
            raise Refused(f"nothing was packed in {self.path}; nothing was written", hint="run the command again")
        for change in self.saver.expand(plan):
            yield change if change.before is None else change._replace(before=BundledRow(change.before))

    def lacks(self, thread_id: str, only: Set[Ref] | None = None) -> bool:
        """Whether the bundle doesn't have all records of a thread, or of these of its checkpoints.

        Raises:
            Refused: it has one with other contents.
        """
        if self.bundle is None:
            return not self.is_preview
        added = export_thread(self.saver, thread_id, None, self.bundle, only=only)
        return bool(added.checkpoints or added.writes)

    @property
    def place(self) -> str:
        """Where the rows are, for the operation log."""
        if self.bundle is None:
            return ""
        about = self.bundle.about()
        return f"packed in {about.location}, checksum {about.facts['checksum']}"


class Bundles:
    """Reads rows of bundles; keeps the last bundle open, and the names of one thread's rows."""

    def __init__(self) -> None:
        self._path = ""
        self._reader: BundleReader | None = None
        self._table: tuple[str, RowTable] | None = None

    def row(self, image: bytes, relation: str, key: Row, expected: bytes | None) -> Row:
        """The row that an image in the log stands for.

        Raises:
            Refused: the bundle is gone, or doesn't have the row as it was.
        """
        path, checksum, thread_id = json.loads(image[len(BUNDLED) :])
        try:
            for _, row in self._rows(path, thread_id).find(relation, key):
                if digest(row) == expected:
                    return row
        except (DatabaseUnreachable, DatabaseDamaged) as error:
            raise _refusal(path, thread_id, checksum, error.message) from error
        raise _refusal(path, thread_id, checksum, "it doesn't have them as they were")

    def close(self) -> None:
        """Close the bundle that is open."""
        if self._reader is not None:
            self._reader.close()
        self._path, self._reader, self._table = "", None, None

    def _rows(self, path: str, thread_id: str) -> RowTable:
        if self._reader is None or self._path != path:
            self.close()
            self._reader, self._path = BundleReader(Path(path)), path
        if self._table is None or self._table[0] != thread_id:
            self._table = thread_id, self._reader.row_table(thread_id)
        return self._table[1]


def _refusal(path: str, thread_id: str, checksum: str, why: str) -> Refused:
    what = f"the rows of thread {thread_id!r} were moved to {path}: {why}; nothing was written"
    return Refused(what, hint=f"put that bundle back; its checksum was {checksum}")
