"""The search of one thread: what `ckpt grep` does for each."""

from collections.abc import Sequence
from dataclasses import dataclass

from ckpt_cli.errors import KeyMissing, PayloadCorrupt
from ckpt_cli.history import ids
from ckpt_cli.history.needle import Needle
from ckpt_cli.history.paths import spell
from ckpt_cli.history.search import Place, Search, Sighting, Sightings
from ckpt_cli.model import Checkpoint, CheckpointRow
from ckpt_cli.reading import Reader
from ckpt_cli.values.node import Form, Node
from ckpt_cli.views.grep import Hit, Sighted, Unreadable


@dataclass(frozen=True, slots=True)
class Scope:
    """Where to look.

    Attributes:
        ns: only this namespace; None for all of a thread.
        channels: only these; () for all, and then metadata too.
        since: nothing made before.
    """

    places: tuple[Place, ...] = tuple(Place)
    ns: str | None = None
    channels: tuple[str, ...] = ()
    since: float | None = None


def run(reader: Reader, thread: str, needle: Needle, scope: Scope) -> tuple[list[Hit], list[Unreadable]]:
    """All that matches in one thread, by namespace and first appearance."""
    hits: list[Hit] = []
    unreadable: list[Unreadable] = []
    search = Search(needle)
    for ns in [scope.ns] if scope.ns is not None else reader.saver.namespaces(thread):
        one = _Namespace(reader, search, needle, scope, thread, ns)
        hits += one.hits()
        unreadable += one.unreadable
    return hits, unreadable


class _Namespace:
    """The search of one namespace."""

    def __init__(self, reader: Reader, search: Search, needle: Needle, scope: Scope, thread: str, ns: str) -> None:
        self._reader = reader
        self._search = search
        self._needle = needle
        self._scope = scope
        self._thread = thread
        self._ns = ns
        self._seen = Sightings()
        self.unreadable: list[Unreadable] = []

    def hits(self) -> list[Hit]:
        rows = list(self._reader.saver.rows(self._thread, self._ns))
        recent = [row for row in rows if self._recent(row)]
        if Place.STATE in self._scope.places or self._metadata:
            for checkpoint in self._reader.saver.checkpoints(row.ref for row in recent):
                self._checkpoint(checkpoint)
        if Place.WRITES in self._scope.places:
            self._writes({row.checkpoint_id for row in recent})
        told = self._seen.told([(row.checkpoint_id, row.parent_id) for row in rows])
        return [self._hit(one, rows[-1].checkpoint_id) for one in told]

    @property
    def _metadata(self) -> bool:
        return Place.METADATA in self._scope.places and not self._scope.channels

    def _recent(self, row: CheckpointRow) -> bool:
        when = ids.unix_time(row.checkpoint_id) if self._scope.since is not None else None
        return self._scope.since is None or when is None or when >= self._scope.since

    def _checkpoint(self, checkpoint: Checkpoint) -> None:
        checkpoint_id = checkpoint.row.checkpoint_id
        payloads = [checkpoint.body, *(checkpoint.channels or {}).values()]
        if Place.STATE in self._scope.places and any(map(self._needle.may_hold, payloads)):
            try:
                state = self._reader.decode(checkpoint)
            except PayloadCorrupt as error:
                self._failed(checkpoint_id, error.message, isinstance(error, KeyMissing))
            else:
                self._values(checkpoint_id, Place.STATE, {**state.values, **_sends(state.sends)})
        if self._metadata and self._needle.may_hold(checkpoint.metadata):
            value = self._reader.value(checkpoint.metadata)
            self._values(checkpoint_id, Place.METADATA, value if isinstance(value, dict) else {"metadata": value})

    def _values(self, checkpoint_id: str, place: Place, values: dict[str, object]) -> None:
        for name, value in values.items():
            if not self._wanted(name):
                continue
            if isinstance(value, Node) and value.form is Form.BROKEN:
                self._failed(checkpoint_id, f"{name}: {value.problem}", value.needs_key)
            self._seen.add(checkpoint_id, place, self._search.find(value, (name,)))

    def _writes(self, recent: set[str]) -> None:
        for write in self._reader.saver.writes(self._thread, self._ns):
            wanted = write.checkpoint_id in recent and self._wanted(write.channel)
            if wanted and write.payload is not None and self._needle.may_hold(write.payload):
                value = self._reader.value(write.payload)
                self._values(write.checkpoint_id, Place.WRITES, {write.channel: value})

    def _wanted(self, channel: str) -> bool:
        return not self._scope.channels or channel in self._scope.channels

    def _failed(self, checkpoint_id: str, problem: str, locked: bool) -> None:
        self.unreadable.append(Unreadable(self._thread, self._ns, checkpoint_id, problem, locked))

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
        )

    def _sighted(self, checkpoint_id: str) -> Sighted:
        return Sighted(checkpoint_id, self._reader.short(self._thread)(checkpoint_id), ids.step(checkpoint_id))


def _sends(sends: Sequence[object]) -> dict[str, object]:
    return {"pending_sends": sends} if sends else {}
