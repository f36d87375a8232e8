"""Makes LangGraph's `CheckpointTuple` from stored checkpoints: values, metadata, writes, old Sends."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from langgraph.checkpoint.base import Checkpoint as Live
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.serde.types import TASKS

from ckpt_cli.langgraph.configs import by_thread, config_of
from ckpt_cli.langgraph.encoding import Encoding
from ckpt_cli.model import Checkpoint, Ref, Write
from ckpt_cli.savers.contract import Saver


class Tuples(NamedTuple):
    """Reads checkpoint tuples from a database; used within one moment."""

    saver: Saver
    encoding: Encoding
    next_version: Callable[[Any, None], Any]

    def tuples(self, refs: Sequence[Ref]) -> list[CheckpointTuple]:
        """These checkpoints in the order of `refs`, each with its writes; missing checkpoints are left out."""
        stored = list(self.saver.checkpoints(refs))
        writes = self.writes([checkpoint.row.ref for checkpoint in stored])
        return [self.of_stored(checkpoint, writes.get(checkpoint.row.ref, [])) for checkpoint in stored]

    def writes(self, refs: Sequence[Ref]) -> dict[Ref, list[Write]]:
        """The writes of each of these checkpoints, in LangGraph's order."""
        writes: dict[Ref, list[Write]] = {}
        for (thread_id, ns), ids in by_thread(refs).items():
            for write in self.saver.writes(thread_id, ns, ids):
                writes.setdefault(write.ref, []).append(write)
        return writes

    def of_stored(self, stored: Checkpoint, writes: Sequence[Write]) -> CheckpointTuple:
        """The tuple of a checkpoint and its writes; only old Sends need another read (`_add_sends`)."""
        row, live = stored.row, self.encoding.body(stored)
        if stored.channels is not None and live["v"] < 4 and row.parent_id:
            self._add_sends(live, Ref(row.thread_id, row.ns, row.parent_id))
        return CheckpointTuple(
            config_of(row.ref),
            live,
            self.encoding.metadata(stored.metadata),
            config_of(Ref(row.thread_id, row.ns, row.parent_id)) if row.parent_id else None,
            [(write.task_id, write.channel, value) for write, value in self._values(writes)],
        )

    def _add_sends(self, live: Live, parent: Ref) -> None:
        """Add a checkpoint's Sends, which before format `v` 4 are stored only among the parent's writes.

        checkpoint-postgres 3.2, ``base.py: _migrate_pending_sends``.
        """
        writes = self.saver.moment(lambda: self.writes([parent])).get(parent, [])
        sends = [value for _, value in self._values([write for write in writes if write.channel == TASKS])]
        if sends:
            versions = live["channel_versions"]
            live["channel_values"][TASKS] = sends
            versions[TASKS] = max(versions.values()) if versions else self.next_version(None, None)

    def _values(self, writes: Sequence[Write]) -> Iterator[tuple[Write, Any]]:
        for write in writes:
            if write.payload is not None:
                yield write, self.encoding.value(write.payload)
