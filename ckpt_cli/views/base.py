"""`View`: every command returns one; exit code, the remark that an answer is cut, JSON's contract.

The names of its fields are the ``--json`` contract: no field is removed.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple


class View:
    """The base of every view. A view is a dataclass; its fields are plain data, parts of the view, or decoded values.

    A part is a named tuple or a dataclass.

    Attributes:
        verb: the name of the text renderer, ``output/text/VERB.py``.
        rows_field: the field that ``--jsonl`` streams, one JSON object per line; "" if the view isn't a list.
        query_field: the field that ``--query`` applies to; "" for the whole view.
        changes_database: whether a command with this view may change a database; if so, it has the options for changes.
    """

    verb: ClassVar[str]
    rows_field: ClassVar[str] = ""
    query_field: ClassVar[str] = ""
    changes_database: ClassVar[bool] = False

    @property
    def exit_code(self) -> int:
        """0, unless the answer itself sets another code (as with ``diff --exit-code``)."""
        return 0

    @property
    def cut(self) -> str:
        """A remark for stderr if the answer is incomplete, else "". On a terminal, the answer itself says so."""
        return ""


class Rows(ABC):
    """Rows of a view that are made when they are read, and that can be read several times."""

    @abstractmethod
    def __iter__(self) -> Iterator[Any]:
        """The rows from the first one on."""


class Json(NamedTuple):
    """Data that is already JSON and is printed as it is, such as a patch with encoded values.

    Attributes:
        data: the data, or a function that makes the data. The function is called only if the data is printed; its
            argument says whether secrets are shown.
    """

    data: Any
