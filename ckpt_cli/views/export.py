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
        renamed: the thread's id in the bundle, if that is a pseudonym; else "".
    """

    thread_id: str
    checkpoints: int = 0
    writes: int = 0
    bytes: int = 0
    refused: str = ""
    renamed: str = ""


@dataclass(frozen=True, slots=True)
class RuleLine:
    """A rule of the redaction.

    Attributes:
        rule: the option, with the path or the number of the pattern.
        matches: how many texts it matched; equal objects and equal long texts count once.
    """

    rule: str
    matches: int


@dataclass(frozen=True, slots=True)
class PlaceLine:
    """What became of the values at one place.

    Attributes:
        kind: ``state``, ``writes``, ``metadata`` or ``names``.
        path: the channel or key, and the names of the parts inside; positions in lists are left out.
        replaced: values of which all or a part was replaced.
        opaque: values that were replaced because nothing can look into them.
        left: values that were looked into, and left as they are.
    """

    kind: str
    path: str
    replaced: int
    opaque: int
    left: int


@dataclass(frozen=True, slots=True)
class RedactionReport:
    """The audit of a redaction.

    Attributes:
        by: ``pattern``, ``path``, ``structure``; also what the source was redacted by before.
        salted: whether equal texts have equal pseudonyms in other exports with the same salt.
    """

    by: list[str]
    salted: bool
    rules: list[RuleLine]
    places: list[PlaceLine]


@dataclass
class ExportView(View):
    """An export.

    Attributes:
        file: the bundle, or the file of rows.
        size: the bytes of the file now; None if nothing was written.
        checksum: the SHA-256 of the bundle's index, which has those of all frames, or of a file of rows; "" if nothing
            was written.
        redaction: what was replaced; None if the export is byte for byte.
    """

    verb: ClassVar[str] = "export"
    rows_field: ClassVar[str] = "threads"

    file: str
    threads: list[ExportLine] = field(default_factory=list)
    size: int | None = None
    checksum: str = ""
    redaction: RedactionReport | None = None
