"""`View`: what every command returns. Its fields, by name, are the ``--json`` contract and only ever grow."""

from typing import Any, ClassVar, NamedTuple


class View:
    """The base of every view, which is a dataclass of plain fields, named tuples or dataclasses, and decoded values.

    Attributes:
        verb: names the text renderer, ``output/text/VERB.py``.
        rows_field: in a list, the field that ``--jsonl`` streams, one JSON object a line; "" where there is no list.
        query_field: what ``--query`` looks into, where that is not the whole view.
        changes_database: whether a command that may give it changes a database, and so is told how.
    """

    verb: ClassVar[str]
    rows_field: ClassVar[str] = ""
    query_field: ClassVar[str] = ""
    changes_database: ClassVar[bool] = False

    @property
    def exit_code(self) -> int:
        """0 unless the answer itself is a finding (``diff --exit-code``)."""
        return 0

    @property
    def cut(self) -> str:
        """What a person must know who gets only a part; on a terminal the text itself says it, elsewhere stderr."""
        return ""


class Json(NamedTuple):
    """Data that is JSON already and is printed as it is, as a patch whose values were encoded before.

    Attributes:
        data: itself, or what makes it, told whether secrets are shown; so that only who prints it computes it.
    """

    data: Any
