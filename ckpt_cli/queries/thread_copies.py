"""Copies threads between databases: plans each, applies all, reads the new rows back and compares."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from typing import NamedTuple

from ckpt_cli.bulk_change import Planned, change_many
from ckpt_cli.copying.payload_changes import NO_CHANGES, PayloadChanges, must_be_sealable
from ckpt_cli.copying.thread_copy import ThreadCopy
from ckpt_cli.errors import CkptError, DatabaseUnreachable, Failed, Refused
from ckpt_cli.model import Insertion, Plan, Ref, Row, RowChange, Seen
from ckpt_cli.operations.apply import ANY_NS, basis_of
from ckpt_cli.operations.change_spool import ChangeSpool
from ckpt_cli.operations.row_images import Change, key_text
from ckpt_cli.operations.row_sizes import size_of
from ckpt_cli.operations.rows import is_image
from ckpt_cli.operations.side_effects import kind_of
from ckpt_cli.operations.streams import Streamed
from ckpt_cli.plans import copy as plans
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.paging import pages
from ckpt_cli.session import Session
from ckpt_cli.values.counts import count_text
from ckpt_cli.views.bulk import BulkView
from ckpt_cli.views.thread_refusals import refusal_of

_PAGE, _HASHED = 25, 500  # rows that are read back together, whole and as the server's digests …
_BYTES = 4 << 20  # … and not many more bytes

MustFit = Callable[[Saver, Saver, str], None]
"""Raises `Refused` if a thread of one database may not be added to what another has of it."""

Kept = Callable[[str, RowChange], Row | None]
"""The row of a thread as the target had it once; None if nobody kept it."""


class CopyOptions(NamedTuple):
    """How threads are copied.

    Attributes:
        skip_refused: copy the others if some can't be copied.
        check: read the rows back.
        changes: what is done to payloads on the way.
        follows: an earlier round of the same command has compared what the target has. Then only names are compared,
            and nothing is said of what goes on meanwhile.
    """

    skip_refused: bool = False
    check: bool = True
    changes: PayloadChanges = NO_CHANGES
    follows: bool = False


def copy_threads(
    source: Session,
    target: Session,
    thread_ids: Iterable[str],
    options: CopyOptions,
    *,
    verb: str = "copy",
    must_fit: MustFit = lambda *_: None,
    kept: Kept | None = None,
) -> BulkView:
    """Copy what the target lacks of these threads: plans are shown, confirmed, applied as one operation, and checked.

    Args:
        source: has the threads.
        target: gets them.
        thread_ids: the threads.
        options: how they are copied.
        verb: the command, as the log names it.
        must_fit: is asked of each thread before it is compared.
        kept: gives rows as the target had them, with the columns that an application added.

    Raises:
        NotFound: no value has a class that is to be renamed; nothing was written.
        NotSupported, Failed: the target can't keep encrypted checkpoints; a row isn't what was written.
    """
    changes = options.changes
    if changes.key_env:
        must_be_sealable(target.reader.saver.form)
    copies = Copies(source, target, options, verb, must_fit, kept)

    def planned() -> Iterator[Planned]:
        for thread_id in thread_ids:
            found = copies.plan(thread_id)
            if found is not None:
                yield thread_id, found
        if not options.follows:
            changes.must_have_matched()

    about = source.reader.saver.about()
    redacted = ", which is redacted: its threads are not what they were" if "redacted" in about.facts else ""
    summary = f"from {about.location}{changes.words}{redacted}{', following' if options.follows else ''}"
    view = change_many(target, verb, summary, planned(), skip_refused=options.skip_refused, streams=copies)
    copies.say_what_was_there()
    if view.applied and options.check:
        copies.check(view)
    return view


class Copies:
    """The copies of many threads; each thread's records are read once for the plan, and once more to be written."""

    def __init__(
        self, source: Session, target: Session, options: CopyOptions, verb: str, must_fit: MustFit, kept: Kept | None
    ) -> None:
        self._source, self._target, self._options = source, target, options
        self._verb, self._must_fit, self._kept = verb, must_fit, kept
        self._restored: dict[str, set[tuple[str, str]]] = {}
        self._largest: dict[str, int] = {}
        self._spool = ChangeSpool(target.reader.saver)
        self._seen: dict[str, bytes] = {}
        self._known, self._sealed_otherwise = 0, set[str]()

    def plan(self, thread_id: str) -> Streamed | str | None:
        """The plan for one thread, or why it can't be copied; None if the target lacks nothing."""
        reader, saver = self._source.reader, self._target.reader.saver
        try:
            found = reader.moment(lambda: saver.moment(partial(self._look, thread_id)))
        except (DatabaseUnreachable, Failed):
            raise
        except CkptError as error:
            return refusal_of(error)
        self._known += found is None
        return found

    def _look(self, thread_id: str) -> Streamed | None:
        saver = self._target.reader.saver
        self._must_fit(self._source.reader.saver, saver, thread_id)
        basis = basis_of(saver, Ref(thread_id, ANY_NS, ""))
        if self._notices_changes:
            self._seen[thread_id] = self._state_of_source(thread_id).digest
        copy = self._copy(thread_id)
        counts: Counter[tuple[str, str]] = Counter()
        size, newest = 0, ""
        replaced = copy.replaced()
        is_new = saver.has_flat_rows and not replaced and not saver.has_rows(thread_id)
        first = (Insertion(change) for change in saver.expand(Plan("", replace=tuple(replaced))))
        missing = copy.missing(compared=not self._options.follows)
        added = self._as_kept(thread_id, saver.insertions(missing, images=True))
        keep = is_new and not self._target.options.dry_run
        for change in self._spool.add(thread_id, self._weighed(thread_id, chain(first, added)), keep=keep):
            counts[kind_of(change), change.relation] += 1
            size += size_of(change.before) + size_of(change.after)
            name = saver.record_of(change.relation, change.key)
            newest = max(newest, name.checkpoint_id) if isinstance(name, Ref) and not name.ns else newest
        if copy.is_sealed_otherwise:
            self._sealed_otherwise.add(thread_id)
        if not counts:
            return None
        plan = plans.plan(thread_id, copy.checkpoints, copy.writes, len(replaced), basis, has_root=newest != "")
        plan = plan._replace(verb=self._verb, summary=plan.summary + copy.words + self._new_head(thread_id, newest))
        return Streamed(plan, tuple((*kind, count) for kind, count in counts.items()), size)

    def _weighed(self, thread_id: str, insertions: Iterable[Insertion]) -> Iterator[Insertion]:
        """The same insertions; the most bytes of a row that must be read back are noted."""
        counted = (str,) if self._target.reader.saver.makes_digests else (str, bytes)
        largest = self._largest.setdefault(thread_id, 1)
        for one in insertions:
            size = sum([len(value) for value in (one.change.after or {}).values() if isinstance(value, counted)])
            if size > largest:
                self._largest[thread_id] = largest = size
            yield one

    def _new_head(self, thread_id: str, newest: str) -> str:
        """That a thread which went on in the target by itself would go on from a copied checkpoint."""
        thread = self._target.reader.saver.thread(thread_id)
        if thread is None or thread.head.ns or thread.head.checkpoint_id >= newest:
            return ""
        if self._source.reader.saver.row(thread.head) is not None:
            return ""
        return f"; the thread then continues from {newest}, no longer from {thread.head.checkpoint_id}"

    def logged(self, thread_id: str) -> Iterable[Change]:
        """See `operations.streams`."""
        return self._spool.logged(thread_id)

    def contents(self, thread_id: str) -> Iterator[RowChange]:
        """See `operations.streams`."""
        if (kept := self._spool.contents(thread_id)) is not None:
            return kept
        saver = self._target.reader.saver
        copy = self._copy(thread_id)
        replaced = [*saver.expand(Plan("", replace=tuple(copy.replaced())))]
        added = (one.change for one in saver.insertions(copy.missing(compared=False), images=False))
        if self._restored.get(thread_id):
            added = (self._as_it_was(thread_id, change) for change in added)
        return self._spool.recognized(thread_id, chain(replaced, added))

    def _as_kept(self, thread_id: str, insertions: Iterable[Insertion]) -> Iterator[Insertion]:
        """Rows that the target had once as they were; `check` proves that they store the same records."""
        restored = self._restored.setdefault(thread_id, set())
        for one in insertions:
            change = one.change
            row = self._kept(thread_id, change) if self._kept is not None and change.before is None else None
            if row is not None:
                restored.add((change.relation, key_text(change.key)))
                yield Insertion(self._as_it_was(thread_id, change))
            else:
                yield one

    def _as_it_was(self, thread_id: str, change: RowChange) -> RowChange:
        if self._kept is None or (change.relation, key_text(change.key)) not in self._restored[thread_id]:
            return change
        row = self._kept(thread_id, change)
        if row is None:
            return change
        return change._replace(after=self._target.reader.saver.restored(change.relation, row, None))

    def around(self, change: Callable[[], None]) -> None:
        """See `operations.streams`: one moment of the source. A moment may run again, the transaction may not."""
        done: list[None] = []

        def once() -> None:
            if not done:
                change()
                done.append(None)

        self._source.reader.moment(once)

    def _copy(self, thread_id: str) -> ThreadCopy:
        reader, changes = self._source.reader, self._options.changes
        return ThreadCopy(reader, self._target.reader, thread_id, reader.saver.form_of(thread_id), changes)

    def say_what_was_there(self) -> None:
        """Say how many threads lacked nothing, and that what the target has isn't decrypted or encrypted anew."""
        if self._known and not self._options.follows:
            self._target.say(f"already there, with all that was to be copied: {count_text(self._known, 'thread')}")
        if threads := len(self._sealed_otherwise):
            is_now, asked = (
                ("not encrypted", "encrypted") if self._options.changes.key_env else ("encrypted", "decrypted")
            )
            what = f"{count_text(threads, 'thread')} of the target {'is' if threads == 1 else 'are'} {is_now} there"
            way = f"delete it there first to copy it {asked}"
            self._target.say(f"{what}, in whole or in part, and what is there stays as it is; {way}")

    def check(self, view: BulkView) -> None:
        """Read the rows of the copied threads back, and compare each with what was to be written."""
        for line in view.threads:
            if line.state != "applied":
                continue
            self._target.progress(f"{view.command}: checking {line.thread_id}")
            saver = self._target.reader.saver
            if saver.moment(partial(self._differing, line.thread_id)) or self._is_another(line.thread_id):
                what = f"thread {line.thread_id!r} was copied, but a row isn't what was written"
                raise Failed(what, hint=f"`{view.undo}` takes the copy back")
            if self._notices_changes and self._seen[line.thread_id] != self._state_of_source(line.thread_id).digest:
                note = "went on meanwhile; the same command again copies what is new"
                self._target.say(f"thread {line.thread_id!r} {note}")
        self._target.progress("")

    def _differing(self, thread_id: str) -> bool:
        saver = self._target.reader.saver
        most = _HASHED if saver.makes_digests else _PAGE
        for page in pages(self._spool.changes(thread_id), max(1, min(most, _BYTES // self._largest[thread_id]))):
            rows = saver.proofs([(change.relation, change.key) for change in page])
            for change, row in zip(page, rows, strict=True):
                if not is_image(saver, change.relation, row, change.after):
                    return True
        return False

    def _is_another(self, thread_id: str) -> bool:
        """Whether rows that were kept don't store the source's records."""
        if not self._restored.get(thread_id):
            return False
        try:
            return any(True for _ in self._copy(thread_id).missing())
        except Refused:
            return True

    @property
    def _notices_changes(self) -> bool:
        """Whether `check` says that a thread of the source went on meanwhile."""
        return self._options.check and not self._options.follows

    def _state_of_source(self, thread_id: str) -> Seen:
        reader = self._source.reader
        return reader.moment(lambda: basis_of(reader.saver, Ref(thread_id, ANY_NS, "")))
