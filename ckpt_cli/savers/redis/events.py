"""`KeyEvents`: waits for the server's messages about changed keys, if it sends any.

It never turns them on. The setting ``notify-keyspace-events`` needs K or E, and d or A for JSON documents (Redis 7.4,
"Keyspace notifications").
"""

from collections.abc import Sequence
from contextlib import suppress
from time import monotonic, sleep
from typing import Any

from redis import exceptions

_PAUSE = 0.2  # seconds after a message, in which those about the same step arrive


def patterns(flags: str, database: int, prefixes: Sequence[str]) -> list[str]:
    """The patterns of the channels on which a server with these flags says that a document was written."""
    if not {"A", "d"} & set(flags):
        return []
    if "K" in flags:
        return [f"__keyspace@{database}__:{prefix}*" for prefix in prefixes]
    return [f"__keyevent@{database}__:json.*"] if "E" in flags else []


class KeyEvents:
    """The subscription of one client."""

    def __init__(self, client: Any, database: int, prefixes: Sequence[str]) -> None:
        self._client, self._database, self._prefixes = client, database, prefixes
        self._subscription: Any = None
        self._is_silent = False

    def wait(self, seconds: float) -> None:
        """Wait for a message, at most so long; without messages, wait so long."""
        until = monotonic() + seconds
        try:
            subscription = self._subscribe()
            while subscription is not None and (left := until - monotonic()) > 0:
                message = subscription.get_message(timeout=left)
                if message is not None and message["type"] == "pmessage":
                    self._drain(subscription, min(_PAUSE, max(0.0, until - monotonic())))
                    return
        except exceptions.RedisError:  # the next read says what is wrong
            self.close()
        sleep(max(0.0, until - monotonic()))

    def _drain(self, subscription: Any, seconds: float) -> None:
        """Drop the messages that arrived in the meantime: they are about what the next look finds."""
        sleep(seconds)
        while subscription.get_message(timeout=0) is not None:
            pass

    def _subscribe(self) -> Any:
        if self._subscription is None and not self._is_silent:
            channels = patterns(self._flags(), self._database, self._prefixes)
            self._is_silent = not channels
            if channels:
                self._subscription = self._client.pubsub(ignore_subscribe_messages=True)
                self._subscription.psubscribe(*channels)
        return self._subscription

    def _flags(self) -> str:
        """The server's setting; "" if this user may not read it."""
        with suppress(exceptions.ResponseError):
            answer = self._client.execute_command("CONFIG GET", "notify-keyspace-events")
            pairs = answer.items() if isinstance(answer, dict) else zip(answer[::2], answer[1::2], strict=False)
            return next((_text(flags) for _, flags in pairs), "")
        return ""

    def close(self) -> None:
        """End the subscription."""
        if self._subscription is not None:
            self._subscription.close()
            self._subscription = None


def _text(value: Any) -> str:
    return value.decode("ascii", "replace") if isinstance(value, bytes) else str(value)
