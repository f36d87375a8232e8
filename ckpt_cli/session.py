"""`Session` of a command: opens database and logs at first use; who may write; mends a half-written file.

Every command gets it, with the clock and the functions that talk to the person. This module depends on no terminal and
on no database engine.
"""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from ckpt_cli.errors import NotSupported, Refused, UsageError
from ckpt_cli.model import Plan
from ckpt_cli.reading import Reader
from ckpt_cli.serde.codec import Codec

if TYPE_CHECKING:
    from ckpt_cli.operations.bundles import Packed
    from ckpt_cli.operations.log import OperationLog
    from ckpt_cli.operations.log_choice import Logs
    from ckpt_cli.operations.survey import Survey
    from ckpt_cli.values.difference import Difference
    from ckpt_cli.views.bulk import BulkView
    from ckpt_cli.views.plan import PlanView
    from ckpt_cli.views.resume import QuestionLine
    from ckpt_cli.views.side_effects import SideEffectLine

T = TypeVar("T")

KEY_ENV = "LANGGRAPH_AES_KEY"
"""The variable from which LangGraph itself reads the key (langgraph-checkpoint 4.3, ``serde/encrypted.py``)."""


class ChangeOptions(NamedTuple):
    """The options that are common to all commands that change the database."""

    dry_run: bool = False
    yes: bool = False
    reason: str = ""
    with_triggers: bool = False
    remember: bool = False


_NO_OPTIONS = ChangeOptions()


def _nobody(_: "PlanView | BulkView") -> bool:
    return False


