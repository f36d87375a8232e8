"""An agent's records in Redis: each call that writes is one transaction in one round trip.

The keys are those of LangGraph's own saver (checkpoint-redis 0.5.2, ``__init__.py: put, put_writes, get_tuple``). Two
things differ. An existing ordinary write is kept, as on other databases, and a checkpoint that is stored after its
writes says that it has some. New keys expire with the checkpoint that they continue; only then a second round trip is
needed.
"""

import json
from collections.abc import Sequence
from itertools import islice
from typing import Any

from ckpt_cli.model import Checkpoint, CheckpointRow, Ref, Write, WriteKey
from ckpt_cli.savers.agent_rows import Found, TaskWrites
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.paging import pages
from ckpt_cli.savers.redis import records
from ckpt_cli.savers.redis.connection import Command, Connection, text
from ckpt_cli.savers.redis.images import Images
from ckpt_cli.savers.redis.json_numbers import respell_numbers
from ckpt_cli.savers.redis.key_agent_rows import KeyAgentRows
from ckpt_cli.savers.redis.keys import Keys, from_id, from_text, safe_id
from ckpt_cli.savers.redis.records import canonical, checkpoint_document, write_document
from ckpt_cli.savers.spelling import index_of

_MOST_EARLY = 1000
_TASKS = 200  # in one transaction, during which the server does nothing else


