"""What a command is handed: the database, opened at first use, and the clock; it knows neither terminal nor engine."""

import os
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from ckpt_cli.errors import NotSupported, Refused, UsageError
from ckpt_cli.model import Plan, Ref, RowChange
from ckpt_cli.reading import Reader
from ckpt_cli.serde.codec import Codec

if TYPE_CHECKING:
    from ckpt_cli.operations.log import OperationLog
    from ckpt_cli.operations.logs import Logs
    from ckpt_cli.operations.survey import Survey
    from ckpt_cli.savers.about import SideEffect
    from ckpt_cli.values.difference import Difference
    from ckpt_cli.views.plan import PlanView, RowLine
    from ckpt_cli.views.side_effects import SideEffectLine

T = TypeVar("T")

KEY_ENV = "LANGGRAPH_AES_KEY"
"""Where LangGraph itself looks for the key (langgraph-checkpoint 4.3, ``serde/encrypted.py``)."""

_FOR_EVER = "Forget it for ever? Neither undo nor the log brings it back. [y/N] "


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
            from ckpt_cli.savers.url import open_saver

            try:
                saver = open_saver(self.database, self.say)
            except HalfWrittenError as error:
                if not self.changing or self.will.dry_run:
                    raise
                error.mend()
                saver = open_saver(self.database, self.say)
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
        self._must_be_writable()
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
        """Show a plan, ask, apply it: the one way from a plan to a database; `changes` are what it does to a state.

        With `forget` the log is wiped of the threads that the plan deletes, which is asked apart.

        Raises:
            Refused: not confirmed, or what it was computed from has changed; nothing was written.
        """
        from ckpt_cli.operations.apply import apply
        from ckpt_cli.views.plan import PlanView

        plan = plan._replace(reason=self.will.reason or plan.reason)
        config = None if plan.result is None else {"configurable": _configurable(plan.result)}
        log, notes = self.logs.to_write(), [*plan.notes, *self._recent(plan)]
        view = PlanView(plan.verb, plan.summary, plan.reason, notes, list(changes), config=config)
        if plan.verb == "delete":
            view.log, view.forgets = (None, True) if forget else (str(log.path), False)
        saver, threads = self.reader.saver, forget.threads if forget else ()
        return self._confirmed(
            view,
            log,
            lambda: saver.expand(plan),
            lambda accepted: apply(saver, log, plan, at=self.clock(), forget=threads, accepted=accepted),
            () if forget is None else forget.rows,
        )

    def _recent(self, plan: Plan) -> Iterable[str]:
        """Words about threads that may be running, which only few plans have."""
        if not plan.recent:
            return ()
        from ckpt_cli.operations.recent import notes

        return notes(self.reader.saver, self.logs.to_write(), plan.recent, self.clock())

    def undo(self, number: int | None) -> "PlanView":
        """Show what takes an operation back, the newest unless named, ask, and do it."""
        from ckpt_cli.operations import undo
        from ckpt_cli.views.plan import PlanView

        saver, log = self.reader.saver, self.logs.to_undo()
        if not self.will.dry_run:
            self.settle(log)
        operation = undo.find(log, number)
        self._must_be_writable()
        notes = saver.moment(lambda: undo.notes(saver, log, operation))
        if operation.forgotten:
            notes.append(f"{operation.forgotten} of its {operation.rows} rows were forgotten and don't come back")
        view = PlanView("undo", undo.said(operation), self.will.reason, notes)
        return self._confirmed(
            view,
            log,
            lambda: undo.inverse(saver, log, operation),
            lambda accepted: undo.undo(
                saver, log, operation, at=self.clock(), reason=self.will.reason, accepted=accepted
            ),
        )

    def settle(self, log: "OperationLog") -> None:
        """Find out how operations ended that a crash interrupted, and say so."""
        from ckpt_cli.operations.settle import planned, settle

        for operation in settle(self.reader.saver, log):
            self.say(f"operation {operation.number} ({operation.verb}) was interrupted: see `ckpt operations`")
        for operation in planned(log):
            what = f"operation {operation.number} ({operation.verb}) was interrupted"
            self.say(f"{what}, and no row of the database says how it ended; it stays planned")

    def _confirmed(
        self,
        view: "PlanView",
        log: "OperationLog",
        expand: Callable[[], Iterable[RowChange]],
        act: "Callable[[Collection[SideEffect]], int]",
        wiped: "Sequence[RowLine]" = (),
    ) -> "PlanView":
        from ckpt_cli.operations import side_effects
        from ckpt_cli.operations.tally import tally

        if not self.will.dry_run:
            self.settle(log)
        saver = self.reader.saver
        view.rows = [*saver.moment(lambda: list(tally(saver, expand()))), *wiped]
        if not view.rows:
            return view
        found = self._side_effects(view, log)
        if self.will.dry_run:
            return view
        accepted = found if self.will.with_triggers else side_effects.remembered(log)
        side_effects.must_be_accepted(found, accepted)
        if not self.will.yes and not (self.ask(view) and (not view.forgets or self.ask_again(_FOR_EVER))):
            raise Refused("not confirmed; nothing was written")
        view.operation = act(accepted)
        view.applied = True
        if self.will.remember:
            side_effects.remember(log, found)
        return view

    def _side_effects(self, view: "PlanView", log: "OperationLog") -> "list[SideEffect]":
        """What else the rows of a plan set off, told in the plan too."""
        from ckpt_cli.operations.side_effects import lines, remembered, set_off

        saver = self.reader.saver
        every, caveats = saver.moment(lambda: (saver.side_effects(), saver.caveats()))
        found = set_off(every, {(row.table, row.change) for row in view.rows})
        accepted = found if self.will.with_triggers else remembered(log)
        view.side_effects = lines(found, accepted)
        view.notes += caveats
        return found

    def _must_be_writable(self) -> None:
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


def _configurable(ref: Ref) -> dict[str, str]:
    """What names a checkpoint in a config of LangGraph's."""
    named = {"checkpoint_id": ref.checkpoint_id} if ref.checkpoint_id else {}
    return {"thread_id": ref.thread_id, "checkpoint_ns": ref.ns, **named}
