"""Who changed a channel at some checkpoints of a line (``blame``), by the writes that made them.

A step is credited only with writes that are stored for it; else the nodes that ``versions_seen`` shows to have run are
named as candidates. Nothing is credited across a gap: a parent that isn't stored or can't be read, several steps.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from ckpt_cli.history.lineage import ids
from ckpt_cli.history.reducers.names import NamedReducers
from ckpt_cli.history.state.channels import START
from ckpt_cli.history.tasks.early_credit import mark_surplus
from ckpt_cli.history.tasks.metadata_notes import Note
from ckpt_cli.history.tasks.metadata_writes import outputs_by_node, values_by_channel
from ckpt_cli.history.tasks.task_ids import is_called
from ckpt_cli.history.tasks.unstored_results import unstored_words
from ckpt_cli.history.tasks.value_credit import Credit, Writer, Writers, credit, credit_beside, name_of, or_by
from ckpt_cli.history.tasks.write_makers import is_command, is_of_run, path
from ckpt_cli.history.tasks.write_signs import Explains
from ckpt_cli.model import Ref
from ckpt_cli.output.quantities import iso
from ckpt_cli.queries.edited_siblings import original_of
from ckpt_cli.queries.later_writers import LaterWriters, Made
from ckpt_cli.queries.line_moments import Moment
from ckpt_cli.queries.origin_signs import (
    begins_late,
    candidates_of,
    default_of,
    edited_from,
    gap_before,
    has_part,
    other_causes,
    with_input,
    writer_of,
)
from ckpt_cli.queries.proved_steps import ProvedSteps
from ckpt_cli.queries.step_reads import StepReads
from ckpt_cli.reading import Reader
from ckpt_cli.savers.paging import pages
from ckpt_cli.session import Session
from ckpt_cli.values.state import State, TaskWrite
from ckpt_cli.views.blame import Origin

_AT_ONCE = 100
_BY_COMMAND = "a Command wrote to it where the step began, and may have been given to another run from there"


class Origins:
    """Finds who changed a channel at checkpoints of one line."""

    def __init__(
        self, session: Session, refs: Sequence[Ref], channel: str, moments: Sequence[Moment], named: NamedReducers
    ) -> None:
        self._session = session
        self._channel = channel
        self._moments = moments
        self._refs = refs
        self._reads: StepReads | None = None
        self._writers_of: Callable[[str], Writers]
        self._is_delta: Callable[[str], bool]
        self._later: LaterWriters
        self._proved = ProvedSteps(refs, channel, named)

    def read(self, wanted: Mapping[int, Sequence[Explains]]) -> Iterator[tuple[int, list[Origin]]]:
        """For each checkpoint, by its number on the line, an `Origin` for each of its changes."""
        for page in pages(sorted(wanted), _AT_ONCE):
            self._session.progress(f"blame: the writes of {len(wanted):,} steps")
            yield from self._session.read(partial(self._page, page=page, wanted=wanted))

    def check(self, wanted: Mapping[int, Sequence[Explains]]) -> dict[int, list[bool]]:
        """For each checkpoint whether the writes of its step explain each of these; False if they aren't stored."""
        checked: dict[int, list[bool]] = {}
        for page in pages(sorted(wanted), _AT_ONCE):
            checked.update(self._session.read(partial(self._checked, page=page, wanted=wanted)))
        return checked

    def _checked(
        self, reader: Reader, page: Sequence[int], wanted: Mapping[int, Sequence[Explains]]
    ) -> dict[int, list[bool]]:
        reads = self._filled(reader, page)
        checked = {}
        for number in page:
            own = self._own(reads, self._refs[number].checkpoint_id)
            values = [write.value for write in own if write.read]
            checked[number] = [explains(values) for explains in wanted[number]]
        reads.step_nodes.forget()
        return checked

    def _page(
        self, reader: Reader, page: Sequence[int], wanted: Mapping[int, Sequence[Explains]]
    ) -> list[tuple[int, list[Origin]]]:
        reads = self._filled(reader, page)
        made = {number: self._credits(reader, reads, number, wanted[number]) for number in page}
        self._later.add(reader, made, wanted)
        found = [(n, [self._origin(reader, reads, n, *one) for one in made[n]]) for n in page]
        reads.step_nodes.forget()
        return found

    def _filled(self, reader: Reader, page: Sequence[int]) -> StepReads:
        """What the steps of some checkpoints wrote, and the names of their tasks."""
        thread_id, ns, _ = self._refs[0]
        if self._reads is None:
            self._reads = StepReads(reader, thread_id, ns)
            self._writers_of = self._reads.attribution.remembered(partial(self._writers, self._reads))
            self._is_delta = self._reads.attribution.remembered(partial(self._has_writes_of_run, self._reads))
            fill = partial(self._fill, self._reads)
            self._later = LaterWriters(self._refs, self._reads, fill, self._writers_of, self._is_versionless)
        self._reads.attribution.fill(self._known(page), {})
        self._fill(self._reads, [self._refs[number].checkpoint_id for number in page])
        return self._reads

    def _fill(self, reads: StepReads, checkpoint_ids: Sequence[str]) -> None:
        reads.read_names(checkpoint_ids)
        self._read_values(reads, [i for i in checkpoint_ids if self._needs_values(reads, i)])

    def _known(self, page: Sequence[int]) -> dict[str, Note]:
        """The metadata of these checkpoints, of their parents and of their parents, as it was read with the values."""
        numbers = {max(number - back, 0) for number in page for back in range(3)}
        notes = ((self._refs[number].checkpoint_id, self._moments[number].note) for number in numbers)
        return {checkpoint_id: note for checkpoint_id, note in notes if note is not None}

    def _credits(self, reader: Reader, reads: StepReads, number: int, changes: Sequence[Explains]) -> Made:
        """The credit of each change, and the checkpoint from which a copy has the channel."""
        checkpoint_id = self._refs[number].checkpoint_id
        if reads.attribution.note(checkpoint_id).source != "fork":
            edited = edited_from(reads, checkpoint_id)
            made = [self._credit(reads, checkpoint_id, number, edited, explains) for explains in changes]
            own = [write.value for write in self._own(reads, checkpoint_id) if write.read]
            return [(one, None) for one in (mark_surplus(made, changes, own) if own else made)]
        original = original_of(reader, self._refs[number], self._channel)
        if original is not None:
            reads.read_names([original])
            self._read_values(reads, [original])
        return [(self._copied(reads, original, explains), original) for explains in changes]

    def _is_versionless(self, number: int) -> bool:
        """Whether the channel has no new version: a change may then be stored many steps too early."""
        return number > 0 and self._moments[number].has_version_of(self._moments[number - 1])

    def _origin(
        self, reader: Reader, reads: StepReads, number: int, made: Credit, copied_from: str | None = None
    ) -> Origin:
        checkpoint_id, moment = self._refs[number].checkpoint_id, self._moments[number]
        note = reads.attribution.note(checkpoint_id)
        return Origin(
            checkpoint_id,
            reader.short(self._refs[0].thread_id)(checkpoint_id),
            note.step,
            iso(ids.unix_time(checkpoint_id)),
            note.source,
            made.by,
            made.node,
            made.task,
            list(made.candidates),
            made.why,
            moment.turn,
            moment.run_id,
            copied_from,
        )

    def _credit(
        self, reads: StepReads, checkpoint_id: str, number: int, edited: State | None, explains: Explains
    ) -> Credit:
        attribution, moment = reads.attribution, self._moments[number]
        source, ran = attribution.note(checkpoint_id).source, moment.ran or ()
        if moment.version is None and (default := default_of(reads, checkpoint_id, self._channel)) is not None:
            return default
        is_late = begins_late(reads, checkpoint_id, self._channel)
        if why := gap_before(reads, checkpoint_id, moment, begins_late=is_late and source != "loop"):
            known = self._writers_of(checkpoint_id).all if moment.unknown_before else ()
            fitting = [one for one in known if explains(one.values or ())]
            return Credit(candidates=[name_of(one.by, one.node) for one in fitting], why=why)
        if source == "input" and attribution.spans_steps(checkpoint_id):
            return Credit(why="the checkpoints between it and the one before it aren't stored")
        if self._is_versionless(number):
            return candidates_of(ran, "the channel has no new version here, so no write made it", is_unwritten=True)
        if source == "update":
            if edited is not None and has_part(edited, self._channel, moment, explains):
                short = reads.reader.short(reads.thread_id)(edited.ref.checkpoint_id)
                return Credit(why=f"the update was made beside {short}, and has this from there")
            nodes = list(reads.step_nodes.nodes(checkpoint_id))
            return Credit("update", nodes[0] if len(nodes) == 1 else None)
        if source == "input":
            return Credit("input")
        if is_late or attribution.spans_steps(checkpoint_id):
            return self._of_several_steps(reads, checkpoint_id, ran, explains)
        writers = self._writers_of(checkpoint_id)
        results = reads.step_nodes.unstored_results
        if not self._is_delta(checkpoint_id):
            if unstored := results.of(checkpoint_id, ran):
                return credit_beside(writers, explains, unstored, unstored_words(unstored))
            if (lost := results.lost_sends(checkpoint_id)).lost:
                return credit_beside(writers, explains, lost.names, lost.words)
        if writers.all:
            made = credit(writers, explains, partial(self._proved.made, reads.reader, number))
            before = self._moments[number - 1]
            is_first = number > 0 and before.version is None and not before.has_value
            return or_by(made, other_causes(reads, moment, is_first=is_first))
        if attribution.takes_input(checkpoint_id):
            return Credit("input")
        if given := self._by_command(reads, checkpoint_id):
            return Credit("input") if explains([w.value for w in given if w.read]) else candidates_of(ran, _BY_COMMAND)
        if attribution.credited(checkpoint_id) is not None:
            if self._proved.emptied_itself(reads.reader, number):
                return Credit("channel")
            return candidates_of(ran, "no stored write of this step went to the channel", is_unwritten=True)
        may_be_command = source == "loop" and attribution.note(checkpoint_id).outputs is None
        return candidates_of(with_input(ran) if may_be_command else ran, "the writes of this step aren't stored")

    def _of_several_steps(self, reads: StepReads, checkpoint_id: str, ran: Sequence[str], explains: Explains) -> Credit:
        """The one task whose write has the part. Under "exit" all writes to delta channels are stored, and no others.

        See `WriteAttribution.spans_steps` and `write_makers.is_of_run`.
        """
        stored = self._by_task(reads, checkpoint_id, [*filter(is_of_run, self._own(reads, checkpoint_id))])
        fitting = [one for one in stored if explains(one.values or ())]
        if len(fitting) == 1:
            return credit(Writers(fitting), explains)
        why = "only the last of several steps is stored"
        if not stored:
            return candidates_of(with_input(ran), f"{why}, without their writes and the names of what Sends called")
        one_of = "several tasks wrote this" if fitting else "no single task's write is this"
        return candidates_of(with_input(ran), f"{why}, and {one_of}")

    def _writers(self, reads: StepReads, checkpoint_id: str) -> Writers:
        """The tasks of the step that wrote the channel; else what old metadata records."""
        if own := self._own(reads, checkpoint_id):
            return Writers(self._by_task(reads, checkpoint_id, own))
        note = reads.attribution.note(checkpoint_id)
        by_node = outputs_by_node(note.outputs, note.source)
        written = {node: values_by_channel({node: output}, note.source) for node, output in by_node.items()}
        writers = [
            Writer("input" if node == START else "node", node, "", values[self._channel])
            for node, values in written.items()
            if self._channel in values
        ]
        return Writers(writers, is_exact=False)

    def _own(self, reads: StepReads, checkpoint_id: str) -> list[TaskWrite]:
        """The writes to the channel that made a checkpoint; those of tasks that another task called don't reach it."""
        writes = reads.attribution.credited(checkpoint_id) or ()
        return [write for write in writes if write.channel == self._channel and not is_called(path(write))]

    def _by_command(self, reads: StepReads, checkpoint_id: str) -> list[TaskWrite]:
        """The writes of a Command to the channel on the parent, which each run from there applies."""
        parent = reads.lineage.parent(checkpoint_id) or ""
        stored = reads.attribution.writes.get(parent, ())
        return [write for write in stored if write.channel == self._channel and is_command(write)]

    def _has_writes_of_run(self, reads: StepReads, checkpoint_id: str) -> bool:
        """Whether a run under "exit" stored what went to the channel: then it is a delta channel, and all is stored."""
        return any(map(is_of_run, self._own(reads, checkpoint_id)))

    def _by_task(self, reads: StepReads, checkpoint_id: str, writes: Sequence[TaskWrite]) -> list[Writer]:
        takes_input = reads.attribution.note(checkpoint_id).source == "input"
        by_task: dict[tuple[str, str], list[TaskWrite]] = {}
        for write in writes:
            by_task.setdefault((write.task_id, write.row.task_path), []).append(write)
        return [writer_of(reads, some, is_input=takes_input) for some in by_task.values()]

    def _needs_values(self, reads: StepReads, checkpoint_id: str) -> bool:
        """Whether the values of the writes can show who made the change."""
        return reads.attribution.note(checkpoint_id).source == "fork" or bool(
            self._own(reads, checkpoint_id) or self._by_command(reads, checkpoint_id)
        )

    def _read_values(self, reads: StepReads, checkpoint_ids: Sequence[str]) -> None:
        if checkpoint_ids:
            sources = reads.attribution.sources(checkpoint_ids)
            reads.attribution.fill({}, reads.reader.writes_by_checkpoint(reads.thread_id, reads.ns, sources))

    def _copied(self, reads: StepReads, original: str | None, explains: Explains) -> Credit:
        """The credit of a copy: the node that gave the original its value, if the original's writes show it."""
        if original is None:
            return Credit("fork")
        writers = self._writers_of(original)
        is_shown = bool(writers.all) and not reads.attribution.spans_steps(original)
        made = credit(writers, explains) if is_shown else Credit()
        return Credit("fork", made.node, made.task)
