"""``ckpt watch``: shows new checkpoints as they appear, until a condition, an alert or Ctrl-C ends it."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from ckpt_cli import ctrl_c
from ckpt_cli.completion.names import complete_condition, complete_stop
from ckpt_cli.errors import UsageError
from ckpt_cli.history.lineage import ids
from ckpt_cli.output.text.watch import words
from ckpt_cli.parameters.conditions import Condition, parse_condition, parse_conditions
from ckpt_cli.parameters.options import Threads
from ckpt_cli.parameters.selector import NOTHING_TYPED, SelectorOptions, ThreadSelection, parse_selector
from ckpt_cli.parameters.statuses import StatusOption, parse_statuses
from ckpt_cli.queries.patient_look import look_patiently
from ckpt_cli.queries.watch_counts import NAMED, WatchCounts, in_words
from ckpt_cli.queries.watching import Event, Look, Watch
from ckpt_cli.session import Session
from ckpt_cli.views.steps import StepView
from ckpt_cli.views.watch import EventView, WatchView

if TYPE_CHECKING:
    from ckpt_cli.output.deliveries import Deliveries

_SHARE = 10  # looking takes at most a tenth of the time, however long a look takes


class Ends(NamedTuple):
    """What ends a watch.

    Attributes:
        statuses: an event of a thread with one of these statuses.
        conditions: one of these, which is no error.
        alerts: one of these, with exit code 1.
        limit: so many events; 0 for any number.
    """

    statuses: Sequence[str] = ()
    conditions: Sequence[Condition] = ()
    alerts: Sequence[Condition] = ()
    limit: int = 0


class _Watcher:
    """One watch: looks, waits, counts and delivers."""

    def __init__(
        self, session: Session, watch: Watch, ends: Ends, deliveries: "Deliveries | None", every: float
    ) -> None:
        self._session, self._watch, self._ends = session, watch, ends
        self._deliveries, self._every = deliveries, every
        self._counts = WatchCounts(session.clock(), [*ends.conditions, *ends.alerts])
        self._shown = 0
        self._undecided: list[str] = []
        self._unread_note = ""
        self.view = WatchView(self._events(self._look()))  # so an error comes before anything is printed

    def _events(self, look: Look) -> Iterator[EventView]:
        try:
            is_over = False
            while not is_over:
                for event in self._watch.take(look):
                    self._count(event)
                    if event.is_shown:
                        yield (view := self._view(event))
                        self._deliver(view)
                    is_over = self._is_last(event)
                    if is_over:
                        break
                else:
                    is_over = any(self._holds(self._ends.conditions))
                    alert = next(self._holds(self._ends.alerts), None)
                    if alert is not None:
                        yield from self._alert(alert)
                        is_over = True
                    if not is_over:
                        self._wait(look)
                        look = self._look()
        finally:
            self._session.show_status("")
            if self._deliveries is not None:
                self._deliveries.close()

    def _look(self) -> Look:
        look = look_patiently(self._session, self._watch, self._every, "watching")
        self._say_undecided()
        return look

    def _say_undecided(self) -> None:
        """Say once for which channels ``--where`` leaves threads out because it can't decide.

        Say also how many threads it leaves out because of metadata that can't be read, again whenever there are more.
        """
        if (undecided := self._watch.undecided) != self._undecided:
            from ckpt_cli.history.state.filters import unstored_words

            self._undecided = undecided
            self._session.say(f"--where: threads are left out undecided where {unstored_words(undecided)}")
        if (note := self._watch.unread_note) != self._unread_note:
            self._unread_note = note
            self._session.say(note)

    def _wait(self, look: Look) -> None:
        """Show the status line, and wait before the next look: longer if this one took long."""
        now = self._session.clock()
        self._session.show_status(self._counts.line(now))
        if not look.has_more:
            self._session.reader.saver.await_change(max(self._every, (_SHARE - 1) * look.seconds))

    def _count(self, event: Event) -> None:
        between, now = _between(event.step), self._session.clock()
        self._counts.add(event.thread_id, event.statuses, now, is_new=event.is_new, between=between)
        ctrl_c.note_outcome(f"{self._counts.checkpoints:,} new checkpoints were seen")

    def _view(self, event: Event) -> EventView:
        step, rate = event.step, self._counts.rate(self._session.clock())
        self._session.show_status("")
        kind = "checkpoint" if event.is_new else "status"
        text = words(event.thread_id, step, is_new=event.is_new)
        return EventView(kind, event.thread_id, event.statuses, _between(step), rate, text, step)

    def _is_last(self, event: Event) -> bool:
        """Whether an event ends the watch, be it shown or not."""
        self._shown += event.is_shown
        is_full = event.is_shown and self._shown == self._ends.limit
        return is_full or any(one in self._ends.statuses for one in event.statuses)

    def _holds(self, conditions: Sequence[Condition]) -> Iterator[str]:
        now = self._session.clock()
        values = ((condition, self._counts.holds(condition, now)) for condition in conditions)
        return (in_words(condition, value) for condition, value in values if value is not None)

    def _alert(self, text: str) -> Iterator[EventView]:
        self.view.alerted = True
        self._session.show_status("")
        view = EventView("alert", None, (), None, self._counts.rate(self._session.clock()), text, None)
        yield view
        self._deliver(view)

    def _deliver(self, view: EventView) -> None:
        if self._deliveries is not None:
            self._deliveries.send(view)


def run(
    session: Session, chosen: ThreadSelection, ends: Ends, every: float, *, exec_: str = "", post: str = ""
) -> WatchView:
    """The view of a watch, which has looked once; its events come while they are taken.

    Args:
        session: the command's session.
        chosen: the threads to watch.
        ends: what ends the watch.
        every: seconds between two looks, at least.
        exec_: the command to run for each event; "" for none.
        post: where to post each event; "" for nowhere.

    Raises:
        ThreadNotFound: a named thread doesn't exist.
        UsageError: the command or the address can't be used.
    """
    deliveries = None
    if exec_ or post:
        from ckpt_cli.output.deliveries import Deliveries

        deliveries = Deliveries(exec_, post, session.say)
    return _Watcher(session, Watch(chosen), ends, deliveries, every).view


def _between(step: StepView) -> float | None:
    made, before = ids.unix_time(step.checkpoint_id), ids.unix_time(step.parent_id or "")
    return None if made is None or before is None else round(made - before, 6)


def parse_stops(texts: Sequence[str], now: float) -> tuple[list[str], list[Condition]]:
    """The statuses and the conditions that ``--stop-when`` was given.

    Raises:
        UsageError: one is neither ``status=NAME`` nor a condition, or no event has the status.
    """
    statuses, conditions = list[str](), list[Condition]()
    for text in texts:
        name, sign, value = text.partition("=")
        if name.strip() != "status" or not sign:
            conditions.append(parse_condition(text, NAMED))
            continue
        names = parse_statuses([value.removeprefix("=").strip()], "10m", now).names
        if StatusOption.STUCK in names:
            raise UsageError("a thread gets stuck without an event", hint="--stop-when 'idle > 10m' ends a quiet watch")
        statuses += names
    return statuses, conditions


_Every = Annotated[float, typer.Option("--every", metavar="SECONDS", min=0.1, help="Look so often, at most.")]
_StopWhen = Annotated[
    list[str] | None,
    typer.Option(
        "--stop-when",
        metavar="CONDITION",
        help="End at status=waiting, status=failed,done or 'checkpoints >= 10'; may be repeated.",
        autocompletion=complete_stop,
    ),
]
_Alert = Annotated[
    list[str] | None,
    typer.Option(
        "--alert",
        metavar="CONDITION",
        help="End with exit code 1 at 'failed > 0', 'rate < 1/m' or 'idle > 10m'; may be repeated.",
        autocompletion=complete_condition,
    ),
]
_Exec = Annotated[
    str | None,
    typer.Option(
        "--exec",
        metavar="COMMAND",
        help="Run this for each event, with its JSON on stdin; at most 8 at once, without a shell.",
        show_default=False,
    ),
]
_Post = Annotated[
    str | None,
    typer.Option(
        "--post", metavar="URL", help="Post the JSON of each event to this http(s) address.", show_default=False
    ),
]
_Limit = Annotated[int, typer.Option("--limit", "-n", metavar="N", min=0, help="End after N events; 0 never does.")]


def watch(
    session: Session,
    thread: Threads = None,
    selector: SelectorOptions = NOTHING_TYPED,
    every: _Every = 2.0,
    stop_when: _StopWhen = None,
    alert: _Alert = None,
    exec_: _Exec = None,
    post: _Post = None,
    limit: _Limit = 0,
) -> WatchView:
    """Show new checkpoints as they appear, and the questions and errors of tasks, of all threads or some.

    Each checkpoint is shown once, as a line of `ckpt log`, in the order of ids. One that appears late, from a writer
    with a slow clock, is still shown if it isn't more than an hour late. If the connection is lost, watching goes on
    when the database answers again. A thread that you name is shown at the beginning too, as it is now.

    With --status only events are shown after which a thread has this status. The numbers in conditions count what was
    seen since the watch began: checkpoints, waiting, failed, unfinished, done, idle (a time) and rate. Ctrl-C ends the
    watch. --json prints one JSON object per line.

    Examples:
      ckpt watch
      ckpt watch support-42 --stop-when status=waiting
      ckpt watch --match 'user-*' --status waiting,failed --post https://hooks.example.com/agents
      ckpt watch --where 'plan == "pro"' --exec 'notify-send "an agent moved"'
      ckpt watch --alert 'failed > 0' --alert 'rate < 1/m'
      ckpt watch --json | jq .text
    """
    chosen = parse_selector(session, selector, thread)
    statuses, conditions = parse_stops(stop_when or (), session.clock())
    ends = Ends(statuses, conditions, parse_conditions(alert or (), NAMED), limit)
    return run(session, chosen, ends, every, exec_=exec_ or "", post=post or "")
