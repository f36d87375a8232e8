"""Makes a new checkpoint out of a stored one, in the same generation; unchanged values keep their exact bytes."""

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
    """A stored checkpoint that new ones are made of, with its parts decoded.

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
    """Read a checkpoint that new ones are to be made of.

    Raises:
        CheckpointNotFound, PayloadCorrupt.
    """
    stored = next(reader.saver.checkpoints([ref]), None)
    if stored is None:
        raise CheckpointNotFound(f"no checkpoint {ref.checkpoint_id} in thread {ref.thread_id!r}")
    return make_origin(stored, reader.state(ref), reader)


def make_origin(stored: Checkpoint, state: State, reader: Reader) -> Origin:
    """The origin of new checkpoints: a stored checkpoint, or one that is about to be stored."""
    metadata = must_have_metadata(reader.value(stored.metadata), stored.row.ref)
    return Origin(stored, state, whole(stored, reader.value), metadata)


def encode_checkpoint(
    reader: Reader, origin: Origin, row: CheckpointRow, body: Mapping[str, Any], metadata: Mapping[str, Any]
) -> Checkpoint:
    """The record of a checkpoint object as this database stores it, in the encodings of its origin."""
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
    """A new checkpoint one step after its origin.

    `sequence` is the step that its id carries, `edits` replaces keys of the body, `counters` are those of its delta
    channels, `metadata` has changes of the application's metadata. ``updated_channels`` is null: with a list there the
    library would run nothing (`prepare_next_tasks` only looks at nodes that those channels trigger).
    """
    head = reader.head(origin.ref.thread_id, origin.ref.ns)
    stamp = mint.stamp(head.checkpoint_id, origin.state.ts, sequence)
    own = {"id": stamp.id, "ts": stamp.ts, "updated_channels": None}
    body = {**origin.body, **{key: value for key, value in own.items() if key in origin.body}, **(edits or {})}
    row = CheckpointRow(origin.ref.thread_id, origin.ref.ns, stamp.id, parent_id)
    full_metadata = new_metadata(_own_metadata(origin, source, counters), origin.metadata, metadata)
    return encode_checkpoint(reader, origin, row, body, full_metadata)


def _own_metadata(origin: Origin, source: str, counters: Mapping[str, Any] | None) -> dict[str, Any]:
    """LangGraph's own keys as ``update_state`` writes them (langgraph 1.2 ``pregel/main.py``) in this generation."""
    metadata: dict[str, Any] = {"source": source, "step": origin.step + 1}
    if "writes" in origin.metadata:  # up to langgraph 0.4
        metadata["writes"] = {}
    if "parents" in origin.metadata or origin.state.v > 1:  # since langgraph 0.2.28
        metadata["parents"] = origin.metadata.get("parents", {})
    if counters:
        metadata[COUNTERS] = counters
    return metadata
