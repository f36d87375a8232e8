"""Applies a plan in one transaction: checks its basis, logs images, writes rows; refused, it leaves no log."""

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from itertools import groupby

from ckpt_cli import ctrl_c
from ckpt_cli.errors import CkptError, Failed, Refused
from ckpt_cli.model import Checkpoint, CheckpointRow, Plan, Ref, RowChange, Seen, Write
from ckpt_cli.operations.changed_threads import ThreadCounts
from ckpt_cli.operations.forget import finish as finish_forgetting
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.operation import Heading
from ckpt_cli.operations.settle import settle
from ckpt_cli.operations.side_effects import check_side_effects
from ckpt_cli.operations.witnesses import Choice, confirm, sample_checkpoints
from ckpt_cli.savers.about import Ability, SideEffect
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.paging import ThreadSkeleton, pages, thread_skeletons

ANY_NS = "*"
"""In a `Seen`: every namespace of the thread."""


def apply(
    saver: Saver,
    log: OperationLog,
    plan: Plan,
    *,
    at: float,
    forget: Collection[str] = (),
    accepted: Collection[SideEffect] = (),
    expand: Callable[[Plan], Iterable[RowChange]] | None = None,
) -> int:
    """Write a plan, and give the operation's `number` in the log.

    The images are on disk before the first row is touched. If ckpt crashes after that and before the end of the
    transaction, either the whole plan was written or nothing of it. `settle` can find out which.

    Args:
        saver: the database.
        log: its operation log.
        plan: the plan.
        at: seconds since 1970.
        forget: threads that the plan deletes; they are wiped from the log once they are deleted.
        accepted: triggers and other side effects that may happen.
        expand: gives the rows of the plan; None for the saver's own `expand`.

    Raises:
        Refused: the rows from which the plan was computed have changed, a record to add exists already, or a trigger
            would fire that nobody accepted; nothing was written.
    """

    def rows() -> Iterable[RowChange]:
        verify(saver, plan.basis)
        return (expand or saver.expand)(plan)

    if not forget:
        return write(
            saver, log, Heading(at, plan.verb, plan.reason, plan.summary, details=plan.details), rows, accepted
        )
    summary = f"of {len(forget):,} thread{'' if len(forget) == 1 else 's'}, forgotten"
    heading = Heading(at, plan.verb, plan.reason, summary, forget=tuple(forget))
    number = write(saver, log, heading, rows, accepted)
    try:
        finish_forgetting(saver, log)
    except CkptError as error:
        raise Failed(f"{log.name_of(number)} was applied, but {error.message}", hint=error.hint) from error
    return number


def write(
    saver: Saver,
    log: OperationLog,
    heading: Heading,
    expand: Callable[[], Iterable[RowChange]],
    accepted: Collection[SideEffect] = (),
) -> int:
    """Log and apply row changes, and return the operation's `number`; `expand` gives them inside the transaction."""
    logged: list[int] = []
    ctrl_c.note_outcome("nothing was written")
    candidates, place = sample_checkpoints(saver), saver.place()

    def work() -> None:
        confirm(saver, log)
        changes = check_side_effects(saver, expand(), accepted)
        threads = ThreadCounts(saver.record_of, is_named=not heading.forget)
        witnessing = Choice(saver, candidates)
        logged.append(log.begin(heading, changes, witnessing=witnessing, place=place, threads=threads))
        name = log.operation(logged[0]).name
        ctrl_c.note_outcome(
            f"{name} is planned: the next change, or `ckpt operations --settle`, finds what was written"
        )
        log.add_to_index(place)
        saver.change(log.changes(logged[0]))

    saver.permit(accepted)
    stepwise = Ability.ATOMIC not in saver.abilities
    try:
        with log.exclusive(needed=stepwise):
            saver.transaction(work)
            operation = log.operation(logged[0])
            ctrl_c.note_outcome(f"{operation.name} is applied; `{operation.undo_command}` takes it back")
            _finish(log, logged[0])
    except Exception:
        with suppress(CkptError):  # in that case the next change settles the operation
            settle(saver, log)
        raise
    return logged[0]


def _finish(log: OperationLog, number: int) -> None:
    try:
        log.finish(number)
    except CkptError as error:
        raise Failed(
            f"{log.name_of(number)} was applied, but the log doesn't record that yet: {error.message}"
        ) from error


def basis_of(saver: Saver, ref: Ref, *, writes: bool = True) -> Seen:
    """A part of a plan's basis: a digest of the records that the database now has under this name.

    The plan was computed from these records. `verify` compares the digests again before the plan is written.
    """
    if writes and _is_whole_thread(ref):
        return next(_basis_of_whole(saver, [ref.thread_id]))
    return Seen(ref, _digest(saver, ref, writes), writes)


def basis_of_heads(saver: Saver, thread_id: str, ns: str = "") -> tuple[Seen, ...]:
    """The heads of a namespace and of all graphs around it, for the basis of a plan that moves the head.

    An outer graph can continue without a new checkpoint in this namespace, so the head of that graph counts as well.
    """
    parts = ns.split("|") if ns else []
    spaces = ["|".join(parts[:depth]) for depth in range(len(parts) + 1)]
    return tuple(_seen_head(saver, Ref(thread_id, space, "")) for space in spaces)