@dataclass(eq=False, repr=False)
class Session:
    """One invocation of ckpt: the database, its logs, and how to talk to the person.

    Attributes:
        database: the value of ``--db`` or ``$CKPT_DB``; None means the only database in the current folder.
        key_env: the environment variable with the AES key; any variable other than the default must be set.
        clock: gives seconds since 1970.
        say: prints a line for the person on stderr.
        options: the person's options for a change.
        may_change: the command may change the database. Then a write that a crash interrupted is rolled back first.
        ask: shows a plan, and returns True if the person confirms the plan.
        same_database: the person says that a log belongs to this database, although nothing proves it.
        ask_line: shows a question of a graph, if one is given, and a prompt; returns the typed line, or None at the end
            of the input. None if there is no terminal on which to ask, or if the person wants JSON.
        show_status: shows a line on stderr, if that is a terminal, until the next line; "" removes it.
        progress: shows how far long work has come, instead of what it showed before; "" removes that.
        reveal: whether secrets are given to a command that the person names.
        ask_again: asks a second question about the plan that was shown last, and returns True if the answer is yes.
    """

    database: str | None
    key_env: str = KEY_ENV
    clock: Callable[[], float] = time.time
    say: Callable[[str], None] = lambda _: None
    progress: Callable[[str], None] = lambda _: None
    options: ChangeOptions = _NO_OPTIONS
    may_change: bool = False
    ask: Callable[["PlanView | BulkView"], bool] = _nobody
    same_database: bool = False
    ask_again: Callable[[str], bool] = lambda _: False
    ask_line: Callable[["QuestionLine | None", str], str | None] | None = None
    show_status: Callable[[str], None] = lambda _: None
    reveal: bool = False
    _reader: Reader | None = field(default=None, repr=False)
    _logs: "Logs | None" = field(default=None, repr=False)

    @property
    def reader(self) -> Reader:
        """The open database."""
        if self._reader is None:
            from ckpt_cli.savers.about import Ability
            from ckpt_cli.savers.half_written import HalfWrittenError
            from ckpt_cli.savers.url import open_database

            try:
                saver = open_database(self.database, self.say)
            except HalfWrittenError as error:
                if not self.may_change or self.options.dry_run:
                    raise
                error.mend()
                saver = open_database(self.database, self.say)
            self._reader = Reader(saver, Codec(self.key()), self.clock, self._tags)
            if Ability.ATOMIC not in saver.abilities:
                self._warn_of_interrupted_operations()
        return self._reader

    @property
    def logs(self) -> "Logs":
        """The operation logs of the database."""
        if self._logs is None:
            from ckpt_cli.operations.log_choice import Logs

            self._logs = Logs(self.reader.saver, self.say, is_trusted=self.same_database)
        return self._logs

    @property
    def log(self) -> "OperationLog":
        """The operation log of the database, for reading; no file is made."""
        return self.logs.for_listing()

    def read(self, run: Callable[[Reader], T]) -> T:
        """Call `run`, which only reads, in one read transaction."""
        reader = self.reader
        return reader.moment(lambda: run(reader))

    def say_lost_differences(self) -> None:
        """Say that equal values of a redacted bundle may have been different; for commands that compare values."""
        if remark := self.reader.saver.lost_differences:
            self.say(remark)

    def make_plan(self, make: Callable[[Reader], T]) -> T:
        """Check that this user may write, then compute a plan in one read transaction.

        Raises:
            Refused: the database, or this user's rights, allow no change.
        """
        self.must_be_writable()
        return self.read(make)

    def why_unwritable(self) -> str:
        """The reason why the database would refuse a change, found without writing; empty if no reason is known."""
        try:
            self.reader.saver.must_be_writable(trying=False)
        except (Refused, NotSupported) as error:
            return error.reason
        return ""

    def side_effects(self) -> "list[SideEffectLine]":
        """The triggers, rules and foreign keys of the database, one line each.

        Each line also says whether a person accepted that side effect permanently.
        """
        from ckpt_cli.operations.side_effects import load_accepted, make_lines

        saver = self.reader.saver
        side_effects = saver.moment(saver.side_effects)
        log = self.logs.for_tags() if side_effects and self._has_logs() else None
        return make_lines(side_effects, () if log is None else load_accepted(log))

    def change(
        self,
        plan: Plan,
        changes: "Sequence[Difference]" = (),
        *,
        forget: "Survey | None" = None,
        packed: "Packed | None" = None,
    ) -> "PlanView":
        """Show a plan, ask for confirmation, and apply the plan.

        `changes` are the differences that the plan makes in a state. With `forget`, a second question is asked, and
        the deleted threads are also wiped from the log. With `packed`, a bundle has the rows as they are now.

        Raises:
            Refused: the plan was not confirmed, or the rows from which it was computed have changed; nothing was
                written.
        """
        from ckpt_cli.confirmation import change

        return change(self, plan, changes, forget, packed)

    def undo(
        self, number: int | None, threads: "Sequence[str]" = (), *, skip_refused: bool = False
    ) -> "PlanView | BulkView":
        """Show the undo of an operation (by default the newest), ask for confirmation, and apply the undo.

        Of an operation on many threads, what still stands is taken back; with `threads`, only on these.
        """
        from ckpt_cli.confirmation import undo

        return undo(self, number, threads, skip_refused=skip_refused)

    def settle(self, log: "OperationLog") -> None:
        """Find out how interrupted operations ended, and print a line about each for the person."""
        from ckpt_cli.confirmation import settle

        settle(self, log)

    def must_be_writable(self) -> None:
        """Refuse a change that this user may not make; a dry run only prints a note.

        Raises:
            Refused: the database, or this user's rights, allow no change.
        """
        if not self.options.dry_run:
            self.reader.saver.must_be_writable(trying=True)
        elif why := self.why_unwritable():
            self.say(f"without --dry-run this would be refused: {why}")

    def _warn_of_interrupted_operations(self) -> None:
        """Warn of interrupted operations: a database without transactions may contain half of such an operation."""
        if not self._has_logs():
            return
        for operation in self.logs.interrupted_operations():
            what = f"{operation.name} ({operation.verb}) was interrupted, or is running now"
            self.say(
                f"{what}: the database may contain half of it; `ckpt operations --settle` takes back what was written"
            )

    def _tags(self, thread_id: str, ns: str) -> dict[str, str]:
        log = self.logs.for_tags() if self._has_logs() else None
        if log is None:
            return {}
        from ckpt_cli.operations.tags import read_tags

        return {tag.name: tag.ref.checkpoint_id for tag in read_tags(log, thread_id) if tag.ref.ns == ns}

    def remembered_reducers(self) -> dict[str, str]:
        """Channel to the name of the reducer that a person named with ``--remember`` for this database."""
        self.reader  # noqa: B018 - a database that can't be opened is an error before its log is searched
        log = self.logs.for_reducers() if self._has_logs() else None
        if log is None:
            return {}
        from ckpt_cli.operations.remembered_reducers import read_remembered

        return {one.channel: one.name for one in read_remembered(log)}

    def _has_logs(self) -> bool:
        """Whether any database has a log. If not, a command that only reads doesn't import the code of the log."""
        from ckpt_cli.operations.log_paths import state_folder

        try:
            return os.path.exists(state_folder())  # noqa: PTH110 - False where this user may not look
        except Refused:  # there is no home directory, and so no log
            return False

    def close(self) -> None:
        """Close the database and its logs."""
        if self._logs is not None:
            self._logs.close()
            self._logs = None
        if self._reader is not None:
            self._reader.saver.close()
            self._reader = None

    def key(self) -> bytes | None:
        """The AES key of the database, None if there is none.

        Raises:
            UsageError: the variable that was named isn't set, or has no key in it.
        """
        text = os.environ.get(self.key_env)
        if not text:
            if self.key_env != KEY_ENV:
                raise UsageError(f"there is no key in ${self.key_env}", hint=f"`export {self.key_env}=…` sets it")
            return None
        key = text.encode()
        if len(key) not in (16, 24, 32):
            raise UsageError(
                f"the key in ${self.key_env} has {len(key)} bytes", hint="an AES key has 16, 24 or 32 bytes (UTF-8)"
            )
        return key
