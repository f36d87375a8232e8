"""What tasks of an event loop write in the same moment is stored together, and each call still has its own outcome."""

import asyncio
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from threading import Event
from typing import Any

import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ckpt_cli.errors import Failed, Refused
from ckpt_cli.langgraph import CkptSaver
from tests.langgraph.places import places
from tests.servers.redis import Server

CHECKPOINT: Any = {"v": 4, "id": "1", "ts": "", "channel_values": {}, "channel_versions": {}, "versions_seen": {}}


@pytest.fixture
def url(request: pytest.FixtureRequest) -> str:
    """An empty database with an index."""
    return places(request, "redis")().url


@pytest.fixture
def saver(url: str) -> Iterator[CkptSaver]:
    """A saver with checkpoints of two threads."""
    with CkptSaver(url) as saver:
        for thread_id in ("t", "other"):
            saver.put(at(thread_id), CHECKPOINT, {"source": "loop", "step": 1}, {})
        yield saver


def at(thread_id: str) -> Any:
    """The config of a thread's checkpoint."""
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": "", "checkpoint_id": "1"}}


def put(saver: CkptSaver, task: str, value: object = 1, thread_id: str = "t") -> Any:
    """A call for a task that wrote to one channel."""
    return saver.aput_writes(at(thread_id), [("channel", value)], task)


def stored(saver: CkptSaver, thread_id: str = "t") -> dict[str, Any]:
    """What each task wrote, as stored."""
    found = saver.get_tuple(at(thread_id))
    return {task: value for task, _, value in (found.pending_writes if found else None) or []}


async def outcomes(*calls: Any) -> list[Any]:
    """The result or error of each of some calls that are made in the same moment."""
    return await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), 60)


class Gate(JsonPlusSerializer):
    """Holds the thread that encodes the text "held" until the gate is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.reached, self.opened = Event(), Event()

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """See `JsonPlusSerializer`."""
        if obj == "held":
            self.reached.set()
            assert self.opened.wait(60)
        return super().dumps_typed(obj)


@pytest.fixture
def gate(saver: CkptSaver) -> Iterator[Gate]:
    """The saver's serializer."""
    saver.serde = gate = Gate()
    yield gate
    gate.opened.set()


def transactions(client: Any) -> int:
    """How many transactions the server has run."""
    return int(client.info("commandstats").get("cmdstat_exec", {"calls": 0})["calls"])


def test_few_transactions(saver: CkptSaver, redis_server: Server) -> None:
    """One transaction stores what 200 tasks write, whichever checkpoints they belong to."""
    numbers = range(450)
    with redis_server.client() as client:
        before = transactions(client)
        results = asyncio.run(outcomes(*(put(saver, f"{n}", n, ("t", "other")[n % 2]) for n in numbers)))
        assert transactions(client) - before == 3
    assert results == [None] * len(numbers)
    assert stored(saver) == {f"{n}": n for n in numbers[::2]}
    assert stored(saver, "other") == {f"{n}": n for n in numbers[1::2]}


def test_many_bytes(saver: CkptSaver) -> None:
    """Writes of more bytes than are sent at once are all stored."""
    texts = {f"{n}": f"{n}" * 1_500_000 for n in range(4)}
    assert asyncio.run(outcomes(*(put(saver, *one) for one in texts.items()))) == [None] * 4
    assert stored(saver) == texts


def test_each_returns_when_its_own_is_stored(saver: CkptSaver, redis_server: Server) -> None:
    """A call doesn't return before its write is in the database, however many others are made meanwhile."""

    async def one(client: Any, number: int) -> int:
        await asyncio.sleep(number % 7 / 1000)
        await put(saver, f"task {number}", number)
        return int(client.exists(f"checkpoint_write:t:__empty__:1:task {number}:0"))

    with redis_server.client() as client:
        assert asyncio.run(outcomes(*(one(client, number) for number in range(60)))) == [1] * 60


def test_in_order(saver: CkptSaver) -> None:
    """Of calls for one task that are made in the same moment, the last error counts, and the first value."""
    errors = [saver.aput_writes(at("t"), [("__error__", number)], "failed") for number in range(3)]
    assert asyncio.run(outcomes(*errors, *(put(saver, "done", number) for number in range(3)))) == [None] * 6
    assert stored(saver) == {"failed": 2, "done": 0}


def test_what_cannot_be_encoded(saver: CkptSaver) -> None:
    """A value that no serializer takes, or a config without a checkpoint, is the error of that call alone."""
    no_checkpoint = saver.aput_writes({"configurable": {"thread_id": "t"}}, [("channel", 1)], "c")
    nothing = saver.aput_writes(at("t"), [], "nothing")
    results = asyncio.run(
        outcomes(put(saver, "a"), put(saver, "b", lambda: 1), no_checkpoint, nothing, put(saver, "d"))
    )
    assert [type(result) for result in results] == [type(None), TypeError, KeyError, type(None), type(None)]
    assert stored(saver) == {"a": 1, "d": 1}


def other_type(client: Any) -> None:
    client.set("write_keys_zset:other:__empty__:1", "no sorted set")


def no_right(client: Any) -> None:
    """The server then refuses a transaction as a whole."""
    client.execute_command("ACL", "SETUSER", "agent", "resetkeys", "~*:t:*")


