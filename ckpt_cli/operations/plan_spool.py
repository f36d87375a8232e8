"""`PlanSpool`: the plans of many threads, kept in a file until they are applied."""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from tempfile import SpooledTemporaryFile
from typing import Any, NamedTuple
from weakref import finalize

from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Plan, Ref, Seen, Write, WriteKey

_IN_MEMORY = 4_000_000  # bytes; more are written to the disk
_CLASSES = {cls.__name__: cls for cls in (Plan, Checkpoint, CheckpointRow, Payload, Ref, Seen, Write, WriteKey)}


class ThreadPlan(NamedTuple):
    """What is planned for one thread.

    Attributes:
        plan: None if the thread is refused.
        problem: why the thread is refused; "" if it isn't.
        size: about so many bytes are changed.
        rows: (change, table, number of rows) of each kind of change.
    """

    thread_id: str
    plan: Plan | None = None
    problem: str = ""
    size: int = 0
    rows: tuple[tuple[str, str, int], ...] = ()


class PlanSpool:
    """Keeps plans in the order in which they were added; they can be read several times.

    The file has no name, is only this user's, and ends with the process.
    """

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile(_IN_MEMORY, "w+", encoding="ascii")  # noqa: SIM115 - it lives as long as this
        finalize(self, self._file.close)

    def add(self, planned: ThreadPlan) -> None:
        """Add one thread."""
        self._file.seek(0, 2)
        words = [planned.thread_id, _encode(planned.plan), planned.problem, planned.size, planned.rows]
        self._file.write(json.dumps(words) + "\n")

    def __iter__(self) -> Iterator[ThreadPlan]:
        position = 0
        while True:
            self._file.seek(position)  # several readers may take turns
            line = self._file.readline()
            if not line:
                return
            position = self._file.tell()
            thread_id, plan, problem, size, rows = json.loads(line)
            yield ThreadPlan(thread_id, _decode(plan), problem, size, tuple((*kind,) for kind in rows))


def _encode(value: Any) -> Any:
    """Records and plain data as JSON data: what isn't JSON becomes an object of one key, its kind."""
    if isinstance(value, bytes):
        return {"bytes": b64encode(value).decode()}
    if isinstance(value, tuple):
        items = [_encode(item) for item in value]
        return {type(value).__name__: items}
    if isinstance(value, Mapping):
        return {"map": [[key, _encode(item)] for key, item in value.items()]}
    return value


def _decode(value: Any) -> Any:
    """The inverse of `_encode`."""
    if not isinstance(value, dict):
        return value
    [(kind, data)] = value.items()
    if kind == "bytes":
        return b64decode(data)
    if kind == "map":
        return {key: _decode(item) for key, item in data}
    items = [_decode(item) for item in data]
    return tuple(items) if kind == "tuple" else _CLASSES[kind](*items)
