"""Round trips as they leave the driver: a pipeline is one, and so is each step of a scan."""

from typing import Any

import pytest
from redis.connection import AbstractConnection


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The start of each message that is sent from now on."""
    sent: list[str] = []
    original = AbstractConnection.send_packed_command

    def send(self: AbstractConnection, command: Any, check_health: bool = True) -> Any:
        words = command if isinstance(command, bytes) else b"".join(command)
        sent.append(words[:60].decode(errors="replace"))
        return original(self, command, check_health)

    monkeypatch.setattr(AbstractConnection, "send_packed_command", send)
    return sent
