"""``ckpt copy``: copies threads from one database into another, of the same kind or of any other."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from ckpt_cli.completion.names import complete_database
from ckpt_cli.errors import NotFound, NotSupported, UsageError
from ckpt_cli.parameters.options import Threads
from ckpt_cli.parameters.selector import NOTHING_TYPED, SelectorOptions, parse_selector
from ckpt_cli.queries.selected_heads import selected_heads
from ckpt_cli.session import Session
from ckpt_cli.views.bulk import BulkView

_SIDE_FILES = ("-wal", "-shm", "-journal")

_Source = Annotated[
    str,
    typer.Argument(
        metavar="FROM",
        help="The database or bundle to copy from.",
        autocompletion=complete_database,
        show_default=False,
    ),
]
_Target = Annotated[
    str,
    typer.Argument(
        metavar="TO",
        help="The database to copy into; a path that doesn't exist becomes a new SQLite file.",
        autocompletion=complete_database,
        show_default=False,
    ),
]
_Check = Annotated[bool, typer.Option("--no-check", help="Don't read back what was copied.")]
_Skip = Annotated[bool, typer.Option("--skip-refused", help="Copy the others if some threads can't be copied.")]


def copy(
    session: Session,
    source: _Source,
    target: _Target,
    threads: Threads = None,
    selector: SelectorOptions = NOTHING_TYPED,
    skip_refused: _Skip = False,
    no_check: _Check = False,
) -> BulkView:
    """Copy threads from one database into another: every checkpoint, subgraph and write, for agents to go on there.

    Each record is stored as the target's own saver of LangGraph stores it; ids, parents, values and metadata stay what
    they are, and values keep their bytes where the target can hold them. Without THREAD and options, all threads are
    copied. What the target has already is compared, and not written again. Whatever it can't hold is listed first.

    Afterwards each new row is read back and compared. The whole copy is one operation, which undo takes back.

    Examples:
      ckpt copy prod debug.sqlite support-42
      ckpt copy agents.sqlite postgresql://me@db/agents --since 30d --dry-run
      ckpt copy incident.ckpt laptop.sqlite
    """
    with closing(Session(source, session.key_env, session.clock, session.say, session.progress)) as origin:
        chosen = parse_selector(origin, selector, threads)
        heads, remarks = origin.read(lambda reader: selected_heads(reader, chosen))
        for remark in remarks:
            session.say(remark)
        ids = [thread.thread_id for thread in heads]
        if not ids:
            raise NotFound("no thread is selected; nothing was written")
        return run(origin, session, target, ids, skip_refused=skip_refused, check=not no_check)


def run(
    origin: Session, session: Session, target: str, ids: list[str], *, skip_refused: bool, check: bool = True
) -> BulkView:
    """The view of a copy of these threads; `session` gets the target as its database."""
    from ckpt_cli.queries.thread_copies import copy_threads

    with _opened(session, target):
        if session.reader.saver.identity == origin.reader.saver.identity:
            raise UsageError("FROM and TO are the same database", hint="ckpt fork THREAD --to NEW copies a thread")
        return copy_threads(origin, session, ids, skip_refused=skip_refused, check=check)


@contextmanager
def _opened(session: Session, target: str) -> Iterator[None]:
    """Make the target the session's database; a file that is new is removed again if nothing was written to it."""
    session.database = target
    if not _is_new_file(target):
        yield
        return
    from ckpt_cli.savers.sqlite.new_database import create

    path = Path(target)
    if path.suffix == ".ckpt":
        raise NotSupported("copy can't make a bundle", hint="ckpt export THREAD -o FILE.ckpt does")
    if session.options.dry_run:
        with TemporaryDirectory() as folder:
            session.database = str(Path(folder) / path.name)
            create(Path(session.database)).close()
            yield
            session.close()
        return
    create(path).close()
    try:
        yield
    finally:
        is_empty = not any(True for _ in session.reader.saver.threads())
        if is_empty:
            session.close()
            for file in (path, *(path.with_name(path.name + end) for end in _SIDE_FILES)):
                file.unlink(missing_ok=True)


def _is_new_file(target: str) -> bool:
    from ckpt_cli.savers.url import names

    return ":" not in target and "=" not in target and not Path(target).exists() and target not in names()
