"""`CkptSaver`: LangGraph's checkpointer over any database that ckpt can write.

`CkptSaver` writes what the database's own LangGraph saver writes for the same calls. An agent isn't a person at a
terminal. So ckpt asks the agent nothing, and the operation log doesn't record the agent's changes.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from ckpt_cli.langgraph import record_sets
from ckpt_cli.langgraph.async_methods import AsyncMethods, Done
from ckpt_cli.langgraph.batch_storage import store_tasks
from ckpt_cli.langgraph.configs import ConfigKeys, config_of, run_of
from ckpt_cli.langgraph.databases import agent_faults, create_database, must_not_expire
from ckpt_cli.langgraph.delta import read_delta_histories
from ckpt_cli.langgraph.encoding import Encoding
from ckpt_cli.langgraph.listing import Listing
from ckpt_cli.langgraph.new_tables import Database, NotSetUp, migrate, open_given, open_or_make
from ckpt_cli.langgraph.opened import Opened
from ckpt_cli.langgraph.task_batches import TaskBatches
from ckpt_cli.langgraph.tuples import Tuples
from ckpt_cli.langgraph.writing import encode_writes
from ckpt_cli.model import CheckpointRow, Plan, Ref
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.plan_application import apply_plan

T = TypeVar("T")


class CkptSaver(AsyncMethods, BaseCheckpointSaver[Any]):
    """A checkpointer on an open database. Several Python threads may use it at the same time.

    Args:
        database: a URL, a path or a name from the config file, as for ``--db``; a ``psycopg_pool.ConnectionPool``, as
            for LangGraph's own saver, which lends a connection for each call; or an open saver of ckpt's own.
        serde: the serializer of values; the default is LangGraph's own.
        ttl: always refused, because no document that `CkptSaver` writes expires.
        ttl_seconds: the name that LangGraph's savers of DynamoDB and Valkey have for it; refused too.

    Raises:
        DatabaseUnreachable: the database doesn't exist, can't be reached, or has none of LangGraph's tables; nothing is
            created.
        NotSupported: the serializer encrypts, but this kind of database can't keep encrypted checkpoints; or there is
            a `ttl`; or `database` is another connection, pool or client of a driver.
    """

    def __init__(
        self,
        database: Database | Saver,
        *,
        serde: SerializerProtocol | None = None,
        ttl: object = None,
        ttl_seconds: object = None,
    ) -> None:
        must_not_expire(ttl, ttl_seconds)
        super().__init__(serde=serde)
        self._database = None if isinstance(database, Saver) else database
        saver = database if isinstance(database, Saver) else open_given(database)
        self._opened = Opened(lambda new: Encoding(new.form, self.serde).check_serializer(), saver)
        self._batches = TaskBatches(partial(store_tasks, self._opened))

    @classmethod
    def from_conn_string(
        cls,
        conn_string: str,
        *,
        serde: SerializerProtocol | None = None,
        ttl: object = None,
        ttl_seconds: object = None,
    ) -> Self:
        """Open a database as ``from_conn_string`` of LangGraph's own savers does; for ``with`` and ``async with``.

        As with the own savers, a missing SQLite file is created, ``:memory:`` is a database that is never stored,
        and on Postgres, MySQL and Redis the first program must call `setup`.

        Raises:
            DatabaseUnreachable: the database can't be reached.
            NotSupported: see the class.
        """
        must_not_expire(ttl, ttl_seconds)
        made = cls(open_or_make(conn_string), serde=serde)
        made._database = conn_string
        return made

    def setup(self) -> Done:
        """Make LangGraph's tables, or bring older ones up to date, by LangGraph's own setup; may also be awaited.

        `CkptSaver` writes rows of any generation of tables, so it needs no setup of existing ones. Tables that the own
        setup doesn't bring up to date (a shallow saver's, for example) stay as they are.

        Raises:
            MissingExtra: LangGraph's own saver of this kind of database isn't installed.
            Failed: the server refused.
        """
        with self._opened.lock:
            before = self._saver
            if isinstance(before, NotSetUp):
                self._opened.use(before.set_up())
            elif self._database is not None and migrate(self._database, before):
                self._opened.use(open_given(self._database))
                before.close()
        return Done()

    @classmethod
    def create(cls, path: str | Path, *, serde: SerializerProtocol | None = None) -> Self:
        """Create a SQLite database and open it; on a server, `setup` makes the tables.

        Raises:
            Refused: the file exists already.
            DatabaseUnreachable: the file can't be created.
        """
        return cls(create_database(path), serde=serde)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that a config names, or the newest of its thread and namespace."""
        thread_id, ns, checkpoint_id = ConfigKeys.of_thread(config)
        with self._opened.lock:
            found = self._opened.rows.get(thread_id, ns, checkpoint_id)
            return None if found is None else self._tuples.of_stored(*found)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Checkpoints by descending id, of one thread or of all; they are read page by page.

        Args:
            config: names the thread, and perhaps the namespace and the checkpoint; None for every thread.
            filter: what the metadata must be, as LangGraph's own saver of this database compares it: Postgres and
                MySQL by containment of JSON, SQLite by JSON paths, MongoDB by equal fields, Redis by its indexed
                fields, others by equal values.
            before: names a checkpoint; only checkpoints with a lower id are given.
            limit: how many checkpoints to give at most.

        Raises:
            FilterRefused: LangGraph's own saver refuses such a filter too; a ValueError.
            TypeError: the filter has a value of a type that the database can't hold.
        """
        return Listing(self._tuples, self._look).tuples(config, filter, before, limit)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint, which replaces any with the same id, and return the config that names the checkpoint."""
        thread_id, ns, parent_id = ConfigKeys.of_thread(config)
        row = CheckpointRow(thread_id, ns, checkpoint["id"], parent_id)
        record = self._encoding.checkpoint(row, checkpoint, metadata, config, new_versions)
        with self._opened.writing, agent_faults():
            self._opened.rows.put_of_run(record, run_of(config, metadata))
        saved = config_of(row.ref)
        saved["configurable"]["thread_id"] = config["configurable"]["thread_id"]
        return saved

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Save what a task wrote.

        Existing writes are kept, with one exception: if all new writes are special (error, interrupt, resume), they
        replace existing writes.
        """
        self._opened.put_tasks([encode_writes(self._encoding, config, writes, task_id, task_path)])

    def delete_thread(self, thread_id: str) -> None:
        """Remove all checkpoints and writes of a thread."""
        self._change(
            lambda: apply_plan(self._saver, Plan("", remove=record_sets.all_records(self._saver, str(thread_id))))
        )

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Remove the checkpoints that these runs made (``run_id`` in or, on Redis, beside metadata), with their writes.

        A later checkpoint that rebuilds a delta channel from a removed checkpoint loses the channel's value.
        """
        if not run_ids:
            return
        refs = self._look(lambda: record_sets.checkpoints_of_runs(self._saver, self._encoding, set(run_ids)))
        self._change(lambda: apply_plan(self._saver, Plan("", remove=record_sets.with_writes(self._saver, refs))))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints and writes of a thread under another thread id.

        Raises:
            Refused: the target thread has one of these checkpoints already; nothing was written.
        """
        source, target = str(source_thread_id), str(target_thread_id)
        self._change(
            lambda: apply_plan(self._saver, Plan("", add=record_sets.copied_records(self._saver, source, target)))
        )

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest", keep_last: int | None = None) -> None:
        """Remove the checkpoints of these threads: all but the newest of each namespace, or all (``delete``).

        The checkpoints from which delta channels of kept ones are rebuilt stay too. The namespace of a subgraph's call
        goes with the root's checkpoint from which the call began (not on Redis, whose own saver keeps it).

        Args:
            thread_ids: their ids.
            strategy: ``keep_latest`` or ``delete``.
            keep_last: how many checkpoints of each namespace to keep, whatever the strategy, as for Redis' own saver.

        Raises:
            ValueError: there is no such strategy, or `keep_last` is negative.
            TypeError: one thread id was given instead of several.
        """
        if isinstance(thread_ids, str):
            raise TypeError("thread_ids must be a sequence of thread ids, not one")
        if strategy not in ("keep_latest", "delete"):
            raise ValueError(f"no such strategy: {strategy!r} (keep_latest, delete)")
        kept = int(strategy == "keep_latest") if keep_last is None else keep_last
        if kept < 0:
            raise ValueError(f"keep_last must not be negative: {kept}")
        for thread_id in map(str, thread_ids):
            if kept == 0:
                self.delete_thread(thread_id)
            else:
                self._change(lambda of=thread_id: self._keep_last(of, kept))  # type: ignore[misc]

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """For each delta channel, the nearest stored value and the later writes, from which the channel is rebuilt."""
        thread_id, ns, checkpoint_id = ConfigKeys.of_thread(config)

        def look() -> Mapping[str, DeltaChannelHistory]:
            rows = [] if checkpoint_id else self._saver.newest(thread_id, ns, 1)
            start = checkpoint_id or next((row.checkpoint_id for row in rows), "")
            return read_delta_histories(self._saver, self._encoding, Ref(thread_id, ns, start), channels)

        return self._look(look) if channels else {}

    def get_next_version(self, current: Any, channel: None) -> Any:  # noqa: ARG002 - LangGraph's signature
        """The version after `current`: text or an int, as in the database.

        checkpoint 4.3, ``memory/__init__.py: get_next_version`` (text), ``base/__init__.py`` (int).
        """
        before = int(current.partition(".")[0]) if isinstance(current, str) else int(current or 0)
        if self._saver.form.versions == "int":
            return before + 1
        return f"{before + 1:032}.{random.random():016}"  # noqa: S311 - as the library does

    def close(self) -> None:
        """Close the database; safe to call twice."""
        with self._opened.lock:
            self._saver.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _saver(self) -> Saver:
        return self._opened.saver

    @property
    def _encoding(self) -> Encoding:
        return Encoding(self._saver.form, self.serde)

    @property
    def _tuples(self) -> Tuples:
        return Tuples(self._saver, self._encoding, self.get_next_version)

    def _look(self, look: Callable[[], T]) -> T:
        with self._opened.lock:
            return self._saver.moment(look)

    def _change(self, work: Callable[[], None]) -> None:
        with self._opened.lock, agent_faults():
            self._saver.transaction(work)

    def _keep_last(self, thread_id: str, kept: int) -> None:
        apply_plan(self._saver, record_sets.pruning(self._saver, self._encoding, thread_id, kept))
