"""The conformance class catches savers that are broken on purpose."""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TypeVar

import pytest

from ckpt_cli.conformance import Conformance
from ckpt_cli.errors import CkptError
from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Plan, Ref, RowChange, Thread, Write
from ckpt_cli.savers.memory import MemorySaver

T = TypeVar("T")
TESTS = [name for name in dir(Conformance) if name.startswith("test_")]


class LosesAWrite(MemorySaver):
    """The tenth write of a task is lost."""

    def apply(self, plan: Plan) -> None:
        kept = (record for record in plan.add if not (isinstance(record, Write) and record.idx == 10))
        super().apply(plan._replace(add=tuple(kept)))


class SortsIndexesAsText(MemorySaver):
    """Sorts 10 before 2, as DynamoDB's keys do."""

    def writes(
        self,
        thread_id: str,
        ns: str | None = None,
        checkpoint_ids: Collection[str] | None = None,
        *,
        values: int | None = None,
    ) -> Iterator[Write]:
        found = super().writes(thread_id, ns, checkpoint_ids, values=values)
        yield from sorted(found, key=lambda w: (w.ref, w.task_path, w.task_id, str(w.idx)))


class ForgetsTaskPaths(SortsIndexesAsText):
    """Sorts by task id before the path, as MySQL's saver does."""

    def writes(
        self,
        thread_id: str,
        ns: str | None = None,
        checkpoint_ids: Collection[str] | None = None,
        *,
        values: int | None = None,
    ) -> Iterator[Write]:
        found = MemorySaver.writes(self, thread_id, ns, checkpoint_ids, values=values)
        yield from sorted(found, key=lambda w: (w.ref, w.task_id, w.idx))


class InOrderOfSaving(MemorySaver):
    """Gives rows in the order in which they were put."""

    def rows(self, thread_id: str, ns: str | None = None) -> Iterator[CheckpointRow]:
        yield from [
            c.row for c in self._checkpoints.values() if c.row.thread_id == thread_id and ns in (None, c.row.ns)
        ]


class OldestFirst(MemorySaver):
    """Lists threads in the wrong direction."""

    def threads(self) -> Iterator[Thread]:
        yield from reversed(list(super().threads()))


class HeadOfAnyNamespace(MemorySaver):
    """Takes a subgraph's checkpoint for the head."""

    def threads(self) -> Iterator[Thread]:
        for thread in super().threads():
            yield Thread(thread.thread_id, max(self._refs(thread.thread_id), key=lambda ref: ref.checkpoint_id))


class FindsThreadsByPattern(MemorySaver):
    """Finds other threads, too, by an id with a wildcard."""

    def _refs(self, thread_id: str, ns: str | None = None) -> list[Ref]:
        found = [r for r in self._checkpoints if thread_id in ("%", "*", r.thread_id)]
        return sorted(r for r in found if ns in (None, r.ns))


class FindsNamespacesByPrefix(MemorySaver):
    """Shows other namespaces with the same beginning."""

    def _refs(self, thread_id: str, ns: str | None = None) -> list[Ref]:
        return sorted(r for r in self._checkpoints if r.thread_id == thread_id and r.ns.startswith(ns or ""))


class WritesOfEveryNamespace(MemorySaver):
    """Ignores the namespace."""

    def writes(
        self,
        thread_id: str,
        ns: str | None = None,
        checkpoint_ids: Collection[str] | None = None,
        *,
        values: int | None = None,
    ) -> Iterator[Write]:
        return super().writes(thread_id, None, checkpoint_ids, values=values)


class AppliesByHalves(MemorySaver):
    """Keeps the records before the one that is refused."""

    def apply(self, plan: Plan) -> None:
        for record in plan.add:
            super().apply(Plan(plan.reason, (record,)))


class Replaces(MemorySaver):
    """Overwrites an existing record."""

    def apply(self, plan: Plan) -> None:
        for record in plan.add:
            if isinstance(record, Checkpoint):
                self._checkpoints.pop(record.row.ref, None)
            else:
                self._writes.pop((record.ref, record.task_id, record.idx), None)
        super().apply(plan)


class StripsPayloads(MemorySaver):
    """Loses bytes at the end that look like padding."""

    def checkpoints(self, refs: Iterable[Ref]) -> Iterator[Checkpoint]:
        for checkpoint in super().checkpoints(refs):
            yield checkpoint._replace(body=Payload(checkpoint.body.tag, checkpoint.body.data.rstrip(b"\x00\n")))


