"""The view of ``ckpt export``: what was added to a bundle."""

from dataclasses import dataclass, field
from typing import ClassVar

from ckpt_cli.views.base import View


@dataclass(frozen=True, slots=True)
class ExportLine:
    """One thread.

    Attributes:
        checkpoints: how many were added; the bundle had the others.
        writes: how many were added.
        bytes: of the values that were added, before they are compressed.
        refused: why the thread was left out; "" if it wasn't.
    """

    thread_id: str
    checkpoints: int = 0
    writes: int = 0
    bytes: int = 0
    refused: str = ""


@dataclass
class ExportView(View):
    """An export.

    Attributes:
        file: the bundle.
        size: the bytes of the bundle now; None if nothing was written.
        checksum: the SHA-256 of the bundle's index, which has those of all frames; "" if nothing was written.
    """

    verb: ClassVar[str] = "export"
    rows_field: ClassVar[str] = "threads"

    file: str
    threads: list[ExportLine] = field(default_factory=list)
    size: int | None = None
    checksum: str = ""
