"""The view of ``ckpt verify``: for each thread, its steps by verdict, its channels, and what was found."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

from ckpt_cli.views.base import View


@dataclass(frozen=True, slots=True)
class FoundAt:
    """A checkpoint at which something was found; `step` is null if it is not recorded."""

    ns: str
    checkpoint_id: str
    short: str
    step: int | None


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that was found, once or several times.

    Attributes:
        kind: its stable name, such as ``value``, ``version-back`` or ``parent-gone``; docs/reference.md lists them.
        verdict: ``differs`` (proven), ``suspect`` (not proven), ``unknown`` (nothing to compare, or a record is gone).
        channel: the channel; "" if it is about no single one.
        why: what was found, in words.
        count: the number of checkpoints at which it was found.
        checkpoints: the first of these checkpoints, at most ten.
    """

    kind: str
    verdict: str
    channel: str
    why: str
    count: int
    checkpoints: list[FoundAt]


@dataclass(frozen=True, slots=True)
class CheckedChannel:
    """The steps of one channel that had writes, or changed.

    Attributes:
        graph: the subgraph, by its nodes; "" for the root graph.
        reducer: the reducer, or two that explain the same; null if it isn't known.
        evidence: the reducer and the evidence for it in words.
        agrees: the number of steps whose recorded value is what the writes make.
    """

    graph: str
    channel: str
    reducer: str | None
    evidence: str
    agrees: int
    unknown: int
    suspect: int
    differs: int


@dataclass(frozen=True, slots=True)
class VerifiedThread:
    """One thread.

    Attributes:
        steps: the number of steps: each checkpoint of each namespace is one.
        verdict: the worst of its findings, else that of its steps: ``differs``, ``suspect``, ``unknown``, ``agrees``.
        verdicts: the number of steps for each verdict.
        channels: the channels of all its graphs.
        findings: what was found, the worst first.
    """

    thread_id: str
    steps: int
    verdict: str
    verdicts: dict[str, int]
    channels: list[CheckedChannel]
    findings: list[Finding]


@dataclass
class VerifyView(View):
    """The threads, as they are verified.

    Attributes:
        threads: the threads in the selector's order.
        count: the number of threads; like the next two complete after the last thread was read.
        steps: the number of their steps.
        verdicts: the number of steps for each verdict.
        unreadable: the number of checkpoints that can't be read, or have a part that can't.
        faults: the number of findings for each verdict.
    """

    verb: ClassVar[str] = "verify"
    rows_field: ClassVar[str] = "threads"
    strict = False
    of_one = False

    threads: Iterable[VerifiedThread]
    count: int = 0
    steps: int = 0
    verdicts: dict[str, int] = field(default_factory=dict)
    unreadable: int = 0
    faults: dict[str, int] = field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        """1 if something differs, or with ``--strict`` is suspect; else 5 if something couldn't be read; else 0."""
        if self.faults.get("differs") or (self.strict and self.faults.get("suspect")):
            return 1
        return 5 if self.unreadable else 0
