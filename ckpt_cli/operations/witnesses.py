"""Proves that a log belongs to a database, by digests of unchanged checkpoints; refuses other logs.

LangGraph never changes the header and the metadata of a checkpoint. So if a checkpoint has the same name but other
content, it is in another database. The digest doesn't include the parent, because ``ckpt delete --reparent`` gives a
checkpoint another parent.
"""

from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from enum import StrEnum
from hashlib import blake2b
from itertools import islice
from typing import NamedTuple

from ckpt_cli.errors import Failed, Refused
from ckpt_cli.model import Checkpoint, Ref, Row, RowChange, WriteKey
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.operation import Evidence, Phase
from ckpt_cli.operations.proofs import RowKeys
from ckpt_cli.operations.rows import is_image
from ckpt_cli.savers.about import Ability
from ckpt_cli.savers.contract import Saver

WITNESSES = 16
"""The number of witnesses that an operation chooses, and that are read together to prove a log."""

_SAMPLED = 40  # this many checkpoints of other threads are candidates
_SPACES = 3  # at most this many of the changed namespaces supply witnesses
_PER_NAMESPACE = 4  # this many checkpoints of each of these namespaces are candidates
_THREADS_SEARCHED = 5000  # if the operation changes all candidates, witnesses are searched in this many threads
_ENOUGH = 4  # witnesses
_BYTES = 4_000_000  # reading stops after this many bytes, once `_ENOUGH` witnesses are read
_ROWS = 8  # logged rows that are compared at a time if no witness matches
_COMPARED = 64  # changed rows that are looked at to find out whether the operations were done here


class Verdict(StrEnum):
    """The result of comparing a log with the rows of a database."""

    MATCHES = "matches"
    CONTRADICTED = "contradicted"
    UNPROVEN = "unproven"
    """No row that the log recorded is in the database."""
    NOTHING_TO_PROVE = "open"
    """The log recorded no row: nothing was ever logged, or only by a version of ckpt without witnesses."""


class Finding(NamedTuple):
    """A verdict, and for `CONTRADICTED` the checkpoint that differs."""

    verdict: Verdict
    ref: Ref | None = None


def read_digests(saver: Saver, refs: Collection[Ref]) -> dict[Ref, bytes]:
    """The digests of these checkpoints, if they exist; if the checkpoints are large, only the first few digests."""
    found: dict[Ref, bytes] = {}
    size = 0
    for checkpoint in saver.headers(refs):
        found[checkpoint.row.ref] = _digest(checkpoint)
        size += len(checkpoint.body.data)
        if size > _BYTES and len(found) >= _ENOUGH:
            break
    return found


def read_witness(saver: Saver, ref: Ref) -> bytes | None:
    """The digest of a checkpoint, which proves later that a tag or a remembered reducer belongs to this database.

    None for a shallow saver, because it overwrites its only checkpoint.
    """
    return read_digests(saver, [ref]).get(ref) if Ability.BRANCHES in saver.abilities else None


def _digest(checkpoint: Checkpoint) -> bytes:
    total = blake2b(digest_size=16)
    for payload in (checkpoint.body, checkpoint.metadata):
        for part in (payload.tag.encode(), payload.data):
            total.update(len(part).to_bytes(8) + part)
    return total.digest()


def sample_checkpoints(saver: Saver) -> list[Ref]:
    """Some checkpoints that may become witnesses; they are read in a separate transaction before rows are locked."""
    return saver.moment(lambda: saver.sample(_SAMPLED))


