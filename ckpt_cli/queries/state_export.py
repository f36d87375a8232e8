"""`export --format`: whole states as evidence, a row for each checkpoint, as JSON lines or CSV.

The threads are packed into a bundle in a temporary folder first, redacted as for any bundle, and read from there. So
each thread is read in one moment, and a row has nothing that the same export would leave out of a bundle.
"""

import csv
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TextIO

from ckpt_cli.errors import DatabaseUnreachable, PayloadCorrupt, Refused
from ckpt_cli.history.state.channels import unwrapped
from ckpt_cli.model import Checkpoint
from ckpt_cli.parameters.redaction import RedactionOptions
from ckpt_cli.queries.bundle_export import export_threads
from ckpt_cli.queries.delta_values import DeltaValues
from ckpt_cli.queries.rebuilt_notes import note_on
from ckpt_cli.reading import Reader
from ckpt_cli.savers.bundle.files import UNFINISHED
from ckpt_cli.savers.bundle.saver import BundleSaver
from ckpt_cli.savers.paging import pages
from ckpt_cli.session import Session
from ckpt_cli.values.jsonform import to_json
from ckpt_cli.views.export import ExportView

_PAGE = 20  # checkpoints that are asked for together
_BLOCK = 1 << 20


class Row(NamedTuple):
    """A checkpoint.

    Attributes:
        time: as LangGraph wrote it.
        values: channel to value, also of LangGraph's own channels; delta channels are rebuilt.
        problem: why a part can't be read; None if all can.
        notes: a sentence for each delta channel whose value isn't proven, as `get` has them.
    """

    thread_id: str
    ns: str
    checkpoint_id: str
    parent_id: str | None
    step: int | None
    source: str
    time: str
    metadata: Any
    values: dict[str, Any]
    problem: str | None
    notes: Sequence[str] = ()


def export_states(
    session: Session,
    thread_ids: Iterable[str],
    path: Path,
    kind: str,
    *,
    skip_refused: bool,
    redact: RedactionOptions | None,
) -> ExportView:
    """Write a row for each checkpoint of these threads to a new file, oldest first; `kind` is ``jsonl`` or ``csv``.

    Raises:
        Refused: the file exists, or a thread can't be exported; nothing was written.
    """
    with _new_file(path) as file, TemporaryDirectory(dir=path.parent, prefix=".ckpt-") as folder:
        packed = Path(folder) / "states.ckpt"
        view = export_threads(session, thread_ids, packed, skip_refused=skip_refused, dry_run=False, redact=redact)
        with closing(BundleSaver(packed)) as saver:
            reader = Reader(saver, session.reader.codec, session.clock)
            ids = [line.renamed or line.thread_id for line in view.threads if not line.refused]
            write = _write_json if kind == "jsonl" else _write_csv
            unproven = write(file, lambda: _rows(reader, ids, session), reveal=session.reveal)
    if unproven:
        count = f"{unproven:,} state{' has' if unproven == 1 else 's have'}"
        session.say(
            f"{count} a rebuilt value that no stored one proves, or with more elements than all of these: see `notes`"
        )
    view.file, view.size, view.checksum = str(path), path.stat().st_size, _checksum(path)
    return view


@contextmanager
def _new_file(path: Path) -> Iterator[TextIO]:
    """A file that only its user may read, and that has its name once it is whole."""
    if path.exists():
        raise Refused(f"{path} exists already; nothing was written", hint="-o names a new file")
    unfinished = path.with_name(path.name + UNFINISHED)
    try:
        number = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise DatabaseUnreachable(f"can't write {path}: {error.strerror}") from error
    try:
        with os.fdopen(number, "w", encoding="utf-8", errors="backslashreplace", newline="") as file:
            yield file
    except BaseException:
        unfinished.unlink()
        raise
    unfinished.rename(path)


def _rows(reader: Reader, thread_ids: Iterable[str], session: Session) -> Iterator[Row]:
    done = 0
    for thread_id in thread_ids:
        rebuilt: dict[str, DeltaValues] = {}
        for page in pages([row.ref for row in reader.saver.rows(thread_id)], _PAGE):
            for stored in reader.saver.checkpoints(page):
                yield _row(reader, stored, rebuilt.setdefault(stored.row.ns, DeltaValues(reader)))
            done += len(page)
            session.progress(f"export: {done:,} states")
    session.progress("")


def _row(reader: Reader, stored: Checkpoint, rebuilt: DeltaValues) -> Row:
    names = (*stored.row.ref, stored.row.parent_id)
    try:
        state = reader.decoded(stored)
    except PayloadCorrupt as error:
        return Row(*names, None, "", "", {}, {}, error.message)
    values, problem = {name: unwrapped(value) for name, value in state.values.items()}, state.problem
    try:
        values |= rebuilt.at(state)
    except PayloadCorrupt as error:
        problem = problem or error.message
    notes = [note_on(reader, stored.row.ref, channel, one) for channel, one in rebuilt.larger.items()]
    return Row(*names, state.step, state.source, state.ts, state.metadata, values, problem, notes)


def _write_json(file: TextIO, rows: Callable[[], Iterator[Row]], *, reveal: bool) -> int:
    """Write a line for each row; gives the number of rows with notes."""
    unproven = 0
    for row in rows():
        typed = {"metadata": to_json(row.metadata, reveal), "values": to_json(row.values, reveal)}
        file.write(f"{json.dumps({**row._asdict(), **typed})}\n")
        unproven += bool(row.notes)
    return unproven


def _write_csv(file: TextIO, rows: Callable[[], Iterator[Row]], *, reveal: bool) -> int:
    """The same with a column for each channel; metadata and values are JSON, so that a text differs from a number."""
    unproven, channels = 0, sorted({name for row in rows() for name in row.values})
    writer = csv.writer(file)
    fixed = [name for name in Row._fields if name not in ("values", "notes")]
    writer.writerow([*fixed, *(f"values.{name}" for name in channels), "notes"])
    for row in rows():
        cells = {**row._asdict(), "metadata": json.dumps(to_json(row.metadata, reveal))}
        values = to_json(row.values, reveal)
        texts = [json.dumps(values[name]) if name in values else "" for name in channels]
        writer.writerow([*(cells[name] for name in fixed), *texts, "; ".join(row.notes)])
        unproven += bool(row.notes)
    return unproven


def _checksum(path: Path) -> str:
    digest = sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
