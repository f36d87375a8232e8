"""The selector: the options that choose threads, with one meaning in every command; ``--stdin``.

A command has one parameter of the type `SelectorOptions`, of which `typer_commands` makes an option for each field.
`queries.selected_threads` gives the threads.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from ckpt_cli.completion.names import complete_status
from ckpt_cli.errors import UsageError, no_terminal
from ckpt_cli.history.lineage.typed_times import ALWAYS, Period
from ckpt_cli.parameters.options import MATCH
from ckpt_cli.parameters.period import parse_period
from ckpt_cli.parameters.statuses import ANY_STATUS, STATUS, STUCK_AFTER, Statuses, parse_statuses
from ckpt_cli.parameters.where_option import parse_filter
from ckpt_cli.session import Session

if TYPE_CHECKING:
    from ckpt_cli.history.state.filters import Filter

_PANEL = "Which threads"
_STDIN_HINT = "one id a line, or an id, a tab and a revision: `ckpt threads --limit 0 | cut -f1 | …`"


def _option(*names: str, metavar: str | None, text: str, **more: Any) -> Any:
    return typer.Option(*names, metavar=metavar, help=text, show_default=False, rich_help_panel=_PANEL, **more)


Match = Annotated[str | None, _option("--match", "-m", metavar="TEXT", text=MATCH)]
Where = Annotated[
    str | None,
    _option("--where", "-w", metavar="EXPRESSION", text="A Python expression over the head's metadata and state."),
]
AnyCheckpoint = Annotated[
    bool, _option("--any", metavar=None, text="With --where: test the metadata of every checkpoint, not the head.")
]
Status = Annotated[
    list[str] | None, _option("--status", "-s", metavar="STATUS", text=STATUS, autocompletion=complete_status)
]
StuckAfter = Annotated[str, _option("--stuck-after", metavar="TIME", text=STUCK_AFTER)]
Since = Annotated[
    str | None,
    _option("--since", metavar="WHEN", text="Only threads whose head is not older: 2h, 3d, 2026-11-01T10:00."),
]
Until = Annotated[
    str | None,
    _option("--until", metavar="WHEN", text="Only threads whose head is not newer: 2h, 3d, 2026-11-01T10:00."),
]
Stdin = Annotated[
    bool,
    _option("--stdin", metavar=None, text="Only the threads on stdin: an id a line, or an id, a tab, a revision."),
]


class SelectorOptions(NamedTuple):
    """The options of the selector, as typed. They narrow each other: a thread must fit all."""

    match: Match = None
    where: Where = None
    any_: AnyCheckpoint = False
    status: Status = None
    stuck_after: StuckAfter = "10m"
    since: Since = None
    until: Until = None
    stdin: Stdin = False


class SearchSelectorOptions(NamedTuple):
    """The options of the selector in a command whose ``--since`` and ``--until`` choose checkpoints."""

    match: Match = None
    where: Where = None
    any_: AnyCheckpoint = False
    status: Status = None
    stuck_after: StuckAfter = "10m"
    stdin: Stdin = False


NOTHING_TYPED = SelectorOptions()
"""The default of a command's parameter."""