class Choice:
    """Chooses the witnesses of one operation: unchanged checkpoints in the changed namespaces and in other threads.

    Args:
        saver: the database, inside the transaction of the operation.
        sampled: the checkpoints that `sample_checkpoints` gave.
    """

    def __init__(self, saver: Saver, sampled: Iterable[Ref]) -> None:
        self._saver = saver
        self._sampled = list(sampled)

    def choose(self, row_keys: RowKeys, known: Collection[Ref]) -> tuple[set[Ref], dict[Ref, bytes]]:
        """The known witnesses that the operation changes, and new witnesses with their digests."""
        candidates = dict.fromkeys([*self._newest_of_changed_namespaces(row_keys), *_spread(self._sampled)])
        changed = self._changed(row_keys, {*known, *candidates})
        unchanged = [ref for ref in candidates if ref not in changed] or self._unchanged(
            row_keys, self._all_of_changed_namespaces(row_keys)
        )
        unchanged = unchanged or self._unchanged(
            row_keys, [thread.head for thread in islice(self._saver.threads(), _THREADS_SEARCHED)]
        )
        return changed.intersection(known), read_digests(self._saver, unchanged[:WITNESSES]) if unchanged else {}

    def _unchanged(self, row_keys: RowKeys, refs: Collection[Ref]) -> list[Ref]:
        changed = self._changed(row_keys, {*refs})
        return [ref for ref in refs if ref not in changed]

    def _changed(self, row_keys: RowKeys, refs: Collection[Ref]) -> set[Ref]:
        if not refs:
            return set()
        found = (self._saver.record_of(*row_key) for row_key in row_keys())
        return {ref for ref in found if isinstance(ref, Ref) and ref in refs}

    def _newest_of_changed_namespaces(self, row_keys: RowKeys) -> Iterator[Ref]:
        """The newest checkpoints of the namespaces that own the operation's first rows, if this needs no full scan."""
        for thread_id, ns in self._namespaces(row_keys) if Ability.SKIPS in self._saver.abilities else ():
            yield from (row.ref for row in self._saver.newest(thread_id, ns, _PER_NAMESPACE))

    def _all_of_changed_namespaces(self, row_keys: RowKeys) -> list[Ref]:
        """All checkpoints of these namespaces, needed if the newest are changed or their reading is a full scan."""
        return [row.ref for thread_id, ns in self._namespaces(row_keys) for row in self._saver.rows(thread_id, ns)]

    def _namespaces(self, row_keys: RowKeys) -> list[tuple[str, str]]:
        records = (self._saver.record_of(*row_key) for row_key in islice(row_keys(), 200))
        refs = (record.ref if isinstance(record, WriteKey) else record for record in records if record is not None)
        return list(islice(dict.fromkeys(ref[:2] for ref in refs), _SPACES))


def _spread(refs: Iterable[Ref]) -> list[Ref]:
    """The first checkpoint of each thread, then the second of each, and so on."""
    rank: dict[str, int] = {}
    ranked: list[tuple[int, int, Ref]] = []
    for ref in refs:
        rank[ref.thread_id] = rank.get(ref.thread_id, 0) + 1
        ranked.append((rank[ref.thread_id], len(ranked), ref))
    return [ref for _, _, ref in sorted(ranked, key=lambda one: one[:2])]


def judge_log(saver: Saver, log: OperationLog, *, page: int = WITNESSES) -> Finding:
    """Compare a log with the rows of a database. Witnesses are read `page` at a time until one matches.

    One matching checkpoint is enough, even if others differ: only the log's database, or a copy of it, has a checkpoint
    with this name and content. The checkpoints that differ were damaged or changed since.
    """
    is_witnessed = False
    differing: Ref | None = None
    for known in log.witnesses(page):
        is_witnessed = True
        now = read_digests(saver, known)
        if any(now[ref] == known[ref] for ref in now):
            return Finding(Verdict.MATCHES)
        differing = differing or next(iter(now), None)
    finding = _judge_by_images(saver, log, differing)
    if finding.verdict is Verdict.UNPROVEN and not is_witnessed and log.needs_no_witnesses:
        return Finding(Verdict.NOTHING_TO_PROVE)
    return finding


def _judge_by_images(saver: Saver, log: OperationLog, differing: Ref | None) -> Finding:
    """The verdict from row images: each logged row is compared with its image in the last operation that wrote it.

    Rows that LangGraph overwrites are skipped. Writes are small and equal in many databases, so a matching write proves
    nothing if a checkpoint differs.

    Args:
        saver: the database.
        log: the log.
        differing: a checkpoint that differs from its witness.
    """
    other: Ref | None = None
    for rows in _compare_logged_rows(saver, log):
        matching = [name for name, is_as_logged in rows if is_as_logged]
        others = [name for name, is_as_logged in rows if not is_as_logged]
        differing = differing or next((name for name in others if isinstance(name, Ref)), None)
        if any(isinstance(name, Ref) for name in matching) or (matching and differing is None):
            return Finding(Verdict.MATCHES)
        other = other or next((name.ref for name in others if isinstance(name, WriteKey)), None)
    ref = differing or other
    return Finding(Verdict.UNPROVEN if ref is None else Verdict.CONTRADICTED, ref)


