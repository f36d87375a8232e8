"""``grep`` in one thread: which namespaces, channels and writes are searched; what can't be read."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ckpt_cli.errors import DatabaseDamaged, KeyMissing, PayloadCorrupt
from ckpt_cli.history.lineage import ids
from ckpt_cli.history.lineage.typed_times import ALWAYS, Period
from ckpt_cli.history.search.pattern import Needle
from ckpt_cli.history.search.search import Place, Search, Sighting, Sightings
from ckpt_cli.history.state.paths import spell
from ckpt_cli.model import Checkpoint, CheckpointRow, Payload
from ckpt_cli.reading import Reader
from ckpt_cli.views.grep import Hit, Sighted, Unreadable


@dataclass(frozen=True, slots=True)
class Scope:
    """The places, namespaces, channels and checkpoints that are searched.

    Attributes:
        ns: a namespace, or the beginning of several; "" for the root graph, None for all namespaces.
        channels: the channels to search; () for all channels and for metadata.
        period: only checkpoints made in this period.
    """

    places: tuple[Place, ...] = tuple(Place)
    ns: str | None = None
    channels: tuple[str, ...] = ()
    period: Period = ALWAYS


@dataclass(slots=True)
class Result:
    """The result of searching one thread.

    Attributes:
        hits: sorted by namespace and first appearance.
        undecoded: the number of payloads that were not decoded because they can't contain the pattern.
        damaged: whether a part of the database itself couldn't be read.
    """

    hits: list[Hit] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)
    undecoded: int = 0
    damaged: bool = False


def run(reader: Reader, thread: str, needle: Needle, scope: Scope) -> Result:
    """Search one thread."""
    result, search = Result(), Search(needle)
    try:
        for ns in namespaces(reader, thread, scope):
            _Namespace(reader, search, needle, scope, thread, ns, result).search()
    except DatabaseDamaged as error:
        result.damaged = True
        result.unreadable.append(Unreadable(thread, scope.ns or "", "", error.message))
    return result


def namespaces(reader: Reader, thread: str, scope: Scope) -> list[str]:
    """The namespaces of a thread that are in the scope."""
    known = reader.saver.namespaces(thread)
    if not scope.ns or scope.ns in known:
        return known if scope.ns is None else [ns for ns in known if ns == scope.ns]
    return [ns for ns in known if ns.startswith(scope.ns.rstrip("…"))]


class _Namespace:
    """The search of one namespace."""

    def __init__(
        self, reader: Reader, search: Search, needle: Needle, scope: Scope, thread: str, ns: str, result: Result
    ) -> None:
        self._reader = reader
        self._search = search
        self._needle = needle
        self._scope = scope
        self._thread = thread
        self._ns = ns
        self._seen = Sightings()
        self._result = result

    def search(self) -> None:
        rows = list(self._reader.saver.rows(self._thread, self._ns))
        chosen = [row for row in rows if self._in_period(row)]
        if Place.STATE in self._scope.places or self._metadata:
            for checkpoint in self._checkpoints(chosen):
                self._checkpoint(checkpoint)
        if Place.WRITES in self._scope.places:
            try:
                self._writes({row.checkpoint_id for row in chosen})
            except DatabaseDamaged as error:
                self._damaged("", f"writes: {error.message}")
        sightings = self._seen.distinct([(row.checkpoint_id, row.parent_id) for row in rows])
        self._result.hits += [self._hit(one, rows[-1].checkpoint_id) for one in sightings]

    def _checkpoints(self, rows: Sequence[CheckpointRow]) -> Iterator[Checkpoint]:
        """The checkpoints that can be read, in order; the others are noted as damaged."""
        at = 0
        while at < len(rows):
            try:
                for checkpoint in self._reader.saver.checkpoints(row.ref for row in rows[at:]):
                    at += 1
                    yield checkpoint
                return
            except DatabaseDamaged as error:
                self._damaged(rows[at].checkpoint_id, error.message)
                at += 1

    @property
    def _metadata(self) -> bool:
        return Place.METADATA in self._scope.places and not self._scope.channels

    def _in_period(self, row: CheckpointRow) -> bool:
        period = self._scope.period
        return period == ALWAYS or period.holds(ids.unix_time(row.checkpoint_id))

    def _checkpoint(self, checkpoint: Checkpoint) -> None:
        checkpoint_id = checkpoint.row.checkpoint_id
        payloads = [checkpoint.body, *(checkpoint.channels or {}).values()]
        if Place.STATE in self._scope.places and not self._passed(*payloads, mapping=True):
            try:
                state = self._reader.decode(checkpoint)
            except PayloadCorrupt as error:
                self._failed(checkpoint_id, error.message, isinstance(error, KeyMissing))
            else:
                if state.damage:
                    self._failed(checkpoint_id, f"the checkpoint is damaged: {state.damage}")
                self._values(checkpoint_id, Place.STATE, {**state.values, **_sends(state.sends)})
        if self._metadata and not self._passed(checkpoint.metadata):
            value = self._reader.value(checkpoint.metadata)
            self._values(checkpoint_id, Place.METADATA, value if isinstance(value, dict) else {"metadata": value})

    def _values(self, checkpoint_id: str, place: Place, values: dict[str, object]) -> None:
        for name, value in values.items():
            if self._wanted(name):
                self._seen.add(checkpoint_id, place, self._search.find(value, (name,)))
        for path, node in self._search.broken():
            self._failed(checkpoint_id, f"{spell(path)}: {node.problem}", node.needs_key)

    def _writes(self, checkpoint_ids: set[str]) -> None:
        few = checkpoint_ids if len(checkpoint_ids) <= self._reader.saver.page else None
        for write in self._reader.saver.writes(self._thread, self._ns, few):
            wanted = write.checkpoint_id in checkpoint_ids and self._wanted(write.channel)
            if wanted and write.payload is not None and not self._passed(write.payload):
                value = self._reader.value(write.payload)
                self._values(write.checkpoint_id, Place.WRITES, {write.channel: value})

    def _passed(self, first: Payload, *more: Payload, mapping: bool = False) -> bool:
        """Whether payloads needn't be decoded, because they can't contain the pattern, and can be read to their end."""
        whole = self._reader.codec.is_whole
        passed = not any(map(self._needle.may_hold, (first, *more))) and whole(first, mapping=mapping)
        if not passed or not all(map(whole, more)):
            return False
        self._result.undecoded += 1 + len(more)
        return True

    def _wanted(self, channel: str) -> bool:
        return not self._scope.channels or channel in self._scope.channels

    def _failed(self, checkpoint_id: str, problem: str, locked: bool = False) -> None:
        self._result.unreadable.append(Unreadable(self._thread, self._ns, checkpoint_id, problem, locked))

    def _damaged(self, checkpoint_id: str, problem: str) -> None:
        self._result.damaged = True
        self._failed(checkpoint_id, problem)

    def _hit(self, one: Sighting, head: str) -> Hit:
        return Hit(
            thread_id=self._thread,
            ns=self._ns,
            place=str(one.place),
            channel=one.channel,
            path=spell(one.path),
            first=self._sighted(one.first),
            last=self._sighted(one.last),
            present=one.last == head,
            checkpoints=one.checkpoints,
            before=one.match.before,
            match=one.match.text,
            after=one.match.after,
            more=one.match.more,
            is_key=one.is_key,
        )

    def _sighted(self, checkpoint_id: str) -> Sighted:
        return Sighted(checkpoint_id, self._reader.short(self._thread)(checkpoint_id), ids.step(checkpoint_id))


def _sends(sends: Sequence[object]) -> dict[str, object]:
    return {"pending_sends": sends} if sends else {}
