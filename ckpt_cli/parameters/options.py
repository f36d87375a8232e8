"""Arguments and options that several commands share, so that they read, complete and behave the same everywhere."""

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
        help="Thread ids; all threads unless given.",
        autocompletion=complete_thread,
        show_default=False,
    ),
]

Rev = Annotated[
    str,
    typer.Argument(
        metavar="REV",
        help="A checkpoint: @ (the head), an id or a unique part of it, REV~2, REV^, step:5, branch:2, @{2h}.",
        autocompletion=complete_revision,
    ),
]

At = Annotated[
    str,
    typer.Option(
        "--at", metavar="REV", help="Look at this checkpoint.", autocompletion=complete_revision, show_default=True
    ),
]

SameDatabase = Annotated[
    bool,
    typer.Option(
        "--same-database",
        help="You know that the operation log is of this database, though no row proves it.",
    ),
]

Ns = Annotated[
    str,
    typer.Option(
        "--ns",
        metavar="NAMESPACE",
        help="A subgraph's namespace; the root graph unless given.",
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

Limit = Annotated[int, typer.Option("--limit", "-n", metavar="N", min=0, help="At most so many; 0 for all.")]

Since = Annotated[
    str | None, typer.Option("--since", metavar="WHEN", help="Not older: 2h, 3d, 2026-11-01, 2026-11-01T10:00.")
]

AnyCheckpoint = Annotated[
    bool,
    typer.Option(
        "--any", help="With --where: look at the metadata of every checkpoint, not at the head.", show_default=False
    ),
]

_CHANGE = "Change"

DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show what would be done, and do nothing.", rich_help_panel=_CHANGE)
]

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking.", rich_help_panel=_CHANGE)]

Reason = Annotated[
    str, typer.Option("--reason", metavar="TEXT", help="Why, for the operation log.", rich_help_panel=_CHANGE)
]

WithTriggers = Annotated[
    bool,
    typer.Option(
        "--with-triggers",
        help="Go on where the database's own triggers, rules or foreign keys do more than is shown.",
        rich_help_panel=_CHANGE,
    ),
]

Remember = Annotated[
    bool,
    typer.Option("--remember", help="With --with-triggers: these are all right from now on.", rich_help_panel=_CHANGE),
]

MATCH = "Ids with this part, or a glob: 'user-*'."
"""What ``--match`` says of itself, wherever threads are chosen."""


def matcher(pattern: str | None) -> Callable[[str], bool]:
    """A glob of the whole id where there is a ``*`` or ``?``, else a part of it in any case; None fits all."""
    if pattern is None:
        return lambda _: True
    if any(sign in pattern for sign in "*?"):
        from fnmatch import fnmatchcase

        return lambda thread_id: fnmatchcase(thread_id, pattern)
    part = pattern.casefold()
    return lambda thread_id: part in thread_id.casefold()
