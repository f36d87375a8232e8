"""The target of a change: one `THREAD` at a revision, or the many threads of a selector at ``--at REV``."""

from collections.abc import Mapping
from typing import Annotated, NamedTuple

import typer

from ckpt_cli.completion.names import complete_revision, complete_thread
from ckpt_cli.errors import UsageError
from ckpt_cli.parameters.selector import NOTHING_TYPED, SelectorOptions, ThreadSelection, parse_selector
from ckpt_cli.session import Session
from ckpt_cli.values.counts import count_text

_PANEL = "Many threads"

OneThread = Annotated[
    str | None,
    typer.Argument(
        metavar="THREAD",
        help="A thread id, in full; without it, the options below choose threads.",
        autocompletion=complete_thread,
        show_default=False,
    ),
]


class ManyOptions(NamedTuple):
    """The options of a change that takes many threads, beside those that choose the threads."""

    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="REV",
            help="The revision in each thread: before:text:TEXT, before:node:NODE, failed, @{TIME}, step:N …",
            autocompletion=complete_revision,
            show_default=False,
            rich_help_panel=_PANEL,
        ),
    ] = None
    skip_refused: Annotated[
        bool,
        typer.Option(
            "--skip-refused", help="Change the others if some threads can't be changed.", rich_help_panel=_PANEL
        ),
    ] = False
    limit: Annotated[
        int, typer.Option("--limit", "-n", metavar="N", min=0, help="Take at most N threads.", rich_help_panel=_PANEL)
    ] = 0


ONE_THREAD = ManyOptions()
"""The default of a command's parameter."""


class Target(NamedTuple):
    """What a change is about.

    Attributes:
        thread: the one thread; "" if there are many.
        rev: the revision in each thread, unless `chosen` has one for it; "" if none was given.
        ns: the namespace.
        chosen: the many threads; None if there is one.
        limit: at most so many of them; 0 means all.
    """

    thread: str
    rev: str
    ns: str
    chosen: ThreadSelection | None
    skip_refused: bool = False
    limit: int = 0

    def revision(self, thread_id: str) -> str:
        """The revision in one of many threads."""
        return (self.chosen.revision(thread_id) if self.chosen is not None else "") or self.rev


def parse_target(
    session: Session,
    words: tuple[str | None, str | None],
    selector: SelectorOptions,
    many: ManyOptions,
    *,
    ns: str = "",
    default: str = "",
    are_named: bool = False,
    asks: bool = True,
) -> Target:
    """The target that the arguments THREAD and REV, or the options, name.

    Args:
        session: the command's session.
        words: THREAD and REV as typed.
        selector: the options that choose threads.
        many: the other options for many threads.
        ns: the namespace.
        default: the revision if none is given; "" if one must be given.
        are_named: whether another option names the threads, so that those of the selector only narrow them down.
        asks: as for `parse_selector`.

    Raises:
        UsageError: both were given, or neither, or a revision is missing.
    """
    thread, rev = words
    if rev is not None and many.at is not None:
        raise UsageError("REV and --at name the revision twice")
    if thread is None:
        chosen = parse_selector(session, selector, asks=asks)._replace(sure=True)
        if chosen.is_everything and not are_named:
            hint = "name one THREAD, or choose many with --match, --where, --status, --since, --until or --stdin"
            raise UsageError("which threads?", hint=hint)
        at = many.at or default
        if not at:
            _must_have_revisions(chosen.named)
        return Target("", at, ns, chosen, many.skip_refused, many.limit)
    if selector != NOTHING_TYPED or are_named:
        raise UsageError("THREAD names one thread, and the options choose many", hint="leave one of them out")
    if many.skip_refused or many.limit:
        raise UsageError("--skip-refused and --limit are for many threads")
    revision = rev or many.at or default
    if not revision:
        hint = "@ is the newest checkpoint, @~2 the second before it, step:5 the one of a step"
        raise UsageError("which revision? REV is missing", hint=hint)
    return Target(thread, revision, ns, None)


def _must_have_revisions(named: Mapping[str, str] | None) -> None:
    """Check that each of the named threads was named with a revision, as ``--at`` is missing.

    Raises:
        UsageError: one wasn't, or no threads are named.
    """
    if named is None:
        raise UsageError("which revision?", hint="--at REV names it in each thread")
    without = [thread_id for thread_id, revision in named.items() if not revision]
    if without:
        others = f", and of {count_text(len(without) - 1, 'other thread')}" if without[1:] else ""
        hint = "--at REV names it in each thread that is named without one"
        raise UsageError(f"which revision of thread {without[0]!r}{others}?", hint=hint)


def for_one(target: Target, names: Mapping[str, bool]) -> None:
    """Refuse options that are only for one thread.

    Raises:
        UsageError: one of them is set, and there are many threads.
    """
    if target.chosen is not None and (is_set := next((name for name, value in names.items() if value), None)):
        raise UsageError(f"{is_set} is for one THREAD")