def _compare_logged_rows(saver: Saver, log: OperationLog) -> Iterator[list[tuple[Ref | WriteKey, bool]]]:
    """The logged rows that exist, some at a time; each with True if the row still is as it was last logged."""
    named = ((one, saver.record_of(one.change.relation, one.change.key)) for one in log.evidence())
    lasting = ((one, name) for one, name in named if name is not None and _never_changes(name))
    while some := list(islice(lasting, _ROWS)):
        now = saver.currents([(one.change.relation, one.change.key) for one, _ in some])
        yield [
            (name, _is_as_logged(saver, one, row))
            for (one, name), row in zip(some, now, strict=True)
            if row is not None
        ]


def _never_changes(name: Ref | WriteKey) -> bool:
    """Whether LangGraph never changes such a row. LangGraph does change special writes, pointers and lists."""
    return isinstance(name, Ref) or (isinstance(name.idx, int) and name.idx >= 0)


def _is_as_logged(saver: Saver, evidence: Evidence, row: Row) -> bool:
    """Whether a row is as an operation left it or, if the operation may not have happened, as the row was before."""
    change = evidence.change
    images = [change.after] if evidence.phase is Phase.DONE else [change.after, change.before]
    return any(image is not None and is_image(saver, change.relation, row, image) for image in images)


def is_as_before(saver: Saver, log: OperationLog) -> bool:
    """Whether the newest rows that a log's finished operations changed are all as they were before.

    Then the operations were done to a copy of the database, or it was restored since. A row that an operation added,
    and whose thread is gone, shows neither: an application may have deleted the thread. False if no row shows anything.
    """
    done = log.rows("SELECT number FROM operations WHERE state = ? ORDER BY number DESC", (Phase.DONE,))
    changes = (change for (number,) in done for change in log.changes(number) if change.before != change.after)
    shown = False
    with suppress(Refused):  # the bundle of its rows is gone
        compared = islice(changes, _COMPARED)
        while some := list(islice(compared, _ROWS)):
            now = saver.currents([(change.relation, change.key) for change in some])
            for change, row in zip(some, now, strict=True):
                if not is_image(saver, change.relation, row, change.before):
                    return False
                shown = shown or change.before is not None or _has_thread(saver, change)
        return shown
    return False


def _has_thread(saver: Saver, change: RowChange) -> bool:
    """Whether the thread of a row has checkpoints."""
    record = saver.record_of(change.relation, change.key)
    ref = record.ref if isinstance(record, WriteKey) else record
    return isinstance(ref, Ref) and saver.thread(ref.thread_id) is not None


def confirm(saver: Saver, log: OperationLog) -> None:
    """Check, inside the transaction that writes, that the log belongs to this database.

    Raises:
        Refused: the log belongs to another database, or nothing proves that it belongs to this one.
    """
    try:
        finding = judge_log(saver, log)
    except Failed as error:
        raise Failed(f"{error.message}; nothing was written") from error
    if finding.verdict is Verdict.CONTRADICTED:
        raise contradicted(log, finding.ref)
    if finding.verdict is Verdict.UNPROVEN and not log.is_trusted:
        raise unproven(log)


def is_provable(saver: Saver, log: OperationLog) -> bool:
    """Whether a later command can prove that the log belongs to this database, if the rows stay as they are."""
    return next(log.witnesses(1), None) is not None or judge_log(saver, log).verdict is not Verdict.UNPROVEN


def contradicted(log: OperationLog, ref: Ref | None) -> Refused:
    """The error for a log of another database."""
    what = f"checkpoint {ref.checkpoint_id} of thread {ref.thread_id!r}" if ref else "a row"
    why = f"{what} has other content here than in the log's database"
    hint = (
        "name the log's database with --db; if it is this one, and its rows were rewritten by hand or by a migration,"
        " restore one of these rows, or go on: the next change here starts a new log"
    )
    return Refused(f"the operation log {log.path} belongs to another database: {why}; nothing was written", hint=hint)


def unproven(log: OperationLog) -> Refused:
    """The error for a log if none of its recorded rows is in the database."""
    why = "none of the rows that it recorded is here"
    hint = "if you know that it does, add --same-database"
    what = f"nothing proves that the operation log {log.path} belongs to this database"
    return Refused(f"{what}: {why}; nothing was written", hint=hint)
