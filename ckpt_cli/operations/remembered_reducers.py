"""Remembered reducers, which a person named for the whole database; they are kept beside tags."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ckpt_cli.errors import NotFound
from ckpt_cli.model import Ref
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.log_file import LogFile
from ckpt_cli.operations.proofs import add_place, add_witness
from ckpt_cli.operations.row_images import from_sqlite, to_sqlite
from ckpt_cli.savers.about import Place


@dataclass(frozen=True, slots=True)
class RememberedReducer:
    """The reducer of a channel in all threads; `at` is the time when it was named, in seconds since 1970."""

    channel: str
    name: str
    at: float


def read_remembered(log: LogFile) -> list[RememberedReducer]:
    """The remembered reducers, ordered by channel."""
    rows = log.rows("SELECT channel, name, at FROM reducers ORDER BY channel", since=3)
    return [RememberedReducer(from_sqlite(channel), name, at) for channel, name, at in rows]


def remember(
    log: OperationLog,
    reducers: Mapping[str, str],
    at: float,
    *,
    ref: Ref,
    witness: bytes | None = None,
    place: Place | None = None,
) -> None:
    """Remember reducers; a new name of a channel replaces the older one.

    Args:
        log: the log of this database.
        reducers: channel to the name of its reducer.
        at: the time in seconds since 1970.
        ref: a checkpoint of the database.
        witness: the digest of `ref`, which later proves that the log belongs to this database.
        place: where the database is.
    """
    with log.transaction() as connection:
        rows = [(to_sqlite(channel), name, at) for channel, name in reducers.items()]
        connection.executemany("INSERT OR REPLACE INTO reducers (channel, name, at) VALUES (?, ?, ?)", rows)
        if witness is not None:
            add_witness(connection, ref, witness, 0)
        if place is not None:
            add_place(connection, place, at)
    if place is not None:
        log.add_to_index(place)


def forget(log: LogFile, channels: Collection[str]) -> None:
    """Forget the reducers of these channels.

    Raises:
        NotFound: none is remembered for one of them; then nothing is forgotten.
    """
    known = [one.channel for one in read_remembered(log)]
    if unknown := [channel for channel in channels if channel not in known]:
        raise NotFound(f"no reducer is remembered for channel {unknown[0]!r}; none was forgotten", candidates=known)
    with log.transaction() as connection:
        connection.executemany("DELETE FROM reducers WHERE channel = ?", [(to_sqlite(one),) for one in channels])
