"""`TaskBatches`: what tasks of an event loop write in the same moment is stored together.

For a fan-out, a thread for each call takes longer than the database. So a call that comes while others are being stored
waits, and is stored after them with all that came meanwhile. A single call waits for nothing.
"""

from asyncio import AbstractEventLoop, CancelledError, Future, get_running_loop
from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")
Store = Callable[[Sequence[T]], Sequence[BaseException | None]]


class TaskBatches(Generic[T]):
    """The calls of each event loop.

    Args:
        store: runs in a thread; stores what some calls write, in their order, and returns the error of each.
    """

    def __init__(self, store: Store[T]) -> None:
        self._store = store
        self._of_loops: WeakKeyDictionary[AbstractEventLoop, _Batches[T]] = WeakKeyDictionary()

    async def put(self, item: T) -> None:
        """Return when an item is stored; if the caller is cancelled before that has begun, it isn't stored."""
        await self._of_loops.setdefault(get_running_loop(), _Batches(self._store)).add(item)


class _Call(NamedTuple, Generic[T]):
    item: T
    stored: Future[None]


class _Batches(Generic[T]):
    """The calls of one event loop, which needs no lock for them; it has no task for them that could be cancelled."""

    def __init__(self, store: Store[T]) -> None:
        self._store = store
        self._waiting: list[_Call[T]] = []
        self._is_busy = False

    def add(self, item: T) -> Future[None]:
        loop = get_running_loop()
        call = _Call(item, loop.create_future())
        self._waiting.append(call)
        if not self._is_busy:
            self._is_busy = True
            loop.call_soon(self._begin)  # behind the other tasks that are ready now
        return call.stored

    def _begin(self) -> None:
        calls = [call for call in self._waiting if not call.stored.cancelled()]
        self._waiting, self._is_busy = [], bool(calls)
        if not calls:
            return
        try:
            storing = get_running_loop().run_in_executor(None, self._store, [call.item for call in calls])
        except RuntimeError as error:  # the loop has shut down its threads
            self._end(calls, [error] * len(calls))
        else:
            storing.add_done_callback(lambda done: self._end(calls, _errors(done, len(calls))))

    def _end(self, calls: Sequence[_Call[T]], errors: Sequence[BaseException | None]) -> None:
        for call, error in zip(calls, errors, strict=True):
            if call.stored.cancelled():
                continue
            if error is None:
                call.stored.set_result(None)
            else:
                call.stored.set_exception(error)
        self._begin()


def _errors(done: Future[Sequence[BaseException | None]], count: int) -> Sequence[BaseException | None]:
    """The error of each call; if the thread itself failed, the same for all."""
    failed = CancelledError() if done.cancelled() else done.exception()
    return done.result() if failed is None else [failed] * count
