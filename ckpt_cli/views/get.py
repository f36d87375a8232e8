"""The view of ``ckpt get``: one value."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ckpt_cli.views.base import View
from ckpt_cli.views.write_line import WriteLine


@dataclass
class GetView(View):
    """One value of the state at one checkpoint.

    Attributes:
        path: the path in ckpt's own spelling.
        command: what a Command wrote to the channel, which `value` lacks; ``get_state`` shows it applied.
        notes: why the value isn't proven, if it is rebuilt and larger than every stored value that shows how.
    """

    verb: ClassVar[str] = "get"
    query_field: ClassVar[str] = "value"

    thread_id: str
    ns: str
    checkpoint_id: str
    path: str
    value: Any
    command: Sequence[WriteLine] = ()
    notes: Sequence[str] = ()


class ThreadValue(NamedTuple):
    """The value at a path in one thread.

    Attributes:
        checkpoint_id: where the value was read.
        problem: why the value can't be decoded, or isn't known; null if it is.
        note: why the value isn't proven, as in `GetView`; null if it is.
    """

    thread_id: str
    checkpoint_id: str
    value: Any
    problem: str | None = None
    note: str | None = None


class ValueCount(NamedTuple):
    """Equal values: how many threads have the value, and the id of one of these threads."""

    threads: int
    value: Any
    thread_id: str


@dataclass(eq=False)
class EachView(View):
    """The values at one path in many threads, which can be taken once, as they are read; or their counts.

    Attributes:
        path: the path as it was typed.
        without: the number of threads that have no such path; they have no row. Right when all rows were taken.
        unreadable: the number of threads whose value can't be decoded, or isn't known.
        format: ``csv`` if the rows are to be printed so; else "".
    """

    verb: ClassVar[str] = "get"
    rows_field: ClassVar[str] = "values"
    query_field: ClassVar[str] = "values"

    path: str
    values: Iterator[ThreadValue | ValueCount]
    without: int = 0
    unreadable: int = 0
    found: int = 0
    format: str = ""

    @property
    def exit_code(self) -> int:
        """5 if no value can be decoded or is known; 4 if threads were looked at and none has the path; else 0."""
        if self.found:
            return 0
        return 5 if self.unreadable else 4 if self.without else 0
