"""Lists an agent's checkpoints, selected by the engine or, if it can't, by their names and metadata."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple, Protocol, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from ckpt_cli.langgraph.configs import ConfigKeys, newest_first
from ckpt_cli.langgraph.filters import encode_filter, matches
from ckpt_cli.langgraph.tuples import Tuples
from ckpt_cli.model import Ref
from ckpt_cli.savers.paging import pages
from ckpt_cli.savers.selection import Selection

T = TypeVar("T")
Filter = Mapping[str, Any]

_PAGE = 20
"""How many checkpoints a listing reads at once."""


class Look(Protocol):
    """Runs a function that reads, in a moment of its own, and returns its result."""

    def __call__(self, look: Callable[[], T]) -> T:
        """See the class."""


class Listing(NamedTuple):
    """Lists checkpoints; each page is read in a moment of its own."""

    reader: Tuples
    look: Look

    def tuples(
        self,
        config: RunnableConfig | None,
        wanted: Filter | None,
        before: RunnableConfig | None,
        limit: int | None,
    ) -> Iterator[CheckpointTuple]:
        """The selected checkpoints, the highest id first; see `CkptSaver.list`."""
        if limit is not None and limit <= 0:
            return
        metadata = encode_filter(self.reader.encoding, wanted) if wanted else None
        compared = wanted if wanted and metadata is None else None
        selection = Selection(
            *ConfigKeys.of(config), ConfigKeys.of(before).checkpoint_id, None if compared else limit, metadata
        )
        refs = self.look(lambda: self._refs(selection))
        page_tuples = (self._page(page, compared) for page in pages(refs, _PAGE))
        yield from islice(chain.from_iterable(page_tuples), limit)

    def _refs(self, selection: Selection) -> Sequence[Ref]:
        selected = self.reader.saver.select(selection)
        return newest_first(self.reader.saver, selection) if selected is None else list(selected)

    def _page(self, refs: Sequence[Ref], compared: Filter | None) -> Sequence[CheckpointTuple]:
        return self.look(lambda: self.reader.tuples(refs if compared is None else self._fitting(refs, compared)))

    def _fitting(self, refs: Sequence[Ref], wanted: Filter) -> list[Ref]:
        encoding = self.reader.encoding
        metadata = {ref: encoding.metadata(payload) for ref, payload in self.reader.saver.metadata(refs)}
        return [ref for ref in refs if ref in metadata and matches(encoding.form.filter, metadata[ref], wanted)]
