"""A new checkpoint made out of a stored one, in the generation of that one: untouched values keep their very bytes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ckpt_cli.errors import CheckpointNotFound
from ckpt_cli.history.reducers.delta import COUNTERS
from ckpt_cli.layouts import must_have_metadata, placed, whole
from ckpt_cli.model import Checkpoint, CheckpointRow, Ref
from ckpt_cli.plans.metadata import UNCHANGED, MetadataChanges, new_metadata
from ckpt_cli.plans.mint import Mint
from ckpt_cli.reading import Reader
from ckpt_cli.values.state import State


@dataclass(frozen=True, slots=True)
class Origin:
    """A stored checkpoint that others are made of: as stored, and taken apart.

    Attributes:
        body: the checkpoint object with all values in it, wherever the database keeps them.
    """

    stored: Checkpoint
    state: State
    body: Mapping[str, Any]
    metadata: Mapping[str, Any]

    @property
    def ref(self) -> Ref:
        """Its name."""
        return self.state.ref

    @property
    def step(self) -> int:
        """Its step as the library takes it: -1 where none is recorded."""
        return -1 if self.state.step is None else self.state.step


def read_origin(reader: Reader, ref: Ref) -> Origin:
    """Read a checkpoint to make others of it.

    Raises:
        CheckpointNotFound, PayloadCorrupt.
    """
    stored = next(reader.saver.checkpoints([ref]), None)
    if stored is None:
        raise CheckpointNotFound(f"no checkpoint {ref.checkpoint_id} in thread {ref.thread_id!r}")
    return make_origin(stored, reader.state(ref), reader)


def make_origin(stored: Checkpoint, state: State, reader: Reader) -> Origin:
    """A checkpoint, stored or about to be, to make others of."""
    metadata = must_have_metadata(reader.value(stored.metadata), stored.row.ref)
    return Origin(stored, state, whole(stored, reader.value), metadata)


def encode_checkpoint(
    reader: Reader, origin: Origin, row: CheckpointRow, body: Mapping[str, Any], metadata: Mapping[str, Any]
) -> Checkpoint:
    """A checkpoint object as this database keeps it, in the encodings of the one it is made of."""
    marked = reader.saver.form.marks_snapshots
    return placed(row, body, metadata, origin.stored, reader.value, reader.codec.encode, marked=marked)


def make_child(
    reader: Reader,
    mint: Mint,
    origin: Origin,
    *,
    parent_id: str | None,
    sequence: int,
    edits: Mapping[str, Any] | None = None,
    counters: Mapping[str, Any] | None = None,
    source: str = "fork",
    metadata: MetadataChanges = UNCHANGED,
) -> Checkpoint:
    """A checkpoint one step after the one it is made of.

    `sequence` is the step its id carries, `edits` are keys of the body to replace, `counters` those of its delta
    channels, `metadata` changes of the application's metadata. ``updated_channels`` is null: with a list there the
    library would run nothing (`prepare_next_tasks` only looks at nodes that those channels trigger).
    """
    head = reader.head(origin.ref.thread_id, origin.ref.ns)
    stamp = mint.stamp(head.checkpoint_id, origin.state.ts, sequence)
    own = {"id": stamp.id, "ts": stamp.ts, "updated_channels": None}
    body = {**origin.body, **{key: value for key, value in own.items() if key in origin.body}, **(edits or {})}
    row = CheckpointRow(origin.ref.thread_id, origin.ref.ns, stamp.id, parent_id)
    told = new_metadata(_own_metadata(origin, source, counters), origin.metadata, metadata)
    return encode_checkpoint(reader, origin, row, body, told)


def _own_metadata(origin: Origin, source: str, counters: Mapping[str, Any] | None) -> dict[str, Any]:
    """As ``update_state`` leaves it (langgraph 1.2 ``pregel/main.py``), with the keys of the thread's generation."""
    metadata: dict[str, Any] = {"source": source, "step": origin.step + 1}
    if "writes" in origin.metadata:  # up to langgraph 0.4
        metadata["writes"] = {}
    if "parents" in origin.metadata or origin.state.v > 1:  # since langgraph 0.2.28
        metadata["parents"] = origin.metadata.get("parents", {})
    if counters:
        metadata[COUNTERS] = counters
    return metadata
