"""`copy --follow`: copies what is new, again and again; each round is one operation."""

from collections.abc import Iterator
from time import sleep

from ckpt_cli import ctrl_c
from ckpt_cli.errors import DatabaseUnreachable, ThreadNotFound
from ckpt_cli.output.quantities import iso
from ckpt_cli.parameters.selector import ThreadSelection
from ckpt_cli.queries.patient_look import look_patiently
from ckpt_cli.queries.selected_threads import selected_threads
from ckpt_cli.queries.thread_copies import CopyOptions, copy_threads
from ckpt_cli.queries.watching import Look, Watch
from ckpt_cli.session import Session
from ckpt_cli.views.bulk import BulkView
from ckpt_cli.views.copy import CopiedView, FollowView

_LONGEST_PAUSE = 30.0  # seconds between tries


class FollowingCopy:
    """A copy that goes on until it is stopped.

    A look comes before the first copy, so nothing that is written between the two is missed.

    Args:
        source: has the threads.
        target: gets them.
        chosen: the threads.
        options: how they are copied.
        every: seconds between two looks, at least.
    """

    def __init__(
        self, source: Session, target: Session, chosen: ThreadSelection, options: CopyOptions, every: float
    ) -> None:
        self._source, self._target, self._chosen = source, target, chosen
        self._options, self._every = options, every
        self._watch = Watch(chosen)
        self._problems: dict[str, str] = {}  # each refused thread has a line once, until its problem is another
        self._again: set[str] = set()  # threads that moved while they were copied
        self._copied = self._operations = 0
        self._look()

    def rounds(self, view: FollowView, first: BulkView | None) -> Iterator[CopiedView]:
        """Each thread of which something was copied; `first` is what was copied before, `view` learns why it ends."""
        self._options = self._options._replace(follows=True)
        self._target.options = self._target.options._replace(yes=True)
        try:
            if first is not None:
                yield from self._lines(first)
            while not view.stopped:
                started = self._source.clock()
                round_ = self._round(self._touched(self._look()))
                if round_ is not None:
                    yield from self._lines(round_)
                    view.stopped = round_.stopped
                if not view.stopped:
                    self._wait(started)
        finally:
            self._target.show_status("")

    def _look(self) -> Look:
        look = look_patiently(self._source, self._watch, self._every, "copying")
        self._watch.take(look)
        return look

    def _touched(self, look: Look) -> list[str]:
        """The chosen threads of which something is new, or changed while it was copied."""
        named = self._chosen.named
        touched = {*(event.thread_id for event in look.events), *look.heads, *self._again}
        self._again = set()
        found = list[str]()
        for thread_id in sorted(one for one in touched if named is None or one in named):
            one = self._chosen._replace(named={thread_id: ""})
            try:
                found += self._source.read(lambda reader: [t.thread_id for t in selected_threads(reader, one)])  # noqa: B023
            except ThreadNotFound:  # it was deleted
                continue
        return found

    def _round(self, thread_ids: list[str]) -> BulkView | None:
        """What a copy of these threads comes to; None if there is nothing to copy, or a database doesn't answer."""
        if not thread_ids:
            return None
        try:
            return copy_threads(self._source, self._target, thread_ids, self._options)
        except DatabaseUnreachable as error:
            self._target.say(f"{error.message}; copying goes on when it answers")
            self._source.close()
            self._target.close()
            self._watch.look_at_all_next()
            self._again = set(thread_ids)
            sleep(min(10 * self._every, _LONGEST_PAUSE))
            return None

    def _lines(self, round_: BulkView) -> Iterator[CopiedView]:
        """The threads of a round; a thread that moved meanwhile is tried again, and has no line."""
        now = iso(self._source.clock()) or ""
        for line in round_.threads:
            if line.state == "refused" and line.summary:
                self._again.add(line.thread_id)
            elif line.state == "applied":
                self._problems.pop(line.thread_id, None)
                self._copied += 1
                yield CopiedView(now, line.thread_id, line.state, line.summary, "", round_.operation)
            elif line.state == "refused" and self._problems.get(line.thread_id) != line.problem:
                self._problems[line.thread_id] = line.problem
                yield CopiedView(now, line.thread_id, line.state, "", line.problem, None)
        self._operations += bool(round_.done)
        self._note()

    def _note(self) -> None:
        what = f"{self._operations:,} operations have what was copied"
        ctrl_c.note_outcome(f"{what}; the same command goes on")

    def _wait(self, started: float) -> None:
        """Wait as long as the round took, or longer: half of the time at least is left to the application."""
        self._target.show_status(f"following: {self._copied:,} copied; Ctrl-C ends it")
        self._note()
        self._source.reader.saver.await_change(max(self._every, self._source.clock() - started))
