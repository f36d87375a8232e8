"""The status of one thread (``threads``, ``info``): head, next nodes, title, names for ``--where``."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from ckpt_cli.errors import CheckpointNotFound, PayloadCorrupt
from ckpt_cli.history.lineage import ids
from ckpt_cli.history.state import titles
from ckpt_cli.history.state.channels import deltas
from ckpt_cli.history.tasks.snapshot import Snapshot, Status, Task
from ckpt_cli.inspection import Inspection
from ckpt_cli.layouts import read_metadata
from ckpt_cli.model import Ref, Thread
from ckpt_cli.output.quantities import iso
from ckpt_cli.queries.failed_inside import failed_inside
from ckpt_cli.reading import Reader
from ckpt_cli.values.state import State
from ckpt_cli.views.interrupts import interrupt_view
from ckpt_cli.views.sends import send_view
from ckpt_cli.views.threads import FailedView, ThreadView, WaitingView

if TYPE_CHECKING:
    from ckpt_cli.history.state.filters import Filter

PLAIN_METADATA = frozenset({"source", "step", "parents", "writes", "thread_id", "counters_since_delta_snapshot"})
"""The keys that the metadata of every checkpoint may have; the others are the application's."""


def prefetch_threads(reader: Reader, threads: Iterable[Thread]) -> Iterator[Thread]:
    """The same threads. If this saves round trips, the rows for their status are fetched page by page."""
    rest = iter(threads)
    while page := list(islice(rest, reader.saver.page)):
        reader.saver.expect_threads(page)
        yield from page


def waiting_views(tasks: Iterable[Task]) -> list[WaitingView]:
    """The open questions of these tasks."""
    return [
        WaitingView(task.node, *interrupt_view(one.id, one.value, one.response_schema), send_view(task.packet))
        for task in tasks
        if task.status is Status.WAITING
        for one in task.open
    ]


def nothing_since(source: object, tasks: Collection[Task]) -> str | None:
    """The source of a head that an update or a fork made, if no task has left anything since; else None."""
    is_untouched = bool(tasks) and all(task.status is Status.DUE for task in tasks)
    return source if isinstance(source, str) and source in ("update", "fork") and is_untouched else None


