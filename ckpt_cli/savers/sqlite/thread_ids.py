"""Names for threads whose id is a number, a blob or NULL; no name is the id of another thread.

Some programs store such ids; damage can also make them. If a thread's id is text, this text is its name, even if it
looks like a number. The name of an integer is its digits; any other id is spelled by `savers.spelling`. If this name is
already the id of another thread, a ``%`` precedes it.
"""

from collections.abc import Callable, Iterator, Sequence

from ckpt_cli.model import Scalar
from ckpt_cli.savers.spelling import text_of
from ckpt_cli.savers.sqlite import statements as sql
from ckpt_cli.savers.sqlite.columns import bound
from ckpt_cli.savers.sqlite.driver import ResultRow


class OddIds:
    """The threads whose ids aren't text, in one moment.

    Args:
        query: runs one statement on the open file.
    """

    def __init__(self, query: Callable[[str, Sequence[object]], Iterator[ResultRow]]) -> None:
        self.names: dict[Scalar, str] = {}
        """Maps a stored id to its name."""
        self.stored: dict[str, Scalar] = {}
        """Maps a name to its stored id."""
        for raw, is_taken in query(sql.NUMBER_IDS, ()):
            self._add(raw, str(raw) if type(raw) is int and not is_taken else self._unused_name(query, text_of(raw)))
        for raw in [raw for template in (sql.BLOB_IDS, sql.NULL_IDS) for (raw,) in query(template, ())]:
            self._add(raw, self._unused_name(query, text_of(raw)))

    def _add(self, raw: Scalar, name: str) -> None:
        self.names[raw] = name
        self.stored[name] = raw

    def _unused_name(self, query: Callable[[str, Sequence[object]], Iterator[ResultRow]], name: str) -> str:
        while next(query(sql.HAS_TEXT_ID, (bound(name),)), None) is not None:
            name = f"%{name}"
        return name
