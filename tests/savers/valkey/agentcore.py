"""AgentCoreValkeySaver with a default actor, and records as it stores them."""

from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph_checkpoint_aws import AgentCoreValkeySaver
from langgraph_checkpoint_aws.checkpoint.valkey.agentcore.models import (
    StoredCheckpoint,
    StoredWrite,
    ValkeyCheckpointerConfig,
)

from ckpt_cli.model import Checkpoint, Payload, Write
from tests.servers.redis import Server

ACTOR = "agent:7"


class Acting(AgentCoreValkeySaver):
    """The saver with a default actor for configs that name none."""

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return super().get_tuple(acting(config))

    def list(self, config: RunnableConfig | None, **options: Any) -> Iterator[CheckpointTuple]:
        return super().list(acting(config or {}), **options)

    def put(self, config: RunnableConfig, *rest: Any) -> RunnableConfig:
        return super().put(acting(config), *rest)

    def put_writes(self, config: RunnableConfig, writes: Any, task_id: str, task_path: str = "") -> None:
        super().put_writes(acting(config), writes, task_id, task_path)


def acting(config: Any, actor: str = ACTOR) -> Any:
    """A config with an actor."""
    return {**config, "configurable": {"actor_id": actor, **config.get("configurable", {})}}


def fill(server: Server, records: Iterable[Checkpoint | Write]) -> None:
    """Store records as the saver does (``saver.py: put, put_writes``), which itself takes no payloads."""
    with server.client() as client:
        client.rpush("agentcore:session:nobody:nothing:checkpoints", "1")
        for record in records:
            thread_id, ns, checkpoint_id = record.ref if isinstance(record, Write) else record.row.ref
            config = ValkeyCheckpointerConfig(thread_id=thread_id, actor_id=ACTOR, checkpoint_ns=ns)
            if isinstance(record, Write):
                client.rpush(f"{config.writes_key_prefix}:{checkpoint_id}", _write(record).model_dump_json())
                continue
            client.lpush(f"{config.session_key}:checkpoints", checkpoint_id)
            stored = StoredCheckpoint(
                checkpoint_id=checkpoint_id,
                session_id=config.session_id,
                actor_id=ACTOR,
                thread_id=thread_id,
                checkpoint_ns=ns,
                parent_checkpoint_id=record.row.parent_id,
                checkpoint_data=_stored(record.body),
                metadata=_stored(record.metadata),
                created_at=1.5e9,
            )
            client.set(f"{config.checkpoint_key_prefix}:{checkpoint_id}", stored.model_dump_json())


def _write(record: Write) -> StoredWrite:
    assert record.payload is not None
    return StoredWrite(
        checkpoint_id=record.checkpoint_id,
        task_id=record.task_id,
        channel=record.channel,
        value=_stored(record.payload),
        task_path=record.task_path,
        created_at=0.1,
    )


def _stored(payload: Payload) -> dict[str, str]:
    return {"type": payload.tag, "data": b64encode(payload.data).decode()}
