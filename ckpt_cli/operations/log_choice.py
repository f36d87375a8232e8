"""Chooses the log to read, write or undo with; warns if it belongs to another database, or to none."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ckpt_cli.operations.log_candidates import LogCandidates
from ckpt_cli.savers.contract import Saver
from ckpt_cli.values.counts import count_text

if TYPE_CHECKING:
    from ckpt_cli.operations.log import OperationLog
    from ckpt_cli.operations.log_search import Doubtful, SearchResult
    from ckpt_cli.operations.operation import Operation


class Logs:
    """The logs of one open database.

    Args:
        saver: the database.
        say: prints a line for the person.
        is_trusted: the person says that a log belongs to this database, although nothing proves it.
    """

    def __init__(self, saver: Saver, say: Callable[[str], None], *, is_trusted: bool = False) -> None:
        self._saver, self._say, self._is_trusted = saver, say, is_trusted
        self._quick_result: SearchResult | None = None
        self._result: SearchResult | None = None
        self._used: OperationLog | None = None
        self._notes_said: set[str] = set()

    def for_listing(self) -> "OperationLog":
        """The log that `ckpt operations` lists; it may not exist.

        A log of this address that isn't proved to belong to the database is listed with a warning.
        """
        result = self._search()
        if result.own is not None:
            return self._remember(result.own)
        if error := next((one.error for one in result.doubtful if one.error is not None), None):
            raise error
        if trusted := self._trusted_log(result):
            return self._remember(trusted)
        unproven = next((one for one in result.doubtful if one.may_be_trusted and one.is_here), None)
        if unproven is not None:
            self._note(unproven, end="; its operations may have been done to another database")
        self._note_all([one for one in result.doubtful if one is not unproven])
        return self._remember(unproven.log) if unproven else self._new_log()

    def for_writing(self) -> "OperationLog":
        """The log for a new operation or tag; a new log if no log is proved to belong to this database."""
        result = self._search()
        log = result.own or self._trusted_log(result)
        if log is None:
            if unreadable := next((one for one in result.doubtful if one.error is not None), None):
                raise unreadable.refusal
            copies = list(dict.fromkeys(one.shown_original for one in result.doubtful if one.is_of_copy))
            if copies:
                more = f" and {len(copies) - 1} more" if len(copies) > 1 else ""
                self._say_once(f"this database shares rows with {copies[0]}{more}; a change begins a new log")
            lost = "; a change begins a new log, and undo no longer finds what this one has"
            self._note_all([one for one in result.doubtful if not one.is_of_copy], end=lost)
            log = self._new_log()
        return self._remember(log)

    def for_undo(self) -> "OperationLog":
        """The log that has the operation to undo.

        Raises:
            Refused: there is a log, but nothing proves that it belongs to this database.
        """
        result = self._search()
        log = result.own or self._trusted_log(result)
        if log is None and result.doubtful:
            raise result.doubtful[0].refusal
        return self._remember(log) if log is not None else self.for_writing()

    def for_tags(self) -> "OperationLog | None":
        """The log whose tags are shown with other data, found with few reads; None if there is no such log."""
        return self._log_for("tags", lambda log: log.has_tags)

    def for_reducers(self) -> "OperationLog | None":
        """The log whose remembered reducers are used, found with few reads; None if there is no such log."""
        return self._log_for("remembered reducers", lambda log: log.has_reducers)

    def _log_for(self, what: str, has_any: "Callable[[OperationLog], bool]") -> "OperationLog | None":
        """The proved log, found with few reads; if there is none, a note for each other log that has something."""
        if self._quick_result is None:
            candidates = LogCandidates(self._saver, deep=False)
            if self._result is None and not candidates.exist():
                return None
            from ckpt_cli.operations.log_search import Search

            self._quick_result = self._result or Search(self._saver, deep=False, candidates=candidates).run()
        result = self._quick_result
        for one in result.doubtful if result.own is None else ():
            if one.error is not None or has_any(one.log):
                self._note(one, f"{what} are left out: ")
        return result.own

    def interrupted_operations(self) -> "list[Operation]":
        """The operations that were interrupted or are running now, found with few reads."""
        from ckpt_cli.operations.log_search import Search
        from ckpt_cli.operations.settle import planned_operations

        result = Search(self._saver, deep=False).run()
        logs = [result.own] if result.own is not None else [one.log for one in result.doubtful if one.is_here]
        operations = [
            operation for log in logs[:1] for operation in planned_operations(log) if operation.part_of is None
        ]
        for log in logs:
            log.close()
        return operations

    def close(self) -> None:
        """Close every log."""
        for log in (self._quick_result.own if self._quick_result else None, self._used):
            if log is not None:
                log.close()
        self._quick_result = self._used = self._result = None

    def _search(self) -> "SearchResult":
        if self._result is None:
            from ckpt_cli.operations.log_search import Search

            self._result = Search(self._saver, deep=True).run()
            if self._result.own is not None:
                self._result.own.is_trusted = self._is_trusted
        return self._result

    def _trusted_log(self, result: "SearchResult") -> "OperationLog | None":
        possible = [one.log for one in result.doubtful if one.may_be_trusted] if self._is_trusted else []
        if not possible:
            return None
        possible[0].is_trusted = True
        return possible[0]

    def _remember(self, log: "OperationLog") -> "OperationLog":
        self._used = log
        return log

    def _new_log(self) -> "OperationLog":
        from ckpt_cli.operations.log_search import new_log

        if self._used is None:
            self._used = new_log(self._saver.identity)
        return self._used

    def _note_all(self, doubtful: "Sequence[Doubtful]", end: str = "") -> None:
        """A note for each doubt; of several logs with the same doubt the first is named."""
        alike = {one.doubt: [other for other in doubtful if other.doubt == one.doubt] for one in doubtful}
        for first, *others in alike.values():
            more = f"; the same is true of {count_text(len(others), 'more log')}" if others else ""
            self._note(first, end=more + end)

    def _note(self, one: "Doubtful", lead: str = "", end: str = "") -> None:
        if one.note not in self._notes_said:
            self._notes_said.add(one.note)
            self._say(lead + one.note + end)

    def _say_once(self, text: str) -> None:
        if text not in self._notes_said:
            self._notes_said.add(text)
            self._say(text)
