"""``ckpt copy``: copies threads from one database into another, of the same kind or of any other."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from ckpt_cli.completion.names import complete_database
from ckpt_cli.errors import NotFound, NotSupported, Refused, UsageError
from ckpt_cli.parameters.class_names import RenameClass
from ckpt_cli.parameters.encryption import NO_ENCRYPTION, EncryptionOptions, must_have_key, parse_changes
from ckpt_cli.parameters.options import Threads
from ckpt_cli.parameters.selector import NOTHING_TYPED, SelectorOptions, ThreadSelection, parse_selector
from ckpt_cli.queries.copy_target import is_new_file, open_target
from ckpt_cli.queries.selected_heads import selected_heads
from ckpt_cli.queries.thread_copies import CopyOptions, copy_threads
from ckpt_cli.session import Session
from ckpt_cli.views.bulk import BulkView
from ckpt_cli.views.copy import CopiedView, FollowView

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
_Follow = Annotated[bool, typer.Option("--follow", "-f", help="Then copy whatever is new, until Ctrl-C.")]
_Every = Annotated[float, typer.Option("--every", metavar="SECONDS", min=0.1, help="With --follow: look so often.")]


def copy(
    session: Session,
    source: _Source,
    target: _Target,
    threads: Threads = None,
    selector: SelectorOptions = NOTHING_TYPED,
    skip_refused: _Skip = False,
    no_check: _Check = False,
    follow: _Follow = False,
    every: _Every = 5.0,
    rename_class: RenameClass = None,
    keys: EncryptionOptions = NO_ENCRYPTION,
) -> BulkView | FollowView:
    """Copy threads from one database into another: every checkpoint, subgraph and write, for agents to go on there.

    Each record is stored as the target's own saver of LangGraph stores it; ids, parents, values and metadata stay what
    they are, and values keep their bytes where the target can hold them. Without THREAD and options, all threads are
    copied. What the target has already is compared, and not written again. Whatever it can't hold is listed first.

    Afterwards each new row is read back and compared. The whole copy is one operation, which undo takes back. --follow
    goes on: whenever something is new it is copied, each time as an operation of its own.

    What is encrypted stays encrypted, and can only be copied to a database that stores checkpoints in the same way,
    unless --decrypt or --encrypt-key-env changes that.

    Examples:
      ckpt copy prod debug.sqlite support-42
      ckpt copy agents.sqlite postgresql://me@db/agents --since 30d --dry-run
      ckpt copy prod staging --match 'support-*' --follow --yes
      ckpt copy old.sqlite new.sqlite --rename-class shop.models.Cart=store.cart.Cart
      ckpt copy incident.ckpt laptop.sqlite
    """
    options = CopyOptions(skip_refused, not no_check, parse_changes(keys, rename_class))
    session.key_env = keys.encrypt_key_env or keys.from_key_env
    with ExitStack() as stack:
        origin = Session(source, keys.from_key_env, session.clock, session.say, session.progress)
        stack.enter_context(closing(origin))
        must_have_key(keys, origin)
        session.key()  # before the target is made
        chosen = parse_selector(origin, selector, threads)
        if not follow:
            return run(origin, session, target, chosen, options)
        stack.enter_context(_opened(session, target))
        _must_differ(origin, session)
        view = _following(origin, session, chosen, options, every)
        if isinstance(view, FollowView):
            view.copies = _closing(stack.pop_all(), view.copies)
        return view


def run(origin: Session, session: Session, target: str, chosen: ThreadSelection, options: CopyOptions) -> BulkView:
    """The view of a copy of these threads; `session` gets the target as its database."""
    ids = _selected(origin, session, chosen, skip_refused=options.skip_refused)
    if not ids:
        raise NotFound("no thread is selected; nothing was written")
    with _opened(session, target):
        _must_differ(origin, session)
        return copy_threads(origin, session, ids, options)


def _following(
    origin: Session, session: Session, chosen: ThreadSelection, options: CopyOptions, every: float
) -> BulkView | FollowView:
    """The view of a copy that goes on; that of the first copy if it isn't made."""
    from ckpt_cli.queries.following_copy import FollowingCopy

    following = FollowingCopy(origin, session, chosen, options, every)
    ids = _selected(origin, session, chosen, skip_refused=options.skip_refused)
    first = copy_threads(origin, session, ids, options) if ids else None
    if session.options.dry_run or (first is not None and first.stopped):
        return first or BulkView("copy", "of 0 threads")
    was_asked = session.options.yes or (first is not None and first.applied)
    if not was_asked and not session.ask_again("Nothing is to be copied now. Copy what comes?"):
        raise Refused("not confirmed; nothing was written")
    view = FollowView()
    view.copies = following.rounds(view, first)
    return view


def _closing(stack: ExitStack, rows: Iterator[CopiedView]) -> Iterator[CopiedView]:
    """The same rows; once they end, both databases are closed."""
    with stack:
        yield from rows


def _selected(origin: Session, session: Session, chosen: ThreadSelection, *, skip_refused: bool) -> list[str]:
    heads, remarks = origin.read(lambda reader: selected_heads(reader, chosen, skip_missing=skip_refused))
    for remark in remarks:
        session.say(remark)
    return [thread.thread_id for thread in heads]


def _must_differ(origin: Session, session: Session) -> None:
    if session.reader.saver.identity == origin.reader.saver.identity:
        raise UsageError("FROM and TO are the same database", hint="ckpt fork THREAD --to NEW copies a thread")


@contextmanager
def _opened(session: Session, target: str) -> Iterator[None]:
    """Make the target the session's database; a file that is new is removed again if nothing was written to it."""
    session.database = target
    if not is_new_file(target):
        open_target(session)
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
