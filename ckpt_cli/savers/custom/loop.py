"""An event loop of its own in a thread of its own, so that async code can be called from a program that is not."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")

_PATIENCE = 5.0  # seconds that a loop gets to end


class Loop:
    """Started at the first call."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something to its end there and give what it gives."""
        return asyncio.run_coroutine_threadsafe(work, self._started()).result()

    def iterate(self, items: AsyncIterator[T]) -> Iterator[T]:
        """The items of an async iterator, each when it is asked for."""
        try:
            while True:
                found = self.run(_next(items))
                if not found:
                    return
                yield found[0]
        finally:
            if close := getattr(items, "aclose", None):
                self.run(close())

    def close(self) -> None:
        """End it; safe to call twice."""
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(_PATIENCE)
            if not self._thread.is_alive():
                self._loop.close()
        self._loop = self._thread = None

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = Thread(target=self._loop.run_forever, name="ckpt-loop", daemon=True)
            self._thread.start()
        return self._loop


async def _next(items: AsyncIterator[T]) -> tuple[T, ...]:
    """One item, or nothing at the end."""
    async for item in items:
        return (item,)
    return ()