class RedisAgentRows(KeyAgentRows):
    """Reads and writes an agent's records on one server; each thread that writes has a connection of its own."""

    writers = 4
    joins = True
    _harmless = ("must be created at the root",)
    """The error for a path in a document that doesn't exist (RedisJSON 2, ``JSON.SET``)."""

    def __init__(self, saver: Saver, connection: Connection, keys: Keys, images: Images) -> None:
        super().__init__(saver, connection, images)
        self._keys = keys
        self._early: set[Ref] = set()

    def get(self, thread_id: str, ns: str, checkpoint_id: str | None) -> Found | None:
        """See `AgentRows.get`. The newest is what the pointer names; without a pointer the index is searched."""
        found = self._connection.moment(lambda: self._by_key(thread_id, ns, checkpoint_id))
        return super().get(thread_id, ns, None) if found is None and checkpoint_id is None else found

    def put(self, record: Checkpoint) -> None:
        """See `AgentRows.put`."""
        self.put_of_run(record, "")

    def put_of_run(self, record: Checkpoint, run_id: str) -> None:
        """See `AgentRows.put_of_run`; the index has a field for the run."""
        row, key = record.row, self._keys.checkpoint(record.row.ref)
        latest = self._keys.latest(row.thread_id, row.ns)
        parent = self._keys.checkpoint(Ref(row.thread_id, row.ns, row.parent_id)) if row.parent_id else key
        has_writes = row.ref in self._early
        document = checkpoint_document(record, None, has_writes=has_writes)
        document["checkpoint"] = {"type": "json", **document["checkpoint"], "pending_sends": []}  # as ``base.py`` does
        document["run_id"] = safe_id(run_id) if run_id else ""
        registry = self._keys.registry(row.ref)
        expiry, listed, *_ = self._write(
            self._images.expiry(parent),
            ("ZRANGE", registry, 0, -1),
            ("JSON.SET", key, "$", respell_numbers(canonical(document))),
            ("SET", latest, key),
        )
        self._early.discard(row.ref)
        if listed and not has_writes:  # another process stored them first
            self._write(("JSON.SET", key, "$.has_writes", "true"))
        if expire := self._expire(expiry, [key, latest, registry]):
            # Writes that another thread stores from now on find the expiry; those stored before get it here.
            *_, early = self._write(*expire, ("ZRANGE", registry, 0, -1))
            self._write(*self._expire(expiry, list(map(text, early))))

    def put_writes(self, writes: Sequence[Write], *, replace: bool) -> None:
        """See `AgentRows.put_writes`; a sorted set lists them, in their order."""
        self.put_tasks([TaskWrites(writes, replace)])

    def put_tasks(self, tasks: Sequence[TaskWrites]) -> None:
        """See `AgentRows.put_tasks`; one transaction for many tasks."""
        for page in pages(tasks, _TASKS):
            self._put_tasks(page)

    def _put_tasks(self, tasks: Sequence[TaskWrites]) -> None:
        of_checkpoints: dict[Ref, list[TaskWrites]] = {}
        for task in tasks:
            of_checkpoints.setdefault(task.writes[0].ref, []).append(task)
        sent = {ref: self._commands(ref, some) for ref, some in of_checkpoints.items()}
        answers = iter(self._write(*(command for commands in sent.values() for command in commands)))
        expire: list[Command] = []
        for ref, commands in sent.items():
            expiry, *_, marked, _ = islice(answers, len(commands))
            if isinstance(marked, Exception):
                self._note_early(ref)
            expire += self._expire(expiry, [key for _, key, *_ in commands[1:-2]] + [self._keys.registry(ref)])
        self._write(*expire)

    def _commands(self, ref: Ref, tasks: Sequence[TaskWrites]) -> list[Command]:
        """Ask for a checkpoint's expiry, store its writes, mark it, and list the writes, each task's in their order."""
        checkpoint, sets, listed = self._keys.checkpoint(ref), list[Command](), list[Any]()
        for writes, replace in tasks:
            condition = () if replace else ("NX",)
            for at, write in enumerate(writes):
                key = self._keys.write(_key_of(write))
                sets.append(("JSON.SET", key, "$", _document(write), *condition))
                listed += (at, key)
        mark = ("JSON.SET", checkpoint, "$.has_writes", "true")
        return [self._images.expiry(checkpoint), *sets, mark, ("ZADD", self._keys.registry(ref), *listed)]

    def _note_early(self, ref: Ref) -> None:
        """Remember writes that came before their checkpoint, which is then stored with their mark at once."""
        if len(self._early) >= _MOST_EARLY:  # checkpoints that were never stored
            self._early.clear()
        self._early.add(ref)

    def _by_key(self, thread_id: str, ns: str, checkpoint_id: str | None) -> Found | None:
        if checkpoint_id is None:
            (pointed,) = self._connection.read([("GET", self._keys.latest(thread_id, ns))])
            start = self._keys.checkpoint(Ref(thread_id, ns, "x"))[:-1]
            checkpoint_id = text(pointed or b"").removeprefix(start)
        ref = Ref(thread_id, ns, checkpoint_id)
        key = self._keys.checkpoint(ref)
        commands: list[Command] = [
            ("JSON.GET", key, "$.checkpoint"),
            ("JSON.GET", key, "$.parent_checkpoint_id", "$.metadata"),
            ("ZRANGE", self._keys.registry(ref), 0, -1),
        ]
        body, fields, listed = self._connection.read(commands) if checkpoint_id else (None, None, None)
        if not body or body == b"[]" or not fields:
            return None
        parents, metadata = (json.loads(fields)[name] for name in ("$.parent_checkpoint_id", "$.metadata"))
        row = CheckpointRow(*ref, (from_id(parents[0]) if parents and parents[0] else None) or None)
        checkpoint = Checkpoint(row, records.body(body[1:-1]), records.metadata(metadata[0] if metadata else None))
        return Found(checkpoint, self._writes(ref, [text(name) for name in listed or ()]))

    def _writes(self, ref: Ref, keys: Sequence[str]) -> list[Write]:
        documents = self._connection.read(("JSON.GET", key) for key in keys)
        writes = [_write(ref, json.loads(document)) for document in documents if document is not None]
        return sorted(writes, key=lambda write: write.order)


def _key_of(write: Write) -> WriteKey:
    return WriteKey(write.ref, write.task_id, write.idx)


def _document(write: Write) -> str:
    return respell_numbers(canonical(write_document(write, None)))


def _write(ref: Ref, document: dict[str, Any]) -> Write:
    name = WriteKey(ref, from_text(document.get("task_id")), index_of(document.get("idx")))
    fields = {"name": name, "channel": document.get("channel"), "path": document.get("task_path")}
    payload = records.payload(document.get("type"), document.get("blob"))
    return records.write(fields, payload, len(payload.data))
