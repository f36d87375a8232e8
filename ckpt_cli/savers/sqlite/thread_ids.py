"""How threads are called whose id is stored as a number, a blob or NULL, which some programs and some damage leave.

An ordinary id is its own name, whatever it looks like. Integers are called by their digits, anything else as
`savers.spelling` has it; where a thread of text has that name already, one more ``%`` stands before it.
"""

from collections.abc import Callable, Iterator, Sequence

from ckpt_cli.model import Scalar
from ckpt_cli.savers.spelling import text_of
from ckpt_cli.savers.sqlite import statements as sql
from ckpt_cli.savers.sqlite.columns import bound
from ckpt_cli.savers.sqlite.driver import ResultRow


class OddIds:
    """The threads of one moment whose ids are no text.

    Args:
        query: runs one statement on the open file.
    """

    def __init__(self, query: Callable[[str, Sequence[object]], Iterator[ResultRow]]) -> None:
        self.names: dict[Scalar, str] = {}
        """Stored id to name."""
        self.stored: dict[str, Scalar] = {}
        """Name to stored id."""
        for raw, taken in query(sql.NUMBER_IDS, ()):
            self._add(raw, str(raw) if type(raw) is int and not taken else self._free(query, text_of(raw)))
        for raw in [raw for template in (sql.BLOB_IDS, sql.NULL_IDS) for (raw,) in query(template, ())]:
            self._add(raw, self._free(query, text_of(raw)))

    def _add(self, raw: Scalar, name: str) -> None:
        self.names[raw] = name
        self.stored[name] = raw

    def _free(self, query: Callable[[str, Sequence[object]], Iterator[ResultRow]], name: str) -> str:
        while next(query(sql.HAS_TEXT_ID, (bound(name),)), None) is not None:
            name = f"%{name}"
        return name
