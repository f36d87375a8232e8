"""What a command is handed: the database, opened at first use, and the clock; it knows neither terminal nor engine."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from ckpt_cli.errors import NotSupported, Refused, UsageError
from ckpt_cli.model import Plan
from ckpt_cli.reading import Reader
from ckpt_cli.serde.codec import Codec

if TYPE_CHECKING:
    from ckpt_cli.operations.log import OperationLog
    from ckpt_cli.operations.logs import Logs
    from ckpt_cli.operations.survey import Survey
    from ckpt_cli.values.difference import Difference
    from ckpt_cli.views.plan import PlanView
    from ckpt_cli.views.side_effects import SideEffectLine

T = TypeVar("T")

KEY_ENV = "LANGGRAPH_AES_KEY"
"""Where LangGraph itself looks for the key (langgraph-checkpoint 4.3, ``serde/encrypted.py``)."""


@dataclass(frozen=True, slots=True)
class Will:
    """What a person said about changing the database, on the command line of a command that does."""

    dry_run: bool = False
    yes: bool = False
    reason: str = ""
    with_triggers: bool = False
    remember: bool = False


def _nobody(_: "PlanView") -> bool:
    return False


@dataclass
class Session:
    """One invocation: where the database is and how to see into it.

    Attributes:
        database: what ``--db`` or ``$CKPT_DB`` said; None looks for the one database in the current folder.
        key_env: name of the environment variable that holds the AES key; one that a person named must have it.
        say: tells the person something on stderr.
        will: what the person said about changing the database.
        changing: the command is one that may; a write that a crash cut off is then taken back before it is read.
        ask: shows a plan and gives whether the person says yes.
        same_database: the person says that a log which can't be proved is of this database.
        ask_again: asks a question of its own about the plan that was shown last.
    """

    database: str | None
    key_env: str = KEY_ENV
    clock: Callable[[], float] = time.time
    say: Callable[[str], None] = lambda _: None
    will: Will = Will()
    changing: bool = False
    ask: Callable[["PlanView"], bool] = _nobody
    same_database: bool = False
    ask_again: Callable[[str], bool] = lambda _: False
    _reader: Reader | None = field(default=None, repr=False)
    _logs: "Logs | None" = field(default=None, repr=False)

    @property
    def reader(self) -> Reader:
        """The open database."""
        if self._reader is None:
            from ckpt_cli.savers.about import Ability
            from ckpt_cli.savers.contract import HalfWrittenError
            from ckpt_cli.savers.url import open_database

            try:
                saver = open_database(self.database, self.say)
            except HalfWrittenError as error:
                if not self.changing or self.will.dry_run:
                    raise
                error.mend()
                saver = open_database(self.database, self.say)
            self._reader = Reader(saver, Codec(self._key()), self.clock, self._tags)
            if Ability.ATOMIC not in saver.abilities:
                self._tell_of_halves()
        return self._reader

    @property
    def logs(self) -> "Logs":
        """The operation logs of the database."""
        if self._logs is None:
            from ckpt_cli.operations.logs import Logs

            self._logs = Logs(self.reader.saver, self.say, is_vouched_for=self.same_database)
        return self._logs

    @property
    def log(self) -> "OperationLog":
        """The operation log of the database, to look at; that makes no file."""
        return self.logs.to_look()

    def look(self, run: Callable[[Reader], T]) -> T:
        """Run something that only reads, in one moment of the database."""
        reader = self.reader
        return reader.moment(lambda: run(reader))

    def planned(self, make: Callable[[Reader], T]) -> T:
        """Compute a plan, in one moment of the database; who may not write there is told so before."""
        self.must_be_writable()
        return self.look(make)

    def why_unwritable(self) -> str:
        """Why a change would be refused, as far as reading tells; empty where nothing is known against it."""
        try:
            self.reader.saver.must_be_writable(trying=False)
        except (Refused, NotSupported) as error:
            return error.message.removesuffix("; nothing was written")
        return ""

    def side_effects(self) -> "list[SideEffectLine]":
        """The triggers, rules and foreign keys of the database, and whether a person has accepted them for good."""
        from ckpt_cli.operations.side_effects import lines, remembered

        saver = self.reader.saver
        found = saver.moment(saver.side_effects)
        log = self.logs.tagged() if found and self._has_logs() else None
        return lines(found, () if log is None else remembered(log))

    def change(self, plan: Plan, changes: "Sequence[Difference]" = (), *, forget: "Survey | None" = None) -> "PlanView":
        """Show a plan, ask, apply it; `changes` are what it does to a state.

        With `forget` the log is wiped of the threads that the plan deletes, which is asked apart.

        Raises:
            Refused: not confirmed, or what it was computed from has changed; nothing was written.
        """
        from ckpt_cli.confirmation import change

        return change(self, plan, changes, forget)

    def undo(self, number: int | None) -> "PlanView":
        """Show what takes an operation back, the newest unless named, ask, and do it."""
        from ckpt_cli.confirmation import undo

        return undo(self, number)

    def settle(self, log: "OperationLog") -> None:
        """Find out how operations ended that a crash interrupted, and say so."""
        from ckpt_cli.confirmation import settle

        settle(self, log)

    def must_be_writable(self) -> None:
        """Refuse a change that this user may not make; for a dry run it is only said.

        Raises:
            Refused: the database, or this user's rights, allow no change.
        """
        if not self.will.dry_run:
            self.reader.saver.must_be_writable(trying=True)
        elif why := self.why_unwritable():
            self.say(f"without --dry-run this would be refused: {why}")

    def _tell_of_halves(self) -> None:
        """Say that what is read may be half of a plan, where the database has no transaction to hold it together."""
        if not self._has_logs():
            return
        for operation in self.logs.interrupted():
            what = f"operation {operation.number} ({operation.verb}) was interrupted, or goes on now"
            self.say(f"{what}: this may be half of it; `ckpt operations --settle` takes back what was written")

    def _tags(self, thread_id: str, ns: str) -> dict[str, str]:
        log = self.logs.tagged() if self._has_logs() else None
        if log is None:
            return {}
        from ckpt_cli.operations.tags import tags

        return {tag.name: tag.ref.checkpoint_id for tag in tags(log, thread_id) if tag.ref.ns == ns}

    def _has_logs(self) -> bool:
        """Whether there are logs at all, of whatever database: a look without any imports nothing of them."""
        from ckpt_cli.operations.place import state_folder

        try:
            return os.path.exists(state_folder())  # noqa: PTH110 - False where this user may not look
        except Refused:  # there is no home directory, and so no log
            return False

    def close(self) -> None:
        """Let go of the database and of the log."""
        if self._logs is not None:
            self._logs.close()
            self._logs = None
        if self._reader is not None:
            self._reader.saver.close()
            self._reader = None

    def _key(self) -> bytes | None:
        text = os.environ.get(self.key_env)
        if not text:
            if self.key_env != KEY_ENV:
                raise UsageError(f"there is no key in ${self.key_env}")
            return None
        key = text.encode()
        if len(key) not in (16, 24, 32):
            raise UsageError(
                f"the key in ${self.key_env} has {len(key)} bytes", hint="an AES key has 16, 24 or 32 bytes (UTF-8)"
            )
        return key
