"""What LangGraph's own savers say of a thread, to compare a copy with its source."""

from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.redis.jsonplus_redis import JsonPlusRedisSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Command

from ckpt_cli.model import Payload
from ckpt_cli.serde.codec import Codec
from tests.graphs.building import Graph, on
from tests.truth_rendering import rendered

_SERDE, _REDIS = JsonPlusSerializer(), JsonPlusRedisSerializer()


def plain(value: Any) -> Any:
    """A live value as data that can be compared."""
    return rendered(Codec().decode(Payload(*_SERDE.dumps_typed(value))))


def records(saver: BaseCheckpointSaver[Any], thread_id: str, ns: str) -> list[Any]:
    """Every checkpoint of a namespace with its writes, as ``list`` gives them, but for the order of tasks.

    The ``list`` of Redis' own saver leaves objects as JSON. Snapshots of delta channels are left out: where values are
    stored by version, more checkpoints show them. What they are good for is in `states`.
    """
    return [
        [
            one.config["configurable"]["checkpoint_id"],
            ((one.parent_config or {}).get("configurable") or {}).get("checkpoint_id"),
            {
                name: plain(value)
                for name, value in _REDIS._revive_if_needed(one.checkpoint["channel_values"]).items()
                if type(value).__name__ != "_DeltaSnapshot"
            },
            {k: plain(v) for k, v in one.metadata.items()},
            sorted(
                ([task_id, channel, plain(value)] for task_id, channel, value in one.pending_writes or ()), key=repr
            ),
        ]
        for one in saver.list({"configurable": {"thread_id": thread_id, "checkpoint_ns": ns}})
        if one.config["configurable"]["checkpoint_ns"] == ns  # Redis' saver lists all, if it is the root's
    ]


def states(graph: Graph, thread_id: str) -> list[Any]:
    """What the graph says of every checkpoint, and of its head with the subgraphs.

    Some own savers give the writes of a step's tasks in the order in which they were stored, and so rebuild a delta
    channel's list in that order, not in that of the tasks.
    """
    configs = [one.config for one in graph.get_state_history(on(thread_id))]
    own = [one for one in configs if not one["configurable"].get("checkpoint_ns")]  # Redis' saver gives all namespaces
    found = [_state(graph.get_state(one)) for one in own]
    return [*found, _state(graph.get_state(on(thread_id), subgraphs=True))]


def _state(state: Any) -> Any:
    tasks = [
        [task.id, task.name, task.error, [[one.value, one.id] for one in task.interrupts], _inner(task.state)]
        for task in state.tasks
    ]
    return [
        state.config["configurable"].get("checkpoint_id"),
        _sorted(plain(state.values)),
        sorted(state.next),
        plain(tasks),
    ]


def _sorted(values: Any) -> Any:
    if not isinstance(values, dict):
        return values
    return {name: sorted(one, key=repr) if isinstance(one, list) else one for name, one in values.items()}


def _inner(state: Any) -> Any:
    return _state(state) if hasattr(state, "tasks") else plain(state)


def gone_on(graph: Graph, thread_id: str) -> Any:
    """What the next run of a thread gives: its questions get an answer, what failed runs again, a new input begins."""
    now = graph.get_state(on(thread_id))
    asked = {one.id: "yes" for task in now.tasks for one in task.interrupts}
    given: Any = Command(resume=asked) if asked else None
    try:
        values = graph.invoke(given, on(thread_id))
    except Exception as error:  # the scenario's own failure, which comes again
        return [type(error).__name__, str(error)]
    return plain(values)
