"""``ckpt tag``: gives checkpoints names; ``tag:NAME`` is a revision."""

from typing import Annotated

import typer

from ckpt_cli.completion.names import complete_revision, complete_thread
from ckpt_cli.errors import UsageError
from ckpt_cli.operations import tags
from ckpt_cli.operations.witnesses import read_witness
from ckpt_cli.parameters.options import Ns, SameDatabase
from ckpt_cli.parameters.selector import NOTHING_TYPED, SelectorOptions
from ckpt_cli.parameters.target import ONE_THREAD, ManyOptions, Target, parse_target
from ckpt_cli.queries.many_tags import tag_many
from ckpt_cli.reading import Reader
from ckpt_cli.session import Session
from ckpt_cli.views.tag import TagLine, TagView

_Thread = Annotated[
    str | None,
    typer.Argument(metavar="THREAD", help="A thread id.", autocompletion=complete_thread, show_default=False),
]
_Rev = Annotated[
    str | None,
    typer.Argument(metavar="REV", help="The checkpoint to name.", autocompletion=complete_revision, show_default=False),
]


_ManyName = Annotated[
    str | None,
    typer.Option("--name", metavar="NAME", help="The name in many threads.", rich_help_panel="Many threads"),
]

_SAID = 20  # threads that weren't tagged and are named on stderr


def tag(
    session: Session,
    thread: _Thread = None,
    rev: _Rev = None,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The name.", show_default=False)] = None,
    ns: Ns = "",
    list_tags: Annotated[bool, typer.Option("--list", "-l", help="Show the tags of a thread, or all tags.")] = False,
    delete: Annotated[str | None, typer.Option("--delete", metavar="NAME", help="Remove a name.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Move a name from another checkpoint.")] = False,
    many_name: _ManyName = None,
    selector: SelectorOptions = NOTHING_TYPED,
    many: ManyOptions = ONE_THREAD,
    same_database: SameDatabase = False,
) -> TagView:
    """Give a checkpoint a name that every command takes as a revision: tag:NAME.

    Tags are yours alone: they are kept beside the operation log, and the database isn't changed.

    Without THREAD, the options choose many threads, and --name names the checkpoint --at in each of them.

    Examples:
      ckpt tag support-42 step:7 before-refund
      ckpt diff support-42 tag:before-refund @
      ckpt tag --list
      ckpt tag --match 'support-*' --at @{2h} --name before-deploy
      ckpt tag support-42 --delete before-refund
    """
    session.same_database = same_database
    if many_name is not None or selector != NOTHING_TYPED or many != ONE_THREAD:
        if (thread, rev, name, delete) != (None, None, None, None) or list_tags:
            raise _not_for_many(thread, delete)
        return _tag_many(
            session, parse_target(session, (None, None), selector, many, ns=ns, asks=False), many_name, force=force
        )
    if delete is not None:
        if thread is None or rev is not None or list_tags:
            raise UsageError("to remove a name: ckpt tag THREAD --delete NAME")
        session.reader.thread(thread)
        return _view("deleted", session, [tags.remove(session.logs.for_writing(), thread, ns, delete)])
    if list_tags or thread is None:
        if rev is not None:
            raise UsageError("--list takes a THREAD or nothing")
        session.reader  # noqa: B018 - a database that can't be opened is an error before anything is listed
        return _view("listed", session, tags.read_tags(session.log, thread))
    return _tag_one(session, thread, rev, name, ns, force=force)


def _tag_one(session: Session, thread: str, rev: str | None, name: str | None, ns: str, *, force: bool) -> TagView:
    if rev is None or name is None:
        raise UsageError("REV or NAME is missing: ckpt tag THREAD REV NAME", hint="`ckpt tag --list` shows the tags")
    row = session.read(lambda reader: reader.resolve(thread, rev, ns))
    new_tag = tags.Tag(name, row.ref, session.clock())
    log, saver = session.logs.for_writing(), session.reader.saver
    witness = session.read(lambda reader: read_witness(reader.saver, row.ref))
    old_refs = [tag.ref for tag in tags.read_tags(log, thread) if (tag.ref.ns, tag.name) == (row.ns, name)]
    tags.add(log, new_tag, move=force, witness=witness, place=saver.place())
    if old_refs and old_refs != [row.ref]:
        session.say(f"tag:{name} was on {old_refs[0].checkpoint_id}")
    return _view("added", session, [new_tag])


def _not_for_many(thread: str | None, delete: str | None) -> UsageError:
    if thread is not None:
        return UsageError("--name, --at and the options that choose threads are for many threads, without THREAD")
    if delete is not None:
        hint = "`ckpt tag THREAD --delete NAME`; `ckpt tag --list` shows which threads have it"
        return UsageError("--delete removes a name from one thread, and the options choose many", hint=hint)
    return UsageError("--list takes no options that choose threads", hint="`ckpt tag THREAD --list` lists one thread's")


def _tag_many(session: Session, target: Target, name: str | None, *, force: bool) -> TagView:
    if name is None:
        raise UsageError("which name? --name NAME is missing")
    added, refused = tag_many(session, target, name, move=force)
    view = _view("added", session, added)
    view.refused = refused
    for thread_id, problem in list(refused.items())[:_SAID]:
        session.say(f"not tagged: {thread_id}: {problem}")
    if len(refused) > _SAID:
        session.say(f"and {len(refused) - _SAID:,} more were not tagged (--json lists all)")
    return view


def _view(action: str, session: Session, tags_to_show: list[tags.Tag]) -> TagView:
    return session.read(lambda reader: run(reader, action, tags_to_show))


def run(reader: Reader, action: str, tags_to_show: list[tags.Tag]) -> TagView:
    """The view of some tags; each line also says whether the tag's checkpoint still exists."""
    return TagView(action, [_line(reader, one) for one in tags_to_show])


def _line(reader: Reader, one: tags.Tag) -> TagLine:
    from datetime import UTC, datetime

    at = datetime.fromtimestamp(one.at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    ref = one.ref
    return TagLine(one.name, ref.thread_id, ref.ns, ref.checkpoint_id, reader.saver.row(ref) is None, at)
