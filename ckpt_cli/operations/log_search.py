"""Finds a database's log by address, engine's id, logged rows; doubts: copy, clone, no right to read.

A log that is found but doubtful has a reason, a note and a refusal here.
"""

import os
from dataclasses import dataclass, field
from enum import StrEnum

from ckpt_cli.errors import CkptError, Failed, Refused
from ckpt_cli.model import Ref
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.log_candidates import LogCandidates, path_or_address
from ckpt_cli.operations.log_paths import LOG, folder_name, state_folder
from ckpt_cli.operations.witnesses import WITNESSES, Verdict, contradicted, is_as_before, judge_log, unproven
from ckpt_cli.savers.about import Place
from ckpt_cli.savers.contract import Saver

_FEW_WITNESSES = 4  # a command that changes nothing reads this many witnesses at a time


class Doubt(StrEnum):
    """The reason why ckpt doesn't use a log that it found."""

    OTHER = "other"
    """Rows that it recorded have other content in this database, so it belongs to another one."""
    UNPROVEN = "unproven"
    """None of the rows that it recorded is in this database."""
    COPY = "copy"
    """The log belongs to another database with the same rows, which still exists; which one is the copy isn't known."""
    UNREADABLE = "unreadable"
    """It is damaged, locked, written by a newer ckpt, or this user may not read it."""
    CLONE = "clone"
    """Rows that it recorded are here, but this database may be a clone of the one that the log belongs to."""
    DONE_ELSEWHERE = "done elsewhere"
    """The same, and nothing that its operations did is here: they were done to a copy that is gone."""


@dataclass(frozen=True, slots=True)
class Doubtful:
    """A log that was found and isn't used.

    Attributes:
        is_here: the log was used at this database's address.
        original: the address of the database to which the log belongs or may belong.
        ref: the checkpoint that has other content in this database than in the log.
        error: the reason why the log can't be read.
    """

    log: OperationLog
    doubt: Doubt
    is_here: bool = True
    original: str = ""
    ref: Ref | None = None
    error: CkptError | None = None

    @property
    def note(self) -> str:
        """One line for the person."""
        if self.error is not None:
            return self.error.message
        path, shown = self.log.path, self.shown_original
        match self.doubt:
            case Doubt.COPY:
                same = f"this database shares rows with {shown}, whose operation log is {path}"
                return f"{same}: one is a copy of the other"
            case Doubt.CLONE:
                return f"{path} is the operation log of this database or of one that it was cloned from ({shown})"
            case Doubt.OTHER:
                return f"the operation log {path} belongs to another database that was at this address"
            case Doubt.DONE_ELSEWHERE:
                elsewhere = f"it was done to {shown}, which had the same rows, or this one was restored since"
                return f"nothing of the last changes in the operation log {path} is in this database: {elsewhere}"
        return f"nothing proves that the operation log {path} belongs to this database: none of its rows is here"

    @property
    def shown_original(self) -> str:
        """The path or address of the database to which the log belongs or may belong."""
        return path_or_address(self.original)

    @property
    def is_of_copy(self) -> bool:
        """Whether the log belongs to another database with the same rows."""
        return self.error is None and self.doubt is Doubt.COPY

    @property
    def refusal(self) -> CkptError:
        """The error for a command that needs this log."""
        if self.error is not None:
            return type(self.error)(f"{self.error.message}; nothing was written", hint=self.error.hint)
        match self.doubt:
            case Doubt.COPY:
                return Refused(f"{self.note}; nothing was written", hint="name that database with --db")
            case Doubt.CLONE:
                return Refused(
                    f"{self.note}; nothing was written", hint="if it belongs to this database, add --same-database"
                )
            case Doubt.OTHER:
                return contradicted(self.log, self.ref)
            case Doubt.DONE_ELSEWHERE:
                return Refused(
                    f"{self.note}; nothing was written", hint="if it belongs to this database, add --same-database"
                )
        return unproven(self.log)

    @property
    def may_be_trusted(self) -> bool:
        """Whether ckpt uses this log if a person adds `--same-database`."""
        return self.doubt in (Doubt.UNPROVEN, Doubt.CLONE, Doubt.DONE_ELSEWHERE)


@dataclass(slots=True)
class SearchResult:
    """The logs that a search found.

    Attributes:
        own: the log that is proved to belong to the database, if there is one.
        doubtful: logs that may belong to the database; the logs of its own address come first.
    """

    own: OperationLog | None = None
    doubtful: list[Doubtful] = field(default_factory=list)