class ReadsPayloadsAsText(MemorySaver):
    """Replaces what isn't UTF-8, as LangGraph.js does."""

    def writes(
        self,
        thread_id: str,
        ns: str | None = None,
        checkpoint_ids: Collection[str] | None = None,
        *,
        values: int | None = None,
    ) -> Iterator[Write]:
        for found in super().writes(thread_id, ns, checkpoint_ids, values=values):
            data = found.payload.data.decode(errors="replace").encode() if found.payload else b""
            yield found._replace(payload=found.payload and Payload(found.payload.tag, data))


class ReadsEveryValue(MemorySaver):
    """Ignores the limit on values."""

    def writes(
        self,
        thread_id: str,
        ns: str | None = None,
        checkpoint_ids: Collection[str] | None = None,
        *,
        values: int | None = None,
    ) -> Iterator[Write]:
        return super().writes(thread_id, ns, checkpoint_ids)


class ReplacesWhatIsNotThere(MemorySaver):
    """Adds a record that should be replaced but doesn't exist."""

    def expand(self, plan: Plan) -> Iterator[RowChange]:
        held = {*self._checkpoints}
        added = tuple(r for r in plan.replace if isinstance(r, Checkpoint) and r.row.ref not in held)
        kept = tuple(r for r in plan.replace if r not in added)
        yield from super().expand(plan._replace(add=(*plan.add, *added), replace=kept))


class ForgetsBeforeImages(MemorySaver):
    """Removes rows without their before-images."""

    def expand(self, plan: Plan) -> Iterator[RowChange]:
        for change in super().expand(plan):
            yield RowChange(change.relation, change.key, change.after and change.before, change.after)


class KeepsWhatFailed(MemorySaver):
    """Keeps the changes of a transaction that failed."""

    def transaction(self, work: Callable[[], T]) -> T:
        return work()


class MixesThreads(MemorySaver):
    """Sorts writes of several threads by checkpoint id."""

    def writes_of(self, thread_ids: Collection[str], *, values: int | None = None) -> Iterator[Write]:
        yield from sorted(super().writes_of(thread_ids, values=values), key=lambda write: write.checkpoint_id)


CAUGHT_BY = {
    MixesThreads: "test_several_threads_at_once",
    ReplacesWhatIsNotThere: "test_a_plan_replaces_and_removes",
    ForgetsBeforeImages: "test_rows_of_a_plan",
    KeepsWhatFailed: "test_a_transaction_is_kept_only_if_it_returns",
    LosesAWrite: "test_writes_in_canonical_order",
    SortsIndexesAsText: "test_writes_in_canonical_order",
    ForgetsTaskPaths: "test_writes_in_canonical_order",
    InOrderOfSaving: "test_rows_ascend",
    OldestFirst: "test_threads_newest_first",
    HeadOfAnyNamespace: "test_head_is_of_the_root",
    FindsThreadsByPattern: "test_odd_thread_ids",
    FindsNamespacesByPrefix: "test_namespaces_are_apart",
    WritesOfEveryNamespace: "test_writes_of_some_checkpoints",
    AppliesByHalves: "test_apply_is_all_or_nothing",
    Replaces: "test_apply_is_all_or_nothing",
    StripsPayloads: "test_payloads_are_untouched",
    ReadsPayloadsAsText: "test_payloads_are_untouched",
    ReadsEveryValue: "test_long_values_are_not_read",
}


def failures(saver: type[MemorySaver]) -> list[str]:
    """The conformance tests that a saver fails."""
    failed = []
    for name in TESTS:
        try:
            getattr(Conformance(), name)(saver)
        except (AssertionError, pytest.fail.Exception, CkptError):
            failed.append(name)
    return failed


@pytest.mark.parametrize(("broken", "test"), CAUGHT_BY.items())
def test_broken_savers_are_caught(broken: type[MemorySaver], test: str) -> None:
    """Each broken saver fails the conformance test for what is broken."""
    assert test in failures(broken)


def test_the_reference_passes() -> None:
    """An unbroken saver passes, so failures are not caused by the way savers are run here."""
    assert failures(MemorySaver) == []