@pytest.mark.parametrize(("spoil", "error"), [(other_type, Failed), (no_right, Refused)])
def test_what_the_server_refuses(
    url: str, saver: CkptSaver, redis_server: Server, spoil: Callable[[Any], None], error: type[Exception]
) -> None:
    """Writes that the server doesn't take are the error of their own call; those beside them are stored."""
    with redis_server.client() as client:
        client.execute_command("ACL", "SETUSER", "agent", "on", ">secret", "~*", "+@all")
        try:
            with CkptSaver(url.replace("//", "//agent:secret@")) as agent:
                spoil(client)
                results = asyncio.run(outcomes(put(agent, "a"), put(agent, "b", 1, "other"), put(agent, "c")))
        finally:
            client.execute_command("ACL", "DELUSER", "agent")
    assert [type(result) for result in results] == [type(None), error, type(None)]
    assert stored(saver) == {"a": 1, "c": 1}


def test_expiry(saver: CkptSaver, redis_server: Server) -> None:
    """Writes on several checkpoints that are stored together expire each with its own checkpoint."""
    with redis_server.client() as client:
        client.pexpireat("checkpoint:t:__empty__:1", 4_000_000_000_000)
        client.pexpireat("checkpoint:other:__empty__:1", 4_100_000_000_000)
        asyncio.run(outcomes(*(put(saver, "task", 1, thread_id) for thread_id in ("t", "other"))))
        assert [
            client.execute_command("PEXPIRETIME", key.format(thread_id))
            for thread_id in ("t", "other")
            for key in ("checkpoint_write:{}:__empty__:1:task:0", "write_keys_zset:{}:__empty__:1")
        ] == [4_000_000_000_000] * 2 + [4_100_000_000_000] * 2


def test_before_their_checkpoint(saver: CkptSaver, redis_server: Server) -> None:
    """A checkpoint says that it has writes, whether these are stored together before it or after it."""
    asyncio.run(outcomes(*(put(saver, "task", 1, thread_id) for thread_id in ("late", "t", "later"))))
    for thread_id in ("late", "later"):
        saver.put(at(thread_id), CHECKPOINT, {"source": "loop", "step": 1}, {})
    with redis_server.client() as client:
        keys = [f"checkpoint:{thread_id}:__empty__:1" for thread_id in ("late", "t", "later", "other")]
        marks = [client.json().get(key, "$.has_writes") for key in keys]
    assert marks == [[True], [True], [True], [False]]
    assert [stored(saver, thread_id) for thread_id in ("late", "later")] == [{"task": 1}] * 2


def test_cancelled(saver: CkptSaver, gate: Gate) -> None:
    """A call that is cancelled while it waits stores nothing, and one that had begun may; the others don't notice."""

    async def run() -> list[Any]:
        begun = asyncio.create_task(put(saver, "begun", "held"))
        beside = asyncio.create_task(put(saver, "beside"))
        await asyncio.to_thread(gate.reached.wait, 60)
        waiting = [asyncio.create_task(put(saver, name)) for name in ("first", "cancelled", "last")]
        await asyncio.sleep(0)
        waiting[1].cancel()
        begun.cancel()
        await asyncio.sleep(0)
        gate.opened.set()
        return await outcomes(begun, beside, *waiting)

    cancelled = [isinstance(result, asyncio.CancelledError) for result in asyncio.run(run())]
    assert cancelled == [True, False, False, True, False]
    assert stored(saver) == {"begun": "held", "beside": 1, "first": 1, "last": 1}


def test_a_loop_that_is_closed(saver: CkptSaver, gate: Gate) -> None:
    """What had begun when a loop was closed is stored; the saver goes on in another loop."""
    loop = asyncio.new_event_loop()
    calls = [loop.create_task(put(saver, "begun", "held"))]
    loop.run_until_complete(asyncio.sleep(0))
    loop.run_until_complete(asyncio.to_thread(gate.reached.wait, 60))
    calls.append(loop.create_task(put(saver, "waiting")))
    loop.run_until_complete(asyncio.sleep(0))
    for call in calls:
        call.cancel()
    loop.run_until_complete(asyncio.gather(*calls, return_exceptions=True))
    gate.opened.set()
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()
    assert asyncio.run(outcomes(put(saver, "next"))) == [None]
    assert stored(saver) == {"begun": "held", "next": 1}


def test_no_more_threads(saver: CkptSaver) -> None:
    """In a loop that has shut down its threads, a call fails, as every call that needs one does."""

    async def run() -> list[Any]:
        await asyncio.get_running_loop().shutdown_default_executor()
        return [*await outcomes(put(saver, "a"), put(saver, "b")), *await outcomes(put(saver, "c"))]

    assert [type(result) for result in asyncio.run(run())] == [RuntimeError] * 3
    assert stored(saver) == {}


tenant: ContextVar[str] = ContextVar("tenant", default="nobody")


class Tenants(JsonPlusSerializer):
    """Adds to each text the tenant of the task that encodes it."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """See `JsonPlusSerializer`."""
        return super().dumps_typed(f"{obj} of {tenant.get()}")


def test_context(saver: CkptSaver) -> None:
    """Each value is encoded in the context of its own task, though others are encoded beside it."""
    saver.serde = Tenants()

    async def of(name: str) -> None:
        tenant.set(name)
        await put(saver, name, "value")

    assert asyncio.run(outcomes(of("Ada"), put(saver, "task", "value"), of("Bob"))) == [None] * 3
    assert stored(saver) == {"Ada": "value of Ada", "task": "value of nobody", "Bob": "value of Bob"}
