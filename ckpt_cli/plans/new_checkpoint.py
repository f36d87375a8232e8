"""Makes a new checkpoint of a stored one: layout, encodings, LangGraph's own metadata, kept bytes.

Its format is that of the same LangGraph generation. Unchanged values keep their exact bytes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from ckpt_cli.errors import CheckpointNotFound
from ckpt_cli.history.state.delta_counters import COUNTERS
from ckpt_cli.history.state.javascript import writes_javascript
from ckpt_cli.layouts import must_have_metadata, placed, whole
from ckpt_cli.model import NULL, Checkpoint, CheckpointRow, Payload, Ref
from ckpt_cli.plans.branch_versions import above_other_branches, highest_version
from ckpt_cli.plans.metadata import UNCHANGED, MetadataChanges, new_metadata
from ckpt_cli.plans.mint import Mint
from ckpt_cli.reading import Reader
from ckpt_cli.values.state import State


@dataclass(frozen=True, slots=True)
class Origin:
    """A decoded checkpoint from which new checkpoints are made.

    Attributes:
        body: the checkpoint object with all its channel values, even if the database stores these in other rows.
    """

    stored: Checkpoint
    state: State
    body: Mapping[str, Any]
    metadata: Mapping[str, Any]

    @property
    def ref(self) -> Ref:
        """Thread, namespace and id of the checkpoint."""
        return self.state.ref

    @property
    def step(self) -> int:
        """The step; -1 if none is recorded, like in the library."""
        return -1 if self.state.step is None else self.state.step


def read_origin(reader: Reader, ref: Ref) -> Origin:
    """Read the checkpoint from which new checkpoints will be made.

    Raises:
        CheckpointNotFound, PayloadCorrupt.
    """
    stored = next(reader.saver.checkpoints([ref]), None)
    if stored is None:
        raise CheckpointNotFound(f"no checkpoint {ref.checkpoint_id} in thread {ref.thread_id!r}")
    return make_origin(stored, reader.state(ref), reader)


def make_origin(stored: Checkpoint, state: State, reader: Reader) -> Origin:
    """The origin for a checkpoint that is stored already or will be stored."""
    metadata = must_have_metadata(reader.value(stored.metadata), stored.row.ref)
    return Origin(stored, state, whole(stored, reader.value), metadata)


def encode_checkpoint(
    reader: Reader, origin: Origin, row: CheckpointRow, body: Mapping[str, Any], metadata: Mapping[str, Any]
) -> Checkpoint:
    """The record of a new checkpoint, in the layout of this database and the encodings of its origin."""
    marked = reader.saver.form.marks_snapshots
    encode = partial(reader.codec.encode, javascript=writes_javascript(origin.state))
    return placed(row, body, metadata, origin.stored, reader.value, encode, marked=marked)


def encode_write(reader: Reader, origin: Origin, value: Any) -> Payload:
    """The value of a new write, in the encoding of the checkpoint from which its task starts."""
    javascript = writes_javascript(origin.state)
    if value is None and not javascript:
        return NULL
    return reader.codec.encode(value, like=origin.stored.body, javascript=javascript)


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

    ``updated_channels`` is null. With a list, the library would run nothing, because `prepare_next_tasks` only looks at
    the nodes that the listed channels trigger.

    Args:
        reader: the database.
        mint: makes the id.
        origin: the checkpoint from which the child is made.
        parent_id: the parent of the new checkpoint.
        sequence: the step that is encoded in the new id.
        edits: new values for keys of the body.
        counters: the counters of the delta channels, for the metadata.
        source: the ``source`` in the metadata.
        metadata: changes of the application's metadata.
    """
    head = reader.head(origin.ref.thread_id, origin.ref.ns)
    stamp = mint.stamp(head.checkpoint_id, origin.state.ts, sequence)
    own = {"id": stamp.id, "ts": stamp.ts, "updated_channels": None}
    body = {**origin.body, **{key: value for key, value in own.items() if key in origin.body}, **(edits or {})}
    body |= above_other_branches(body, origin.state, highest_version(reader, origin.stored, origin.state))
    row = CheckpointRow(origin.ref.thread_id, origin.ref.ns, stamp.id, parent_id)
    full_metadata = new_metadata(_own_metadata(origin, source, counters), origin.metadata, metadata)
    return encode_checkpoint(reader, origin, row, body, full_metadata)


def _own_metadata(origin: Origin, source: str, counters: Mapping[str, Any] | None) -> dict[str, Any]:
    """LangGraph's own metadata keys, as ``update_state`` of this generation writes them (1.2 ``pregel/main.py``)."""
    metadata: dict[str, Any] = {"source": source, "step": origin.step + 1}
    if "writes" in origin.metadata:  # up to langgraph 0.4
        metadata["writes"] = {}
    if "parents" in origin.metadata or origin.state.v > 1:  # since langgraph 0.2.28
        metadata["parents"] = origin.metadata.get("parents", {})
    if counters:
        metadata[COUNTERS] = counters
    return metadata
