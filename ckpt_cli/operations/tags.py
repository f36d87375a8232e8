"""Tags: names that people give to checkpoints, stored with the operation log and never in the database."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ckpt_cli.errors import NotFound, Refused, UsageError
from ckpt_cli.model import Ref
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.log_file import LogFile
from ckpt_cli.operations.proofs import add_place, add_witness
from ckpt_cli.operations.row_images import from_sqlite, to_sqlite
from ckpt_cli.savers.about import Place

_PUNCTUATION = "-_./+"


@dataclass(frozen=True, slots=True)
class Tag:
    """A name for one checkpoint; `at` is the time when the name was given, in seconds since 1970."""

    name: str
    ref: Ref
    at: float


def read_tags(log: LogFile, thread_id: str | None = None) -> list[Tag]:
    """All tags, or those of one thread, ordered by thread, namespace and name."""
    condition, parameters = ("", ()) if thread_id is None else (" WHERE thread_id = ?", (to_sqlite(thread_id),))
    rows = log.rows(
        f"SELECT name, thread_id, ns, checkpoint_id, at FROM tags{condition} ORDER BY thread_id, ns, name",  # noqa: S608
        parameters,
    )
    return [Tag(name, Ref(*map(from_sqlite, where)), at) for name, *where, at in rows]


def must_be_a_name(name: str) -> None:
    """Refuse a text that can't be a tag.

    Raises:
        UsageError: the name can't be written in a revision.
    """
    if not name or not all(char.isalnum() or char in _PUNCTUATION for char in name):
        raise UsageError(f"{name!r} can't be a tag", hint=f"a tag has letters, digits and {' '.join(_PUNCTUATION)}")


def add(
    log: OperationLog, tag: Tag, *, move: bool = False, witness: bytes | None = None, place: Place | None = None
) -> None:
    """Tag a checkpoint.

    Args:
        log: the log of this database.
        tag: the name and its checkpoint.
        move: True allows taking the name from another checkpoint.
        witness: the checkpoint's digest, which later proves that the log belongs to this database.
        place: where the database is.

    Raises:
        UsageError: the name can't be written in a revision.
        Refused: another checkpoint of the namespace has the name.
    """
    must_be_a_name(tag.name)
    ref = tag.ref
    [*others] = [t for t in read_tags(log, ref.thread_id) if (t.ref.ns, t.name) == (ref.ns, tag.name) and t.ref != ref]
    if others and not move:
        raise Refused(f"tag {tag.name!r} is on {others[0].ref.checkpoint_id} already", hint="--force moves it")
    with log.transaction() as connection:
        connection.execute(
            "INSERT OR REPLACE INTO tags (thread_id, ns, name, checkpoint_id, at) VALUES (?, ?, ?, ?, ?)",
            (to_sqlite(ref.thread_id), to_sqlite(ref.ns), tag.name, to_sqlite(ref.checkpoint_id), tag.at),
        )
        if witness is not None:
            add_witness(connection, ref, witness, 0)
        if place is not None:
            add_place(connection, place, tag.at)
    if place is not None:
        log.add_to_index(place)


def add_all(log: OperationLog, tags: Sequence[Tag], *, witnesses: Mapping[Ref, bytes], place: Place) -> None:
    """Tag checkpoints of many threads in one transaction of the log; a name that is on another checkpoint moves.

    Args:
        log: the log of this database.
        tags: the names and their checkpoints.
        witnesses: digests of some of these checkpoints, which later prove that the log belongs to this database.
        place: where the database is.
    """
    with log.transaction() as connection:
        for tag in tags:
            words = [*map(to_sqlite, (tag.ref.thread_id, tag.ref.ns, tag.name, tag.ref.checkpoint_id)), tag.at]
            connection.execute(
                "INSERT OR REPLACE INTO tags (thread_id, ns, name, checkpoint_id, at) VALUES (?, ?, ?, ?, ?)", words
            )
        for ref, digest in witnesses.items():
            add_witness(connection, ref, digest, 0)
        add_place(connection, place, tags[0].at)
    log.add_to_index(place)


def read_named(log: LogFile, name: str) -> dict[tuple[str, str], Ref]:
    """Thread and namespace to the checkpoint that has this name there."""
    rows = log.rows("SELECT thread_id, ns, checkpoint_id FROM tags WHERE name = ?", (name,))
    refs = (Ref(*map(from_sqlite, where)) for where in rows)
    return {(ref.thread_id, ref.ns): ref for ref in refs}


def remove(log: LogFile, thread_id: str, ns: str, name: str) -> Tag:
    """Remove a tag, and give the removed tag.

    Raises:
        NotFound: there is no such tag.
    """
    matching = [tag for tag in read_tags(log, thread_id) if (tag.ref.ns, tag.name) == (ns, name)]
    if not matching:
        raise NotFound(f"no tag {name!r} in thread {thread_id!r}", hint="`ckpt tag --list` shows them")
    with log.transaction() as connection:
        place = to_sqlite(thread_id), to_sqlite(ns), name
        connection.execute("DELETE FROM tags WHERE thread_id = ? AND ns = ? AND name = ?", place)
    return matching[0]
