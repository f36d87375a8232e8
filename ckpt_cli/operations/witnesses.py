"""Witnesses prove that a log belongs to a database: digests of checkpoints that its operations left unchanged.

LangGraph never changes a checkpoint's header and metadata, so a checkpoint with the same name and other content belongs
to another database. The parent doesn't count: ckpt itself gives a checkpoint another parent when its own is deleted.
"""

from collections.abc import Collection, Iterable, Iterator
from enum import StrEnum
from hashlib import blake2b
from itertools import islice
from typing import NamedTuple

from ckpt_cli.errors import Failed, Refused
from ckpt_cli.model import Checkpoint, Ref, Row, WriteKey
from ckpt_cli.operations.log import Evidence, OperationLog, Phase
from ckpt_cli.operations.proofs import Names
from ckpt_cli.operations.rows import is_image
from ckpt_cli.savers.about import Ability
from ckpt_cli.savers.contract import Saver

WITNESSES = 16
"""How many checkpoints an operation chooses, and how many are read at once to prove a log."""

_SAMPLED = 40  # candidates of other threads
_SPACES = 3  # namespaces of its own that an operation takes witnesses of
_NEAR = 4  # checkpoints of each
_FAR = 5000  # threads that are looked through where all candidates are touched
_BYTES = 4_000_000  # read at most for witnesses, beyond `_ENOUGH`
_ENOUGH = 4
_ROWS = 8  # rows of earlier operations that are compared where no witness is left


class Verdict(StrEnum):
    """What the rows of a database say about a log."""

    MATCHES = "matches"
    CONTRADICTED = "contradicted"
    UNPROVEN = "unproven"
    """No row that the log knows is in the database."""
    OPEN = "open"
    """The log knows no row: nothing was ever logged, or only by a version of ckpt without witnesses."""


class Finding(NamedTuple):
    """A verdict, and the checkpoint that contradicts."""

    verdict: Verdict
    ref: Ref | None = None


def read_digests(saver: Saver, refs: Collection[Ref]) -> dict[Ref, bytes]:
    """The digests of those of these checkpoints that exist; of large ones only as many as needed."""
    found: dict[Ref, bytes] = {}
    size = 0
    for checkpoint in saver.headers(refs):
        found[checkpoint.row.ref] = _digest(checkpoint)
        size += len(checkpoint.body.data)
        if size > _BYTES and len(found) >= _ENOUGH:
            break
    return found


def _digest(checkpoint: Checkpoint) -> bytes:
    total = blake2b(digest_size=16)
    for payload in (checkpoint.body, checkpoint.metadata):
        for part in (payload.tag.encode(), payload.data):
            total.update(len(part).to_bytes(8) + part)
    return total.digest()


def sample_checkpoints(saver: Saver) -> list[Ref]:
    """Checkpoints that may become witnesses, read in a separate transaction before rows are locked."""
    return saver.moment(lambda: saver.sample(_SAMPLED))


class Choice:
    """Chooses the witnesses of one operation: checkpoints near those it changes, and of other threads.

    Args:
        saver: the database, inside the transaction that the operation is in.
        sampled: the checkpoints that `sample_checkpoints` gave.
    """

    def __init__(self, saver: Saver, sampled: Iterable[Ref]) -> None:
        self._saver = saver
        self._sampled = list(sampled)

    def choose(self, names: Names, known: Collection[Ref]) -> tuple[set[Ref], dict[Ref, bytes]]:
        """The known witnesses that the operation changes, and new witnesses with their digests."""
        candidates = dict.fromkeys([*self._near(names), *_spread(self._sampled)])
        changed = self._changed(names, {*known, *candidates})
        unchanged = [ref for ref in candidates if ref not in changed] or self._unchanged(names, self._beside(names))
        unchanged = unchanged or self._unchanged(names, [thread.head for thread in islice(self._saver.threads(), _FAR)])
        return changed.intersection(known), read_digests(self._saver, unchanged[:WITNESSES]) if unchanged else {}

    def _unchanged(self, names: Names, refs: Collection[Ref]) -> list[Ref]:
        changed = self._changed(names, {*refs})
        return [ref for ref in refs if ref not in changed]

    def _changed(self, names: Names, refs: Collection[Ref]) -> set[Ref]:
        found = (self._saver.record_of(*name) for name in names())
        return {ref for ref in found if isinstance(ref, Ref) and ref in refs}

    def _near(self, names: Names) -> Iterator[Ref]:
        """The newest checkpoints of the namespaces of the first rows, if they can be read without a scan."""
        for thread_id, ns in self._namespaces(names) if Ability.SKIPS in self._saver.abilities else ():
            yield from (row.ref for row in self._saver.newest(thread_id, ns, _NEAR))

    def _beside(self, names: Names) -> list[Ref]:
        """All checkpoints of the namespaces of the first rows; for when the newest are changed or need a scan."""
        return [row.ref for thread_id, ns in self._namespaces(names) for row in self._saver.rows(thread_id, ns)]

    def _namespaces(self, names: Names) -> list[tuple[str, str]]:
        records = (self._saver.record_of(*name) for name in islice(names(), 200))
        refs = (record.ref if isinstance(record, WriteKey) else record for record in records if record is not None)
        return list(islice(dict.fromkeys(ref[:2] for ref in refs), _SPACES))


