"""`WriteOrder`: where LangGraph gives the writes to a delta channel in another order in the target.

A delta channel is rebuilt from writes in the order in which the saver gives those of a checkpoint (langgraph-checkpoint
4.3, ``base/__init__.py: get_delta_channel_history``), so a reducer that minds the order makes another value of them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ckpt_cli.layouts import named
from ckpt_cli.model import Payload, Ref, Write
from ckpt_cli.savers.about import RecordFormat
from ckpt_cli.savers.selection import FilterKind
from ckpt_cli.serde import mongodb_metadata
from ckpt_cli.serde.redisjson import TAG as REDIS

_COUNTERS = "counters_since_delta_snapshot"

Order = Callable[[Sequence[Write]], list[Write]]


class WriteOrder:
    """Compares the order of each checkpoint's writes in two databases.

    Args:
        source: how the records were written.
        target: how the other database's saver writes records.
        decode: decodes metadata.
        as_stored: whether the source gives writes in the order of LangGraph's saver.

    Attributes:
        may_differ: whether both savers may give writes in different orders.
        others: the channels whose writes come in another order.
        unknown: those that tasks of one step wrote to, where nothing shows the order of one of the savers.
    """

    def __init__(
        self, source: RecordFormat, target: RecordFormat, decode: Callable[[Payload], Any], *, as_stored: bool
    ) -> None:
        self._orders = _order_of(source, list if as_stored else None), _order_of(target, list)
        self.may_differ = self._orders[0] is not self._orders[1] or None in self._orders
        self._decode = decode
        self._deltas = set[str]()
        self.others, self.unknown = set[str](), set[str]()

    def note_metadata(self, metadata: Payload) -> None:
        """Take the names of delta channels from a checkpoint's metadata."""
        if self.may_differ and (metadata.tag not in ("json", "msgpack") or _COUNTERS.encode() in metadata.data):
            self._deltas.update(named(named(self._decode(metadata)).get(_COUNTERS)))

    def note_step(self, step: Sequence[Write]) -> None:
        """Compare the order of all writes of one checkpoint."""
        channels = {one.channel for one in step} & self._deltas
        if not channels:
            return
        own, other = (None if order is None else order(step) for order in self._orders)
        for channel in channels:
            if own is None or other is None:
                if len({one.task_id for one in step if one.channel == channel}) > 1:
                    self.unknown.add(channel)
            elif _of_channel(own, channel) != _of_channel(other, channel):
                self.others.add(channel)

    @property
    def words(self) -> str:
        """For the plan: which channels have writes that come in another order, behind a semicolon; "" for none."""
        parts = ((self.others, "reads"), (self.unknown - self.others, "may read"))
        return "".join(
            f"; LangGraph {reads} what tasks of one step wrote to {', '.join(sorted(some))} in another order there"
            for some, reads in parts
            if some
        )


def by_step(writes: Iterable[Write], note: Callable[[list[Write]], None]) -> Iterator[Write]:
    """The same writes; `note` gets those of each checkpoint, without their values, once all of them came."""
    ref: Ref | None = None
    step: list[Write] = []
    for write in writes:
        if write.ref != ref:
            note(step)
            ref, step = write.ref, []
        step.append(write._replace(payload=None))
        yield write
    note(step)


def _of_channel(writes: Iterable[Write], channel: str) -> list[Write]:
    return [one for one in writes if one.channel == channel]


def _order_of(form: RecordFormat, as_put: Order | None) -> Order | None:
    """The order in which LangGraph's saver of a database gives writes; None if nothing shows it.

    It follows from the format, because a bundle has nothing else of its database.
    """
    if form.body == REDIS:
        return _by_place
    if form.filter is FilterKind.PRESENT:  # Valkey's saver appends to a list
        return as_put
    if form.filter is FilterKind.OWN or form.metadata == mongodb_metadata.TAG:  # MongoDB's saver sorts nothing
        return None
    if form.apart and form.inline and not form.marks_snapshots:
        return _by_task
    return _by_text if form.versions == "int" else _by_path


def _by_path(writes: Sequence[Write]) -> list[Write]:
    """That of the run, and of most savers (langgraph-checkpoint 4.3, ``base/__init__.py: writes_sort_key``)."""
    return sorted(writes, key=lambda one: (one.task_path, one.task_id, _number(one)))


def _by_task(writes: Sequence[Write]) -> list[Write]:
    """MySQL: checkpoint-mysql 3.0, ``utils.py: deserialize_pending_writes``."""
    return sorted(writes, key=lambda one: (one.task_id, _number(one)))


def _by_text(writes: Sequence[Write]) -> list[Write]:
    """DynamoDB: the sort key of an item, which is text, so that 10 comes before 2 (checkpoint-aws 1.2)."""
    return sorted(writes, key=lambda one: f"{one.task_id}#{one.idx}".encode())


def _by_place(writes: Sequence[Write]) -> list[Write]:
    """Redis: the place in the task's batch, then the text of the key (checkpoint-redis 0.5, ``key_registry.py``)."""
    places: dict[str, int] = {}
    keyed = []
    for one in sorted(writes, key=_number):
        places[one.task_id] = place = places.get(one.task_id, -1) + 1
        keyed.append((place, f"{one.task_id}:{one.idx}".encode(), one))
    return [one for *_, one in sorted(keyed, key=lambda entry: entry[:2])]


def _number(write: Write) -> int:
    return write.idx if isinstance(write.idx, int) else 0
