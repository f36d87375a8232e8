"""Folders as ``langgraph dev`` leaves them, made of records or by the real `InMemorySaver`."""

import pickle
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver, PersistentDict

from ckpt_cli.model import Checkpoint, Write

NAME = ".langgraph_checkpoint.{}.pckl"


def parts(records: Iterable[Checkpoint | Write]) -> list[dict[Any, Any]]:
    """The three dicts of an `InMemorySaver` that holds these records."""
    storage: Any = defaultdict(lambda: defaultdict(dict))
    writes: Any = defaultdict(dict)
    blobs: dict[Any, Any] = {}
    for record in records:
        if isinstance(record, Write):
            entry = (record.task_id, record.channel, tuple(record.payload or ()), record.task_path)
            writes[tuple(record.ref)][record.task_id, record.idx] = entry
            continue
        thread_id, ns, checkpoint_id = record.row.ref
        stored = (tuple(record.body), tuple(record.metadata), record.row.parent_id)
        storage[thread_id][ns][checkpoint_id] = stored
    plain = {thread_id: {ns: dict(space) for ns, space in spaces.items()} for thread_id, spaces in storage.items()}
    return [plain, dict(writes), blobs]


def fill(folder: Path, three: Iterable[dict[Any, Any]], protocol: int = 2) -> Path:
    """Write the dicts into a folder."""
    folder.mkdir(exist_ok=True)
    for number, part in enumerate(three, 1):
        (folder / NAME.format(number)).write_bytes(pickle.dumps(part, protocol))
    return folder


@contextmanager
def server(folder: Path) -> Iterator[InMemorySaver]:
    """An `InMemorySaver` whose dicts are written to a folder when they are synced or it ends.

    As langgraph-runtime-inmem 0.36 makes it (``checkpoint.py``).
    """
    folder.mkdir(exist_ok=True)
    count = iter(range(1, 4))

    def persistent(*words: Any) -> PersistentDict:
        return PersistentDict(*words, filename=str(folder / NAME.format(next(count))))

    with InMemorySaver(factory=persistent) as saver:  # type: ignore[arg-type]
        yield saver


def sync(saver: InMemorySaver) -> None:
    """Write what it holds, as ``langgraph dev`` does every ten seconds."""
    for part in (saver.storage, saver.writes, saver.blobs):
        part.sync()  # type: ignore[attr-defined,union-attr]
