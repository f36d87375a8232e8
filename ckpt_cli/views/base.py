"""`View`: what every command returns. Its fields, by name, are the ``--json`` contract: they are only ever added."""

from typing import Any, ClassVar, NamedTuple


class View:
    """The base of every view, which is a dataclass of plain fields, named tuples or dataclasses, and decoded values.

    Attributes:
        verb: names the text renderer, ``output/text/VERB.py``.
        rows_field: the field that ``--jsonl`` streams, one JSON object per line; "" if the view is no list.
        query_field: the field that ``--query`` applies to; "" for the whole view.
        changes_database: whether a command that returns it may change a database, and so has the options for that.
    """

    verb: ClassVar[str]
    rows_field: ClassVar[str] = ""
    query_field: ClassVar[str] = ""
    changes_database: ClassVar[bool] = False

    @property
    def exit_code(self) -> int:
        """0, unless the answer itself is worth another code (``diff --exit-code``)."""
        return 0

    @property
    def cut(self) -> str:
        """A remark that the answer is only a part; on a terminal the text itself says so, elsewhere stderr."""
        return ""


class Json(NamedTuple):
    """Data that is JSON already and is printed as it is, such as a patch with encoded values.

    Attributes:
        data: the data, or a function that makes it; its argument is whether secrets are shown. A function is called
            only if the data is printed.
    """

    data: Any
