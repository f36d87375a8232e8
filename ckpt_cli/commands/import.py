"""``ckpt import``: unpacks threads from a bundle into this database."""  # noqa: N999 - a verb's file has its name

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from ckpt_cli.completion.names import complete_thread
from ckpt_cli.errors import DatabaseUnreachable, NotFound
from ckpt_cli.parameters.options import Threads
from ckpt_cli.parameters.selector import NOTHING_TYPED, SelectorOptions, parse_selector
from ckpt_cli.queries.copy_target import is_new_file, open_target
from ckpt_cli.queries.selected_heads import selected_heads
from ckpt_cli.session import Session
from ckpt_cli.shell_words import command
from ckpt_cli.views.bulk import BulkView

_Bundle = Annotated[str, typer.Argument(metavar="FILE.ckpt", help="The bundle.", show_default=False)]
_Skip = Annotated[bool, typer.Option("--skip-refused", help="Import the others if some threads can't be imported.")]
_Rename = Annotated[
    list[str] | None,
    typer.Option(
        "--rename",
        metavar="OLD=NEW",
        help="Give a thread another id; may be repeated.",
        autocompletion=complete_thread,
        show_default=False,
    ),
]


def import_(
    session: Session,
    bundle: _Bundle,
    threads: Threads = None,
    selector: SelectorOptions = NOTHING_TYPED,
    skip_refused: _Skip = False,
    rename: _Rename = None,
) -> BulkView:
    """Unpack threads from a bundle into this database: every checkpoint, subgraph and write, for agents to go on there.

    Each record is stored as this database's own saver of LangGraph stores it. Without THREAD and options, all threads
    of the bundle are imported. What the database has already is compared, and not written again. A thread of the same
    id with another history, or with other contents, is refused; --rename gives the imported one another id.

    Afterwards each thread is read back and compared. The whole import is one operation, which undo takes back.

    Examples:
      ckpt import incident.ckpt
      ckpt import week.ckpt --match 'support-*' -d postgresql://me@db/agents --dry-run
      ckpt import incident.ckpt support-42 --rename support-42=support-42-then
    """
    from ckpt_cli.queries.bundle_import import import_threads, must_be_bundle

    with closing(Session(bundle, session.key_env, session.clock, session.say, session.progress)) as origin:
        must_be_bundle(origin)
        chosen = parse_selector(origin, selector, threads)
        heads, remarks = origin.read(lambda reader: selected_heads(reader, chosen, skip_missing=skip_refused))
        for remark in remarks:
            session.say(remark)
        ids = [thread.thread_id for thread in heads]
        if not ids:
            raise NotFound("no thread is selected; nothing was written")
        _open_target(session, bundle)
        return import_threads(origin, session, ids, rename or (), skip_refused=skip_refused)


def _open_target(session: Session, bundle: str) -> None:
    """Open the target; where it would be a new file, the error has the copy that makes it."""
    try:
        open_target(session)
    except DatabaseUnreachable as error:
        name = session.database or ""
        path = Path(name)
        if path.suffix in ("", ".ckpt") or not path.parent.is_dir() or not is_new_file(name):
            raise
        makes = f"`{command('ckpt copy', bundle, name)}` unpacks all of it into a new SQLite file"
        raise DatabaseUnreachable(error.message, hint=f"{error.hint}; {makes}", candidates=error.candidates) from error
