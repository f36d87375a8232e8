"""Which log a command reads and which one it writes, said to the person where that isn't plain."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from ckpt_cli.savers.contract import Saver

if TYPE_CHECKING:
    from ckpt_cli.operations.log import Operation, OperationLog
    from ckpt_cli.operations.search import Doubtful, SearchResult


class Logs:
    """The logs of one open database.

    Args:
        saver: the database.
        say: tells the person one line.
        is_vouched_for: the person says that a log which can't be proved is of this database.
    """

    def __init__(self, saver: Saver, say: Callable[[str], None], *, is_trusted: bool = False) -> None:
        self._saver, self._say, self._is_trusted = saver, say, is_trusted
        self._glance: list[OperationLog] | None = None
        self._found: SearchResult | None = None
        self._used: OperationLog | None = None
        self._said: set[str] = set()

    def for_listing(self) -> "OperationLog":
        """The log to list, which may not exist; one at this address that can't be proved is listed with a word."""
        found = self._search()
        if found.own is not None:
            return self._use(found.own)
        if error := next((one.error for one in found.doubtful if one.error is not None), None):
            raise error
        if vouched := self._trusted_log(found):
            return self._use(vouched)
        unproven = next((one for one in found.doubtful if one.may_be_trusted and one.is_here), None)
        for one in found.doubtful:
            self._note(one, end="; what it lists may have been done to another one" if one is unproven else "")
        return self._use(unproven.log) if unproven else self._new()

    def for_writing(self) -> "OperationLog":
        """The log for a new operation or tag: a new one where none is proved to be of this database."""
        found = self._search()
        log = found.own or self._trusted_log(found)
        if log is None:
            if damaged := next((one for one in found.doubtful if one.error is not None), None):
                raise damaged.refusal
            for one in found.doubtful:
                self._note(one, end="; this change begins a new log")
            log = self._new()
        return self._use(log)

    def for_undo(self) -> "OperationLog":
        """The log to take something back by.

        Raises:
            Refused: there is one that isn't proved to be of this database.
        """
        found = self._search()
        log = found.own or self._trusted_log(found)
        if log is None and found.doubtful:
            raise found.doubtful[0].refusal
        return self._use(log) if log is not None else self.for_writing()

    def for_tags(self) -> "OperationLog | None":
        """The log whose tags are shown beside what else is read, found by little reading; None if there is none."""
        if self._glance is None:
            from ckpt_cli.operations.search import Search

            found = self._found or Search(self._saver, deep=False).run()
            self._glance = [found.own] if found.own is not None else []
            for one in found.doubtful if found.own is None else ():
                if one.error is not None or one.log.has_tags:
                    self._note(one, "tags are left out: ")
        return self._glance[0] if self._glance else None

    def interrupted_operations(self) -> "list[Operation]":
        """Operations that were interrupted or go on now; only a few rows are read to find them."""
        from ckpt_cli.operations.search import Search
        from ckpt_cli.operations.settle import planned_operations

        found = Search(self._saver, deep=False).run()
        logs = [found.own] if found.own is not None else [one.log for one in found.doubtful if one.is_here]
        operations = [operation for log in logs[:1] for operation in planned_operations(log)]
        for log in logs:
            log.close()
        return operations

    def close(self) -> None:
        """Close every log."""
        for log in (*(self._glance or ()), self._used):
            if log is not None:
                log.close()
        self._glance = self._used = self._found = None

    def _search(self) -> "SearchResult":
        if self._found is None:
            from ckpt_cli.operations.search import Search

            self._found = Search(self._saver, deep=True).run()
            if self._found.own is not None:
                self._found.own.is_trusted = self._is_trusted
        return self._found

    def _trusted_log(self, found: "SearchResult") -> "OperationLog | None":
        possible = [one.log for one in found.doubtful if one.may_be_trusted] if self._is_trusted else []
        if not possible:
            return None
        possible[0].is_trusted = True
        return possible[0]

    def _use(self, log: "OperationLog") -> "OperationLog":
        self._used = log
        return log

    def _new(self) -> "OperationLog":
        from ckpt_cli.operations.search import new_log

        if self._used is None:
            self._used = new_log(self._saver.identity)
        return self._used

    def _note(self, one: "Doubtful", lead: str = "", end: str = "") -> None:
        if one.note not in self._said:
            self._said.add(one.note)
            self._say(lead + one.note + end)
