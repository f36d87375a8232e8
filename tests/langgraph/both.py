"""LangGraph's own saver of a database, and the adapter on a second one: every call that writes is made on both."""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from ckpt_cli.langgraph import CkptSaver
from tests.cross.backend import Backend
from tests.langgraph.places import Where


class Both(BaseCheckpointSaver[Any]):
    """Reads with the official one.

    Both get copies: LangGraph gives messages their ids while they are saved.
    """

    def __init__(self, mine: CkptSaver, theirs: BaseCheckpointSaver[Any], places: tuple[Backend, Backend]) -> None:
        super().__init__(serde=theirs.serde)
        self.mine, self.theirs, self.places = mine, theirs, places
        self.get_tuple = theirs.get_tuple  # type: ignore[method-assign]
        self.list = theirs.list  # type: ignore[assignment, method-assign]
        self.get_next_version = theirs.get_next_version  # type: ignore[method-assign]
        self.get_delta_channel_history = theirs.get_delta_channel_history  # type: ignore[method-assign]

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        checkpoint = deepcopy(checkpoint)
        theirs = self.theirs.put(config, checkpoint, metadata, new_versions)
        assert self.mine.put(config, checkpoint, metadata, new_versions) == theirs
        return theirs

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        writes = deepcopy(writes)
        self.theirs.put_writes(config, writes, task_id, task_path)
        self.mine.put_writes(config, writes, task_id, task_path)

    def delete_thread(self, thread_id: str) -> None:
        self.theirs.delete_thread(thread_id)
        self.mine.delete_thread(thread_id)


@contextmanager
def both(where: Where) -> Iterator[Both]:
    """Two empty databases."""
    places = where(), where()
    with CkptSaver(places[0].url) as mine, places[1].official() as theirs:
        yield Both(mine, theirs, places)