class Search:
    """Searches the logs of this user for the log of a database.

    Args:
        saver: the database.
        deep: also compare the logs of other addresses with the database; otherwise read as little as possible.
        candidates: the logs to try, if they are already chosen.
    """

    def __init__(self, saver: Saver, *, deep: bool, candidates: LogCandidates | None = None) -> None:
        self._saver, self._deep = saver, deep
        self._candidates = candidates or LogCandidates(saver, deep=deep)
        self._result = SearchResult()

    def run(self) -> SearchResult:
        """Try the logs of this address, then the logs of other addresses."""
        for path in self._candidates.own():
            if self._is_own(OperationLog(path), is_here=True):
                return self._result
        for path in self._candidates.others():
            log = OperationLog(path)
            if (self._deep or _concerns_readers(log)) and self._is_own(log, is_here=False):
                break
        return self._result

    def _is_own(self, log: OperationLog, *, is_here: bool) -> bool:
        """Whether a log belongs to the database. If not, the log is added to the doubtful logs or ignored."""
        try:
            finding = self._saver.moment(
                lambda: judge_log(self._saver, log, page=WITNESSES if self._deep else _FEW_WITNESSES)
            )
            doubt, original = self._find_doubt(log, finding.verdict, is_here=is_here)
        except (Failed, Refused) as error:
            if is_here:
                self._result.doubtful.append(Doubtful(log, Doubt.UNREADABLE, error=error))
            return False
        if doubt is None and (is_here or finding.verdict is Verdict.MATCHES):
            self._result.own = log
            return True
        log.close()
        if doubt is not None:
            self._result.doubtful.append(Doubtful(log, doubt, is_here, original, finding.ref))
        return False

    def _find_doubt(self, log: OperationLog, verdict: Verdict, *, is_here: bool) -> tuple[Doubt | None, str]:
        places = log.places()
        if verdict is Verdict.CONTRADICTED:
            return (Doubt.OTHER if is_here else None), ""
        if verdict is Verdict.UNPROVEN:
            is_likely = is_here or any(place.mark and place.mark == self._candidates.place.mark for place in places)
            return (Doubt.UNPROVEN if is_likely else None), ""
        if verdict is Verdict.NOTHING_TO_PROVE or (is_here and not self._deep):
            return None, ""
        doubt, original = self._doubt_of_copy(log, places)
        if doubt is None and not is_here and self._saver.moment(lambda: is_as_before(self._saver, log)):
            return Doubt.DONE_ELSEWHERE, places[0].address if places else ""
        return doubt, original

    def _doubt_of_copy(self, log: OperationLog, places: list[Place]) -> tuple[Doubt | None, str]:
        """The doubt about a log whose rows are here: this database may be a copy or a clone of the log's database.

        The doubt comes with the address of that original. If the log was already used at this address, an original can
        only be a place where the log was used after that.
        """
        here = self._candidates.place
        if any(_is_same(place, here) for place in places):
            return None, ""
        addresses = [place.address for place in places]
        is_known = here.address in addresses
        later_places = places[: addresses.index(here.address) + 1] if is_known else places
        originals = {
            place.address: self._saver.original(place, lambda saver: _matches(saver, log)) for place in later_places
        }
        if address := next((address for address, one in originals.items() if one), ""):
            return Doubt.COPY, address
        unknown = next((address for address, one in originals.items() if one is None), "")
        return (Doubt.CLONE, unknown) if unknown and not is_known else (None, "")


def _concerns_readers(log: OperationLog) -> bool:
    """Whether it is worth proving for a command that changes nothing that a log is this database's."""
    try:
        if log.concerns_readers:
            return True
    except (Failed, Refused):
        return False  # as a log of another address that can't be read
    log.close()
    return False


def new_log(address: str) -> OperationLog:
    """A new log for an address; its folder and file don't exist yet."""
    state, name, number = state_folder(), folder_name(address), 1
    folder = name
    while os.path.lexists(state / folder / LOG):  # False where this user may not look
        number += 1
        folder = f"{name}-{number}"
    return OperationLog(state / folder / LOG)


def _matches(saver: Saver, log: OperationLog) -> bool:
    return saver.moment(lambda: judge_log(saver, log)).verdict is Verdict.MATCHES


def _is_same(one: Place, other: Place) -> bool:
    """Whether two places are on the same running server; a server that runs on cloned files has another instance id."""
    return bool(one.instance) and (one.engine, one.instance) == (other.engine, other.instance)