def _spread(refs: Iterable[Ref]) -> list[Ref]:
    """The first of each thread, then the second of each, and so on."""
    rank: dict[str, int] = {}
    ranked: list[tuple[int, int, Ref]] = []
    for ref in refs:
        rank[ref.thread_id] = rank.get(ref.thread_id, 0) + 1
        ranked.append((rank[ref.thread_id], len(ranked), ref))
    return [ref for _, _, ref in sorted(ranked, key=lambda one: one[:2])]


def judge_log(saver: Saver, log: OperationLog, *, page: int = WITNESSES) -> Finding:
    """What the rows of a database say about a log; witnesses are read `page` at a time until one matches.

    One matching checkpoint is enough, whatever others say: only the database of the log, or a copy of it, has a
    checkpoint with this name and content. Other checkpoints that differ were damaged or changed since.
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
        return Finding(Verdict.OPEN)
    return finding


def _judge_by_images(saver: Saver, log: OperationLog, differing: Ref | None) -> Finding:
    """What the rows that operations wrote last say about a log; rows that LangGraph overwrites don't count.

    Writes are small and alike in many databases: they prove nothing if a checkpoint differs.

    Args:
        saver: the database.
        log: the log.
        differing: a checkpoint that differs from its witness.
    """
    other: Ref | None = None
    for rows in _compared(saver, log):
        matching = [name for name, is_as_logged in rows if is_as_logged]
        others = [name for name, is_as_logged in rows if not is_as_logged]
        differing = differing or next((name for name in others if isinstance(name, Ref)), None)
        if any(isinstance(name, Ref) for name in matching) or (matching and differing is None):
            return Finding(Verdict.MATCHES)
        other = other or next((name.ref for name in others if isinstance(name, WriteKey)), None)
    ref = differing or other
    return Finding(Verdict.UNPROVEN if ref is None else Verdict.CONTRADICTED, ref)


def _compared(saver: Saver, log: OperationLog) -> Iterator[list[tuple[Ref | WriteKey, bool]]]:
    """The existing rows that operations wrote last, some at a time, each with whether it is as logged."""
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
    """Whether LangGraph never changes such a row; it changes special writes, pointers and lists."""
    return isinstance(name, Ref) or (isinstance(name.idx, int) and name.idx >= 0)


def _is_as_logged(saver: Saver, evidence: Evidence, row: Row) -> bool:
    """Whether a row is as an operation left it; or as it was before, if the operation may not have happened."""
    change = evidence.change
    images = [change.after] if evidence.phase is Phase.DONE else [change.after, change.before]
    return any(image is not None and is_image(saver, change.relation, row, image) for image in images)


def confirm(saver: Saver, log: OperationLog) -> None:
    """Check, inside the transaction that writes, that the log belongs to this database.

    Raises:
        Refused: it belongs to another one, or nothing proves that it belongs to this one and no person said so.
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
    """Whether a later command can prove that the log belongs to this database, as long as its rows stay."""
    return next(log.witnesses(1), None) is not None or judge_log(saver, log).verdict is not Verdict.UNPROVEN


def contradicted(log: OperationLog, ref: Ref | None) -> Refused:
    """The error for a log of another database."""
    what = f"checkpoint {ref.checkpoint_id} of thread {ref.thread_id!r}" if ref else "a row"
    why = f"{what} has other content here than in the database that it was made for"
    hint = (
        "name that database with --db; if it is this one, and its rows were rewritten by hand or by a migration,"
        " bring one of them back as it was; the next change here starts a log of its own"
    )
    return Refused(f"the operation log {log.path} belongs to another database: {why}; nothing was written", hint=hint)


def unproven(log: OperationLog) -> Refused:
    """The error for a log of which no row is left."""
    why = "none of the rows that it knows is here"
    hint = "if you know that it is: --same-database"
    what = f"nothing proves that the operation log {log.path} belongs to this database"
    return Refused(f"{what}: {why}; nothing was written", hint=hint)
