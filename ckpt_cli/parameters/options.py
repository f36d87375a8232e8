"""Arguments and options that several commands share, with help and completion; ``--match`` patterns."""

from collections.abc import Callable
from typing import Annotated

import typer

from ckpt_cli.completion.names import complete_channel, complete_namespace, complete_revision, complete_thread

Thread = Annotated[
    str,
    typer.Argument(metavar="THREAD", help="A thread id, in full.", autocompletion=complete_thread, show_default=False),
]

Threads = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="THREAD",
        help="Thread ids; default: all threads.",
        autocompletion=complete_thread,
        show_default=False,
    ),
]

Rev = Annotated[
    str,
    typer.Argument(
        metavar="REV",
        help="A checkpoint: @ (the head), an id or its short form, REV~2, REV^, step:5, branch:2, @{2h}.",
        autocompletion=complete_revision,
    ),
]

OptionalRev = Annotated[
    str | None,
    typer.Argument(
        metavar="REV",
        help="A checkpoint: @ (the head, the default), an id or its short form, REV~2, REV^, step:5, branch:2, …",
        autocompletion=complete_revision,
        show_default=False,
    ),
]

At = Annotated[
    str,
    typer.Option(
        "--at",
        metavar="REV",
        help="Read the value at this checkpoint.",
        autocompletion=complete_revision,
        show_default=True,
    ),
]

SameDatabase = Annotated[
    bool,
    typer.Option(
        "--same-database",
        help="Use the operation log even if no row proves that it belongs to this database.",
    ),
]

Ns = Annotated[
    str,
    typer.Option(
        "--ns",
        metavar="NAMESPACE",
        help="A subgraph's namespace; default: the root graph.",
        autocompletion=complete_namespace,
        show_default=False,
    ),
]

Channels = Annotated[
    list[str] | None,
    typer.Option(
        "--channel", "-c", metavar="NAME", help="Only this channel; may be repeated.", autocompletion=complete_channel
    ),
]

Limit = Annotated[int, typer.Option("--limit", "-n", metavar="N", min=0, help="Show at most N; 0 shows all.")]

Since = Annotated[
    str | None,
    typer.Option(
        "--since",
        metavar="WHEN",
        help="Nothing older than 2h, 3d, 2026-11-01, 2026-11-01T10:00; local, unless it has a zone: 10:00+02:00.",
    ),
]

Until = Annotated[
    str | None,
    typer.Option(
        "--until",
        metavar="WHEN",
        help="Nothing newer than 2h, 3d, or the end of the day, minute or second: 2026-11-01, 2026-11-01T10:00.",
    ),
]

_CHANGE = "Change"

DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show what would be done; change nothing.", rich_help_panel=_CHANGE)
]

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking.", rich_help_panel=_CHANGE)]

Reason = Annotated[
    str,
    typer.Option(
        "--reason", metavar="TEXT", help="Why you do this; kept in the operation log.", rich_help_panel=_CHANGE
    ),
]

WithTriggers = Annotated[
    bool,
    typer.Option(
        "--with-triggers",
        help="Apply the change even if the database's triggers, rules or foreign keys will do more than is shown.",
        rich_help_panel=_CHANGE,
    ),
]

Remember = Annotated[
    bool,
    typer.Option("--remember", help="With --with-triggers: accept these from now on.", rich_help_panel=_CHANGE),
]

RememberReducers = Annotated[
    bool,
    typer.Option(
        "--remember",
        help="With --reducer: use these reducers in later updates and replays of this database, too. They are kept "
        "beside its operation log, also without --commit. With --with-triggers: accept these from now on.",
        rich_help_panel=_CHANGE,
    ),
]

MATCH = "Only ids that contain TEXT, in upper or lower case; with * or ?, ids that fit it as a whole: 'user-*'."
"""The help of ``--match``, in every command that selects threads."""


def matcher(pattern: str | None) -> Callable[[str], bool]:
    """A function that tests whether a thread id fits a pattern; None fits every id.

    A pattern with ``*`` or ``?`` is a glob: it must fit the whole id, and case matters. Any other pattern fits if
    the id contains it, and case doesn't matter.
    """
    if pattern is None:
        return lambda _: True
    if any(sign in pattern for sign in "*?"):
        from fnmatch import fnmatchcase

        return lambda thread_id: fnmatchcase(thread_id, pattern)
    part = pattern.casefold()
    return lambda thread_id: part in thread_id.casefold()
