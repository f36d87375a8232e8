"""`KeyAgentRows`: what an agent's rows in Redis and Valkey share: transactions, retries, expiry."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

from ckpt_cli.errors import Failed
from ckpt_cli.savers.agent_rows import AgentRows
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.faults import LostWriting, safe_text
from ckpt_cli.savers.redis.connection import Command, Connection
from ckpt_cli.savers.redis.faults import translate_errors
from ckpt_cli.savers.redis.images import Images

T = TypeVar("T")


class KeyAgentRows(AgentRows):
    """Reads and writes an agent's records on one server; in a cluster no transaction covers their keys."""

    _harmless: ClassVar[tuple[str, ...]] = ()
    """Parts of the errors that a command may give."""

    def __init__(self, saver: Saver, connection: Connection, images: Images) -> None:
        super().__init__(saver)
        self._connection, self._images = connection, images

    def _expire(self, expiry: Any, keys: Sequence[str]) -> list[Command]:
        """The commands after which keys expire with another key, whose expiry the server told."""
        at = self._images.expires_at(expiry)
        return [] if at is None else [("PEXPIREAT", key, at) for key in keys]

    def _write(self, *commands: Command) -> list[Any]:
        """The answers to commands in one transaction, which runs again if the connection is lost: it may run twice."""
        return self._checked(self._repeated(lambda: self._send(commands))) if commands else []

    def _repeated(self, write: Callable[[], T]) -> T:
        """Run `write`, and once more if the connection is lost meanwhile."""
        try:
            return write()
        except LostWriting:
            self._connection.one("PING")  # says why, if there is no server
            return write()

    def _send(self, commands: Sequence[Command]) -> list[Any]:
        location = self._connection.address.location
        with translate_errors(location, writing=True), self._connection.pipeline("") as pipeline:
            for command in commands:
                pipeline.execute_command(*command)
            answers: list[Any] = pipeline.execute(raise_on_error=False)
            return answers

    def _checked(self, answers: list[Any]) -> list[Any]:
        for answer in answers:
            if isinstance(answer, Exception) and not any(part in str(answer) for part in self._harmless):
                raise Failed(f"{self._connection.address.location}: {safe_text(str(answer))}") from answer
        return answers
