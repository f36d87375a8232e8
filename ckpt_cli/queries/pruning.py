"""Prunes one thread or many, with what goes packed in a bundle first if `--export` names one."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import islice
from pathlib import Path

from ckpt_cli.bulk_change import Planned, change_many
from ckpt_cli.errors import NotFound, NotSupported, PayloadCorrupt, Refused
from ckpt_cli.model import CheckpointRow, Plan, Ref
from ckpt_cli.operations.bundles import Packed
from ckpt_cli.parameters.target import Target
from ckpt_cli.plans import prune as plans
from ckpt_cli.plans.kept_checkpoints import Decisions
from ckpt_cli.plans.prune import Pruning, Rules
from ckpt_cli.queries.selected_heads import selected_heads
from ckpt_cli.queries.thread_plans import plans_of_threads
from ckpt_cli.reading import Reader
from ckpt_cli.savers.bundle.files import bundle_writer
from ckpt_cli.savers.bundle.saver import BundleSaver
from ckpt_cli.savers.bundle.thread_export import export_thread
from ckpt_cli.savers.bundle.writer import BundleWriter
from ckpt_cli.session import Session
from ckpt_cli.values.counts import count_text
from ckpt_cli.views.base import Rows
from ckpt_cli.views.bulk import BulkView
from ckpt_cli.views.prune import DecidedCheckpoint, PruneView

_REASONS = 12  # at most so many reasons are listed for many threads
Decided = Counter[tuple[bool, str]]
"""How many checkpoints stay, or go, for each reason."""


class _Lines(Rows):
    """What is decided of each checkpoint, as the view has it."""

    def __init__(self, decisions: Decisions) -> None:
        self._decisions = decisions

    def __iter__(self) -> Iterator[DecidedCheckpoint]:
        return (DecidedCheckpoint(*one) for one in self._decisions)


def prune_one(session: Session, thread_id: str, rules: Rules, path: Path | None, *, vacuum: bool = False) -> PruneView:
    """Prune a thread; the view has what is decided of each checkpoint."""
    with ExitStack() as stack:
        if path is not None and not session.options.dry_run:
            session.must_be_writable()
            _pack(session, [session.read(lambda reader: reader.thread(thread_id).thread_id)], rules, path)
        packed = _packed(session, path, stack)

        def make(reader: Reader) -> Pruning:
            pruning = plans.plan(reader, thread_id, rules)
            plan = _checked(pruning.plan, packed)
            after = (reader.saver.plan_vacuum().effect,) if vacuum and plan.remove else ()
            return pruning._replace(plan=plan._replace(notes=(*plan.notes, *after)))

        plan, decisions = session.make_plan(make)
        return PruneView.of(session.change(plan, packed=packed if plan.remove else None), _Lines(decisions))


def prune_many(session: Session, target: Target, rules: Rules, path: Path | None, *, vacuum: bool = False) -> BulkView:
    """Prune threads as one operation; its plan has how many checkpoints stay or go for each reason."""
    with ExitStack() as stack:
        if path is not None and not session.options.dry_run:
            session.must_be_writable()
            _pack(session, _selected(session, target), rules, path)
        packed, totals, found = _packed(session, path, stack), Decided(), dict[str, Decided]()

        def make(reader: Reader, row: CheckpointRow) -> Plan:
            pruning = plans.plan(reader, row.thread_id, rules)
            found[row.thread_id] = Decided((one.stays, reason) for one in pruning.decisions for reason in one.reasons)
            return _in_short(_checked(pruning.plan, packed), row.thread_id)

        def planned() -> Iterator[Planned]:
            for thread_id, plan in _with_changes(session, plans_of_threads(session, target, make)):
                totals.update(found.pop(thread_id, {}))
                yield thread_id, plan

        expand = None if packed is None else packed.expand
        skip = target.skip_refused
        summary = "" if path is None else f"packed in {path}"

        def notes() -> Iterator[str]:
            yield from _reasons(totals)
            if vacuum and totals:
                yield session.read(lambda reader: reader.saver.plan_vacuum().effect)

        return change_many(session, "prune", summary, planned(), skip_refused=skip, expand=expand, notes=notes)


def run_vacuum(session: Session) -> None:
    """Give the space back where the engine doesn't do it alone; a reason why it can't is said, and is no error."""
    saver = session.reader.saver
    if not session.read(lambda _: saver.plan_vacuum().statement):
        return
    try:
        session.say(saver.vacuum())
    except Refused as error:
        session.say(f"{error.reason}{error.hint and f'; later: {error.hint}'}")


def _selected(session: Session, target: Target) -> list[str]:
    chosen, limit = target.chosen, target.limit or None
    if chosen is None:
        raise ValueError("the target is one thread")
    skip_missing = target.skip_refused
    heads, _ = session.read(lambda reader: selected_heads(reader, chosen, limit, skip_missing=skip_missing))
    return [thread.thread_id for thread in heads]


def _packed(session: Session, path: Path | None, stack: ExitStack) -> Packed | None:
    if path is None:
        return None
    if session.options.dry_run or not path.exists():
        return Packed(session.reader.saver, None, path, session.options.dry_run)
    bundle = BundleSaver(path.resolve())
    stack.callback(bundle.close)
    return Packed(session.reader.saver, bundle, path)


def _pack(session: Session, thread_ids: Iterable[str], rules: Rules, path: Path) -> None:
    """Add what goes of these threads to a bundle: its records, and all rows that the plan changes, as they are.

    A thread that can't be planned is left out: its plan says why. The bundle is made when the first has something.
    """
    reader, count = session.reader, 0
    with ExitStack() as stack:
        old = BundleSaver(path) if path.exists() else None
        if old is not None:
            stack.callback(old.close)
        writers = list[BundleWriter]()

        def add(thread_id: str) -> int:
            plan = plans.plan(reader, thread_id, rules).plan
            if not plan.remove:
                return 0
            if not writers:
                writers.append(stack.enter_context(bundle_writer(path)))
            rows = partial(reader.saver.expand, plan)
            export_thread(reader.saver, thread_id, writers[0], old, None, rows, _gone(plan))
            return len(_gone(plan))

        for thread_id in thread_ids:
            try:
                count += reader.moment(partial(add, thread_id))
            except (PayloadCorrupt, Refused, NotFound, NotSupported):
                continue
            session.progress(f"{path}: {count:,} checkpoints packed")
    if count:
        session.say(f"{count_text(count, 'checkpoint')} packed in {path}; the plan removes that from the database")


def _gone(plan: Plan) -> set[Ref]:
    return {name if isinstance(name, Ref) else name.ref for name in plan.remove}


def _checked(plan: Plan, packed: Packed | None) -> Plan:
    """The plan, whose records a bundle has.

    Raises:
        Refused: the bundle doesn't have all that goes.
    """
    if packed is None or not plan.remove:
        return plan
    [thread_id] = {ref.thread_id for ref in _gone(plan)}
    if packed.lacks(thread_id, _gone(plan)):
        raise Refused(f"thread {thread_id!r} went on since it was packed in {packed.path}; nothing was written")
    return plan._replace(details=(*plan.details, *([packed.place] if packed.place else [])))


def _in_short(plan: Plan, thread_id: str) -> Plan:
    """The plan for one of many threads, whose line names the thread and has no room for reasons."""
    notes = () if plan.remove else plan.notes
    return plan._replace(notes=notes, summary=plan.summary.removeprefix(f"of {thread_id} "))


def _with_changes(session: Session, planned: Iterable[Planned]) -> Iterator[Planned]:
    """The threads of which something goes, or that are refused; the number of the others is said, with the reason."""
    unchanged: dict[str, list[str]] = {}
    for thread_id, plan in planned:
        if not isinstance(plan, Plan) or plan.remove:
            yield thread_id, plan
        else:
            unchanged.setdefault(", ".join(plan.notes), []).append(thread_id)
    for why, names in islice(unchanged.items(), _REASONS):
        where = f"thread {names[0]!r}" if len(names) == 1 else f"{len(names):,} of the threads"
        session.say(f"nothing to remove in {where}{why and ': '}{why}")
    if more := sum(map(len, islice(unchanged.values(), _REASONS, None))):
        session.say(f"nothing to remove in {more:,} more")


def _reasons(totals: Decided) -> Iterator[str]:
    """How many checkpoints of all threads go, or stay, for each reason; one may have several."""
    for stays, one, several in ((False, "goes", "go"), (True, "stays", "stay")):
        reasons = [(reason, count) for (does, reason), count in totals.most_common() if does is stays]
        for reason, count in reasons[:_REASONS]:
            yield f"{count_text(count, 'checkpoint')} {one if count == 1 else several}: {reason}"
