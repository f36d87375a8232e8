"""``ckpt export``: packs threads into a bundle, a file that every command reads as a database."""

from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from ckpt_cli.errors import NotFound, UsageError
from ckpt_cli.parameters.options import Threads
from ckpt_cli.parameters.redaction import (
    OnlyStructure,
    RedactionOptions,
    RedactPaths,
    RedactPatterns,
    SaltEnv,
    parse_redaction,
)
from ckpt_cli.parameters.selector import NOTHING_TYPED, SelectorOptions, ThreadSelection, parse_selector
from ckpt_cli.queries.selected_heads import selected_heads
from ckpt_cli.session import Session
from ckpt_cli.values.counts import count_text
from ckpt_cli.views.bulk import BulkView
from ckpt_cli.views.export import ExportView

_File = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE.ckpt",
        help="The bundle, a new or an old one; with --format a new file.",
        show_default=False,
    ),
]
_Format = Annotated[
    Literal["jsonl", "csv"] | None,
    typer.Option(
        "--format",
        help="Write whole states as evidence instead of a bundle: a row for each checkpoint.",
        show_default=False,
    ),
]
_Skip = Annotated[bool, typer.Option("--skip-refused", help="Leave out threads that can't be exported.")]
_Remove = Annotated[
    bool, typer.Option("--remove", help="Then take the threads out of the database; undo reads the bundle.")
]


def export(
    session: Session,
    threads: Threads = None,
    output: _File = None,
    selector: SelectorOptions = NOTHING_TYPED,
    format_: _Format = None,
    skip_refused: _Skip = False,
    remove: _Remove = False,
    redact: RedactPaths = None,
    redact_pattern: RedactPatterns = None,
    only_structure: OnlyStructure = False,
    salt_env: SaltEnv = None,
) -> ExportView | BulkView:
    """Pack threads into a bundle: one file with every checkpoint, subgraph and write, byte for byte.

    Every command reads a bundle as a database: ckpt tree support-42 -d incident.ckpt. Without THREAD and options, all
    threads are exported. A bundle that exists gets what it lacks; it keeps what the database no longer has. A
    checkpoint with other contents than the bundle's is refused, and nothing is written.

    A bundle holds all that the threads hold, secrets too, unless you redact them. Only you may read a new one. A
    redacted bundle says that it is one. What can't be looked into, such as a pickle, is replaced whole or refused.

    --format writes a new file for people and other programs: of each checkpoint its state, decoded, with ids, step,
    time and metadata. Nothing can be imported from it.

    --remove moves threads from the database to the bundle: they are packed with all their rows, read back, compared,
    and then removed as one operation. ckpt undo and ckpt import bring them back; both need the bundle.

    Examples:
      ckpt export support-42 -o incident.ckpt
      ckpt export --match 'support-*' --since 7d -o week.ckpt
      ckpt export --status failed -o failed.ckpt --dry-run
      ckpt export --until 90d -o archive/2026.ckpt --remove
      ckpt export support-42 -o shared.ckpt --redact user.email --redact-pattern 'sk-\\w+'
      ckpt export support-42 -o shape.ckpt --only-structure
      ckpt export support-42 -o evidence.jsonl --format jsonl
    """
    if not output:
        raise UsageError("to which file? -o FILE.ckpt names it")
    chosen = parse_selector(session, selector, threads)
    options = parse_redaction(redact_pattern, redact, only_structure=only_structure, salt_env=salt_env)
    session.may_change, dry_run = remove, session.options.dry_run
    if remove:
        _must_be_whole(options, format_)
        return run_removal(session, chosen, Path(output), skip_refused=skip_refused)
    if format_ is not None and not dry_run:
        return run_rows(session, chosen, Path(output), format_, skip_refused=skip_refused, redact=options)
    return run(session, chosen, Path(output), skip_refused=skip_refused, dry_run=dry_run, redact=options)


def _must_be_whole(options: RedactionOptions, format_: str | None) -> None:
    """Refuse to remove threads of which the file wouldn't have all."""
    if format_ is not None:
        raise UsageError("--remove needs a bundle; states as rows can't be brought back", hint="leave --format out")
    if options:
        raise UsageError("--remove needs a bundle with all that the threads hold; it can't be redacted")


def run(
    session: Session,
    chosen: ThreadSelection,
    path: Path,
    *,
    skip_refused: bool,
    dry_run: bool,
    redact: RedactionOptions | None = None,
) -> ExportView:
    """The view of an export of the chosen threads."""
    from ckpt_cli.queries.bundle_export import export_threads

    ids = _selected(session, chosen, skip_refused=skip_refused)
    return export_threads(session, ids, path, skip_refused=skip_refused, dry_run=dry_run, redact=redact)


def run_rows(
    session: Session,
    chosen: ThreadSelection,
    path: Path,
    kind: str,
    *,
    skip_refused: bool,
    redact: RedactionOptions | None = None,
) -> ExportView:
    """The view of an export of states as rows."""
    from ckpt_cli.queries.state_export import export_states

    if path.suffix == ".ckpt":
        raise UsageError(f"--format {kind} writes no bundle", hint=f"-o {path.stem}.{kind}")
    ids = _selected(session, chosen, skip_refused=skip_refused)
    return export_states(session, ids, path, kind, skip_refused=skip_refused, redact=redact)


def run_removal(session: Session, chosen: ThreadSelection, path: Path, *, skip_refused: bool) -> BulkView:
    """The view of a move of the chosen threads to a bundle."""
    from ckpt_cli.queries.bundle_export import export_threads
    from ckpt_cli.queries.bundle_removal import preview, remove_packed, rows_of

    session.must_be_writable()
    ids = _selected(session, chosen, skip_refused=skip_refused)
    dry_run, rows = session.options.dry_run, partial(rows_of, session)
    packed = export_threads(session, ids, path, skip_refused=skip_refused, dry_run=dry_run, rows=rows)
    if dry_run:
        return preview(session, ids, path, skip_refused=skip_refused)
    whole = [line.thread_id for line in packed.threads if not line.refused]
    session.say(f"{count_text(len(whole), 'thread')} packed in {path}; the plan removes that from the database")
    return remove_packed(session, whole, path, skip_refused=skip_refused)


def _selected(session: Session, chosen: ThreadSelection, *, skip_refused: bool) -> list[str]:
    heads, remarks = session.read(lambda reader: selected_heads(reader, chosen, skip_missing=skip_refused))
    for remark in remarks:
        session.say(remark)
    ids = [thread.thread_id for thread in heads]
    if not ids:
        raise NotFound("no thread is selected; nothing was written")
    return ids
