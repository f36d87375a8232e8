"""`AsyncMethods`: each ``a…`` method runs its sync version in a thread; the event loop isn't blocked.

Where the database can store what several tasks wrote in one request, one thread does; see `task_batches`.
"""

from asyncio import to_thread
from collections.abc import AsyncIterator, Generator, Mapping, Sequence
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)

from ckpt_cli.langgraph.batch_storage import Encode
from ckpt_cli.langgraph.encoding import Encoding
from ckpt_cli.langgraph.opened import Opened
from ckpt_cli.langgraph.task_batches import TaskBatches
from ckpt_cli.langgraph.writing import encode_writes


class Done:
    """The result of a method that may be awaited or not, because LangGraph has a sync and an async version of it."""

    def __await__(self) -> Generator[None, None, None]:
        """Wait for nothing."""
        yield from ()


class AsyncMethods(BaseCheckpointSaver[Any]):
    """All ``a…`` methods of LangGraph's checkpointers; `CkptSaver` documents the versions without the ``a``."""

    _batches: TaskBatches[Encode]
    _opened: Opened

    if TYPE_CHECKING:

        @property
        def _encoding(self) -> Encoding: ...
        def close(self) -> None: ...  # noqa: D102
        def prune(self, thread_ids: Sequence[str], *, strategy: str = ..., keep_last: int | None = ...) -> None: ...  # noqa: D102

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Async version of `get_tuple`."""
        return await to_thread(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Async version of `list`."""
        tuples = iter(self.list(config, filter=filter, before=before, limit=limit))
        while (item := await to_thread(next, tuples, None)) is not None:
            yield item

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Async version of `put`."""
        return await to_thread(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Async version of `put_writes`."""
        if not self._opened.rows.joins:
            return await to_thread(self.put_writes, config, writes, task_id, task_path)
        encode = partial(encode_writes, self._encoding, config, writes, task_id, task_path)
        return await self._batches.put(partial(copy_context().run, encode))

    async def adelete_thread(self, thread_id: str) -> None:
        """Async version of `delete_thread`."""
        await to_thread(self.delete_thread, thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Async version of `delete_for_runs`."""
        await to_thread(self.delete_for_runs, run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Async version of `copy_thread`."""
        await to_thread(self.copy_thread, source_thread_id, target_thread_id)

    async def aprune(
        self, thread_ids: Sequence[str], *, strategy: str = "keep_latest", keep_last: int | None = None
    ) -> None:
        """Async version of `prune`."""
        await to_thread(self.prune, thread_ids, strategy=strategy, keep_last=keep_last)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Async version of `get_delta_channel_history`."""
        return await to_thread(self.get_delta_channel_history, config=config, channels=channels)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await to_thread(self.close)