def _seen_head(saver: Saver, ref: Ref) -> Seen:
    return Seen(ref, _digest_of_head(saver, ref), writes=True, head=True)


def _digest_of_head(saver: Saver, ref: Ref) -> bytes:
    ids = [row.checkpoint_id for row in saver.newest(ref.thread_id, ref.ns, 1)]
    total = hashlib.blake2b(digest_size=16)
    _add(total, *ids)
    _add_writes(total, saver.writes(ref.thread_id, ref.ns, ids, values=0) if ids else ())
    return total.digest()


def verify(saver: Saver, basis: Iterable[Seen]) -> None:
    """Check that everything from which a plan was computed is unchanged.

    Raises:
        Refused: the message names what changed.
    """
    for was, digest in _current_digests(saver, basis):
        if digest != was.digest:
            raise Refused(f"{_describe_change(was)}; nothing was written", hint="run the command again")


def _describe_change(was: Seen) -> str:
    if was.head:
        where = f" (in {was.ref.ns})" if was.ref.ns else ""
        return f"thread {was.ref.thread_id!r} has continued since the plan was begun{where}"
    what = f"checkpoint {was.ref.checkpoint_id}" if was.ref.checkpoint_id else f"thread {was.ref.thread_id!r}"
    return f"{what} has changed since the plan was begun"


def basis_of_threads(saver: Saver, thread_ids: Iterable[str]) -> Iterator[tuple[ThreadSkeleton, Seen]]:
    """Threads with the names of all their records, each with its basis; a page of threads is read at a time."""
    for thread in thread_skeletons(saver, thread_ids):
        yield thread, Seen(Ref(thread.thread_id, ANY_NS, ""), _digest_of(thread.rows, thread.writes), writes=True)


def _basis_of_whole(saver: Saver, thread_ids: Iterable[str]) -> Iterator[Seen]:
    """The same basis of each thread without the names of its records, of which there may be very many."""
    for page in pages(thread_ids, saver.page):
        totals = {thread_id: hashlib.blake2b(digest_size=16) for thread_id in page}
        for row in saver.rows_of(list(totals)):
            _add_rows(totals[row.thread_id], [row])
        for write in saver.writes_of(list(totals), values=0):
            _add_writes(totals[write.thread_id], [write])
        yield from (Seen(Ref(thread_id, ANY_NS, ""), totals[thread_id].digest(), writes=True) for thread_id in page)


def _current_digests(saver: Saver, basis: Iterable[Seen]) -> Iterator[tuple[Seen, bytes]]:
    """Each part of the basis with its current digest; whole threads are read a page at a time."""
    for is_whole, some in groupby(basis, key=lambda was: was.writes and _is_whole_thread(was.ref)):
        if is_whole:
            threads = list(some)
            current = _basis_of_whole(saver, (was.ref.thread_id for was in threads))
            yield from ((was, seen.digest) for was, seen in zip(threads, current, strict=True))
        else:
            yield from ((was, _digest_now(saver, was)) for was in some)


def _digest_now(saver: Saver, was: Seen) -> bytes:
    return _digest_of_head(saver, was.ref) if was.head else _digest(saver, was.ref, was.writes)


def _is_whole_thread(ref: Ref) -> bool:
    return ref.ns == ANY_NS and not ref.checkpoint_id


def _digest(saver: Saver, ref: Ref, writes: bool) -> bytes:
    ns = None if ref.ns == ANY_NS else ref.ns
    ids = [ref.checkpoint_id] if ref.checkpoint_id else None
    written = saver.writes(ref.thread_id, ns, ids, values=0) if writes else ()
    if ids is None:
        return _digest_of(saver.rows(ref.thread_id, ns), written)
    total = hashlib.blake2b(digest_size=16)
    for checkpoint in saver.checkpoints([ref]):
        _add_checkpoint(total, checkpoint)
    _add_writes(total, written)
    return total.digest()


def _digest_of(rows: Iterable[CheckpointRow], writes: Iterable[Write]) -> bytes:
    total = hashlib.blake2b(digest_size=16)
    _add_rows(total, rows)
    _add_writes(total, writes)
    return total.digest()


def _add_rows(total: "hashlib.blake2b", rows: Iterable[CheckpointRow]) -> None:
    for row in rows:
        _add(total, row.ns, row.checkpoint_id, row.parent_id or "", str(row.size))


def _add_writes(total: "hashlib.blake2b", writes: Iterable[Write]) -> None:
    for write in writes:
        _add(total, write.ns, write.checkpoint_id, write.task_id, str(write.idx), write.channel, str(write.size))


def _add_checkpoint(total: "hashlib.blake2b", checkpoint: Checkpoint) -> None:
    _add(total, checkpoint.row.checkpoint_id, checkpoint.row.parent_id or "")
    payloads = [checkpoint.body, checkpoint.metadata, *(p for _, p in sorted((checkpoint.channels or {}).items()))]
    for payload in payloads:
        _add(total, payload.tag, payload.data)


def _add(total: "hashlib.blake2b", *parts: str | bytes) -> None:
    encoded = [part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass") for part in parts]
    total.update(b"".join([len(data).to_bytes(8) + data for data in encoded]))