class ThreadSelection(NamedTuple):
    """The threads that a person asked for. If any are named, only these can be selected; all conditions must fit too.

    Attributes:
        named: the ids of the named threads, each with its revision or "" if none was given; None if no threads were
            named; empty if stdin named none.
        any_checkpoint: whether `where` tests the metadata of every checkpoint, or only the head.
        period: when the head was made.
        idle_since: chooses only threads that surely had no activity since this time, in seconds since 1970.
        sure: whether a thread whose ids contain no time is left out if there is a period; a change needs this.
    """

    named: Mapping[str, str] | None = None
    match: str | None = None
    where: "Filter | None" = None
    any_checkpoint: bool = False
    statuses: Statuses = ANY_STATUS
    period: Period = ALWAYS
    idle_since: float | None = None
    sure: bool = False

    @property
    def filtered(self) -> bool:
        """Whether there is any condition besides the names."""
        return self.judged or bool(self.match) or self.where is not None or self.is_timed

    @property
    def is_timed(self) -> bool:
        """Whether only heads of some times are wanted."""
        return self.period != ALWAYS or self.idle_since is not None

    @property
    def judged(self) -> bool:
        """Whether the heads must be read to know which threads fit."""
        return bool(self.statuses) or (self.where is not None and not self.any_checkpoint)

    @property
    def is_everything(self) -> bool:
        """Whether nothing was asked for, so that every thread is selected; a change of many must refuse this."""
        return self.named is None and not self.filtered

    def fits_time(self, when: float | None) -> bool:
        """Whether a thread whose head was made at this time may be selected; None if its id contains no time."""
        if self.idle_since is not None and (when is None or when >= self.idle_since):
            return False
        if self.sure and when is None and self.is_timed:
            return False
        return self.period.holds(when)

    def revision(self, thread_id: str) -> str:
        """The revision that was named with a thread; "" if none was."""
        return (self.named or {}).get(thread_id, "")


def parse_selector(
    session: Session,
    options: SelectorOptions | SearchSelectorOptions,
    threads: Sequence[str] | None = None,
    *,
    asks: bool = False,
) -> ThreadSelection:
    """The selection that the options describe, together with the ids among the command's arguments.

    Args:
        session: the command's session; stderr says how times were understood.
        options: the options of the selector.
        threads: full thread ids; ``-`` stands for the lines of stdin, as ``--stdin`` does.
        asks: whether the command asks before a change; then stdin must be a terminal, or the answer given already.

    Raises:
        Refused: stdin names the threads, so nobody can answer.
        UsageError: an option can't be parsed, ``--match`` is empty, or a thread has two revisions.
    """
    if isinstance(options, SearchSelectorOptions):
        options = SelectorOptions(**options._asdict())
    if options.match == "":  # every id contains "", and an unset variable in a script must not select all threads
        raise UsageError("--match is empty", hint="--match '*' means every thread")
    if asks and (options.stdin or "-" in (threads or ())):
        _must_be_answered(session)
    return ThreadSelection(
        named=_named([*(threads or ()), *(["-"] if options.stdin else ())]) if threads or options.stdin else None,
        match=options.match,
        where=parse_filter(options.where, any_checkpoint=options.any_),
        any_checkpoint=options.any_,
        statuses=parse_statuses(options.status or (), options.stuck_after, session.clock()),
        period=parse_period(session, options.since, options.until),
    )


def _must_be_answered(session: Session) -> None:
    """Refuse before the first line is read: the program in front of the pipe may run for long."""
    from ckpt_cli.parameters.json_input import stdin_is_terminal

    if not (session.options.yes or session.options.dry_run or stdin_is_terminal()):
        raise no_terminal("stdin was not read")


def _named(words: Sequence[str]) -> dict[str, str]:
    """The ids with their revisions, in their order; the lines of stdin replace the first ``-``."""
    named: dict[str, str] = {}
    for thread_id, revision in _pairs(words):
        if revision and named.get(thread_id, revision) != revision:
            raise UsageError(f"stdin names two revisions of thread {thread_id!r}", hint=_STDIN_HINT)
        if revision or thread_id not in named:
            named[thread_id] = revision
    return named


def _pairs(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    was_read = False
    for word in words:
        if word != "-":
            yield word, ""
        elif not was_read:
            was_read = True
            yield from _on_stdin()


def _on_stdin() -> Iterator[tuple[str, str]]:
    from ckpt_cli.parameters.json_input import file_or_stdin

    for number, line in enumerate(file_or_stdin("-").split("\n"), 1):
        thread_id, tab, revision = line.removesuffix("\r").partition("\t")
        if not thread_id and not tab:
            continue
        if not thread_id or "\t" in revision:
            raise UsageError(f"line {number} of stdin is not a thread, or a thread and a revision", hint=_STDIN_HINT)
        yield thread_id, revision
