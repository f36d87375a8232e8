"""`TitlesOfPage`: the titles of the inputs of a page of threads; all are read with the first."""

from collections.abc import Iterable, Mapping
from functools import cached_property

from ckpt_cli.model import Ref
from ckpt_cli.reading import Reader
from ckpt_cli.savers.head_reads import HeadRead


class TitlesOfPage:
    """The titles that first checkpoints show by themselves."""

    def __init__(self, reader: Reader, reads: Iterable[HeadRead | None]) -> None:
        self._reader = reader
        self._reads = reads

    @cached_property
    def _titles(self) -> Mapping[Ref, str]:
        from ckpt_cli.queries.input_title import titles_of_inputs

        firsts = [(read.first, read.root_metadata) for read in self._reads if read is not None]
        known = {first.ref: metadata for first, metadata in firsts if first is not None and metadata is not None}
        return titles_of_inputs(self._reader, {first.ref: first for first, _ in firsts if first is not None}, known)

    def get(self, ref: Ref) -> str | None:
        """The title of an input by its checkpoint; None if other checkpoints must be read for it."""
        return self._titles.get(ref)
