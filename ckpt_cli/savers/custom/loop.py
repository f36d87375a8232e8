"""An event loop in a thread of its own, so that synchronous code can call async code."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")

_PATIENCE = 5.0  # seconds to wait for the thread to end


class Loop:
    """An event loop that starts at the first call."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end on the loop and return its result."""
        return asyncio.run_coroutine_threadsafe(work, self._start_once()).result()

    def iterate(self, items: AsyncIterator[T]) -> Iterator[T]:
        """The items of an async iterator; each item is fetched only when the caller asks for it."""
        try:
            while True:
                item = self.run(_next(items))
                if not item:
                    return
                yield item[0]
        finally:
            if close := getattr(items, "aclose", None):
                self.run(close())

    def close(self) -> None:
        """End the loop and its thread; safe to call twice."""
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(_PATIENCE)
            if not self._thread.is_alive():
                self._loop.close()
        self._loop = self._thread = None

    def _start_once(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = Thread(target=self._loop.run_forever, name="ckpt-loop", daemon=True)
            self._thread.start()
        return self._loop


async def _next(items: AsyncIterator[T]) -> tuple[T, ...]:
    """The next item in a tuple of one; an empty tuple at the end."""
    async for item in items:
        return (item,)
    return ()