class ThreadStatus:
    """The status of one thread and of its head; each part is read when it is first used.

    `title_of_input` gives the title of an input by its checkpoint, if many were read at once. With `rebuilds`, a filter
    also gets the values of delta channels that aren't stored at the head, which reads other checkpoints too.
    """

    def __init__(
        self,
        reader: Reader,
        thread: Thread,
        title_of_input: Callable[[Ref], str | None] | None = None,
        *,
        rebuilds: bool = False,
    ) -> None:
        self._reader = reader
        self._rebuilds = rebuilds
        self._thread = thread
        self._title_of_input = title_of_input
        self.problem: str | None = None
        self.gave_state = False  # whether a filter used more than metadata

    @property
    def thread_id(self) -> str:
        """The id of the thread."""
        return self._thread.thread_id

    @cached_property
    def state(self) -> State | None:
        """The state of the head; None if it can't be read."""
        try:
            return self._reader.state(self._thread.head)
        except PayloadCorrupt as error:
            self.problem = error.message
            return None

    @property
    def exists(self) -> bool:
        """Whether the head is still stored."""
        try:
            return self.state is not None or bool(self.problem)
        except CheckpointNotFound:
            return False

    @cached_property
    def metadata(self) -> Mapping[str, Any]:
        """The metadata of the head, also if its state can't be read; {} if the metadata can't be read either."""
        if self.state is not None:
            return self.state.metadata
        payload = next((payload for _, payload in self._reader.saver.metadata([self._thread.head])), None)
        return {} if payload is None else read_metadata(self._reader.value(payload))[0]

    @cached_property
    def snapshot(self) -> Snapshot | None:
        """The tasks and next nodes at the head."""
        return Inspection(self._reader, self._thread.head).snapshot() if self.state is not None else None

    @property
    def status(self) -> str | None:
        """The status of the thread; None if the head can't be read."""
        return next(iter(self.statuses), None)

    @property
    def statuses(self) -> list[str]:
        """Every status of the thread; none if the head can't be read.

        The head is a subgraph's if the root graph has no checkpoint: that it has ended doesn't show that the run has.
        """
        statuses = self.snapshot.statuses if self.snapshot is not None else []
        if self._thread.head.ns and statuses == [Status.DONE]:
            return [str(Status.UNKNOWN)]
        return [str(status) for status in statuses]

    @property
    def updated(self) -> float | None:
        """When the head was made, in seconds since 1970; None if neither its id nor its ``ts`` says so."""
        state = self.state
        return ids.unix_time(self._thread.head.checkpoint_id) or (ids.unix_time(state.ts) if state else None)

    def fits(self, where: "Filter") -> bool:
        """Whether the thread fits a filter."""
        fits = where.matches(self.name)
        where.of_state |= self.gave_state
        return fits

    @property
    def metadata_problem(self) -> str:
        """The unreadable part of the head's metadata; "" if there is none, or if the whole head can't be read."""
        return self.state.metadata_problem if self.state is not None else ""

    def name(self, name: str) -> Any:
        """The value of a name in a filter: from the thread, the head's metadata, or the head's state, in this order.

        Raises:
            LookupError: there is no such name.
            Undecided: it is a delta channel whose value isn't stored at the head.
        """
        if name == "thread_id":
            return self._thread.thread_id
        metadata = self.metadata
        if name in metadata and name not in ("status", "next", "metadata", "values"):
            return metadata[name]
        if name == "metadata":
            return dict(metadata)
        value = self._of_state(name)
        self.gave_state = True
        return value

    def _of_state(self, name: str) -> Any:
        if name == "status":
            return self.status
        if name == "next":
            return self.snapshot.next if self.snapshot is not None else None
        if self.state is None:
            raise LookupError(name)
        if name in self.state.values and name != "values":
            return self.state.values[name]
        if name == "values" or name in deltas(self.state):
            from ckpt_cli.history.state.where_values import StoredValues, Undecided

            rebuilt = self._rebuilt
            if name == "values":
                return StoredValues({**self.state.values, **rebuilt}, deltas(self.state) - rebuilt.keys())
            if name in rebuilt:
                return rebuilt[name]
            raise Undecided(name)
        return self._of_tasks(name)

    @cached_property
    def _rebuilt(self) -> dict[str, Any]:
        """The known values of delta channels that store none here."""
        if not self._rebuilds:
            return {}
        from ckpt_cli.history.reducers.rebuilt import is_unproven

        deltas = Inspection(self._reader, self._thread.head).deltas()
        return {channel: value for channel, one in deltas.items() if not is_unproven(value := one.value)}

    def _of_tasks(self, name: str) -> Any:
        """The statuses, the errors of failed tasks, or the nodes of failed and waiting ones; of ``error``, the first.

        Raises:
            LookupError: no task failed or waits at the head, or it is another name.
        """
        values: list[str] = self.statuses if name == "statuses" else []
        if self.snapshot is not None and name in ("error", "errors"):
            from ckpt_cli.output.text.steps import error

            values = [error(task.error, None) for task in self.snapshot.with_error]
        elif self.snapshot is not None and name in ("node", "nodes"):
            waiting = [
                task for task in self.snapshot.all_tasks if task.status is Status.WAITING and not task.has_failed
            ]
            for task in (*self.snapshot.with_error, *waiting):
                values += [task.node or "?", *failed_inside(self._reader, self._thread.head, task)]
        if not values:
            raise LookupError(name)
        return values if name.endswith("s") else values[0]

    def view(self) -> ThreadView:
        """The view of the thread."""
        thread, snapshot = self._thread, self.snapshot
        head = thread.head
        rows = self._reader.rows(thread.thread_id)
        lineage = self._reader.lineage(thread.thread_id, head.ns)
        first = next(iter(lineage.rows), head.checkpoint_id)
        sizes = [row.size for row in rows if row.size is not None]
        tasks = snapshot.all_tasks if snapshot is not None else []
        step, source = self.metadata.get("step"), self.metadata.get("source")
        return ThreadView(
            thread_id=thread.thread_id,
            ns=head.ns,
            head=head.checkpoint_id,
            short=self._reader.short(thread.thread_id)(head.checkpoint_id),
            checkpoints=len(rows),
            namespaces=len({row.ns for row in rows} - {head.ns}),
            branches=len(lineage.branches),
            step=step if isinstance(step, int) else ids.step(head.checkpoint_id),
            source=source if isinstance(source, str) else "",
            status=self.status,
            next=snapshot.next if snapshot is not None else None,
            updated=iso(self.updated),
            created=iso(ids.unix_time(first)),
            title=self._title(first),
            size=sum(sizes) if sizes else None,
            interrupts=waiting_views(tasks),
            errors=[self._failed(task) for task in (snapshot.with_error if snapshot is not None else ())],
            metadata={key: value for key, value in self.metadata.items() if key not in PLAIN_METADATA},
            problem=self.problem,
            metadata_problem=self.metadata_problem or None,
            statuses=self.statuses,
            answered=[task.node for task in tasks if task.status is Status.ANSWERED],
            nothing_since=nothing_since(source, snapshot.tasks if snapshot is not None else ()),
            old_answers=list(snapshot.old_answers) if snapshot is not None else [],
        )

    def _failed(self, task: Task) -> FailedView:
        inside = failed_inside(self._reader, self._thread.head, task)
        return FailedView(task.node, task.error, send_view(task.packet), inside)

    def _title(self, first: str) -> str:
        title = titles.from_values(self.state.values) if self.state is not None else ""
        if title:
            return title
        head, saver = self._thread.head, self._reader.saver
        ref = Ref(head.thread_id, head.ns, first)
        known = self._title_of_input(ref) if self._title_of_input is not None else None
        if known is not None:
            return known
        from ckpt_cli.queries.input_title import title_of_input, titles_of_inputs

        row = saver.row(ref) if saver.page > 1 else None  # a server's records were fetched before, for many threads
        quick = {} if row is None else titles_of_inputs(self._reader, {row.ref: row})
        return quick.get(ref) or title_of_input(self._reader, ref)
