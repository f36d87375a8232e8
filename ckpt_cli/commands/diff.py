"""``ckpt diff``: compares two checkpoints, or shows what one step changed."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Annotated, Any

import typer

from ckpt_cli.commands.get import channels as all_channels
from ckpt_cli.completion.names import complete_database, complete_namespace, complete_revision
from ckpt_cli.errors import ChannelNotFound, CheckpointNotFound, UsageError
from ckpt_cli.history.diff.diff import differences
from ckpt_cli.history.diff.patch import patch
from ckpt_cli.history.lineage.revisions import split_range
from ckpt_cli.history.state.grafting import graft
from ckpt_cli.history.state.paths import spell
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import CheckpointRow, Ref
from ckpt_cli.parameters.options import Channels, Ns, Thread
from ckpt_cli.queries.rebuilt_notes import rebuilt_notes
from ckpt_cli.reading import Reader
from ckpt_cli.session import Session
from ckpt_cli.values.jsonform import to_json
from ckpt_cli.views.base import Json
from ckpt_cli.views.diff import DiffView, End

_A = Annotated[
    str,
    typer.Argument(
        metavar="A",
        help="The older checkpoint, or A..B. Alone, it is compared with its parent. OTHER:REV is in another thread.",
        autocompletion=complete_revision,
        show_default="@",
    ),
]
_B = Annotated[
    str | None,
    typer.Argument(metavar="B", help="The newer checkpoint.", autocompletion=complete_revision, show_default=False),
]
_NsB = Annotated[
    str | None,
    typer.Option(
        "--ns-b",
        metavar="NAMESPACE",
        help="B's namespace, if it isn't A's.",
        autocompletion=complete_namespace,
        show_default=False,
    ),
]


_Other = Annotated[
    str | None,
    typer.Option(
        "--other",
        metavar="DATABASE",
        help="B is in this other database or bundle: by default THREAD's head there.",
        autocompletion=complete_database,
        show_default=False,
    ),
]


def diff(
    session: Session,
    thread: Thread,
    a: _A = "@",
    b: _B = None,
    ns: Ns = "",
    ns_b: _NsB = None,
    other: _Other = None,
    channel: Channels = None,
    meta: Annotated[bool, typer.Option("--meta", help="Also compare metadata, versions and versions_seen.")] = False,
    stat: Annotated[bool, typer.Option("--stat", help="Show only how much differs in each channel.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Show everything, without summaries.")] = False,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit with 1 if anything differs.")] = False,
) -> DiffView:
    """Compare two checkpoints, or show what one step changed.

    Lists are aligned by message id or content, objects are compared field by field, long texts word by word.
    --json has a `patch` (RFC 6902) that turns the older state into the newer one.

    Examples:
      ckpt diff support-42                     what the last step changed
      ckpt diff support-42 step:2 @
      ckpt diff support-42 @ other-thread:@ --stat
      ckpt diff support-42 step:1..step:4 --channel messages --full
      ckpt diff support-42 @ --other incident.ckpt     what became of it since
    """
    chosen = channel or ()
    if other is None:
        view = session.read(lambda reader: run(reader, thread, a, b, ns, ns_b, channels=chosen, meta=meta))
    else:
        with closing(Session(other, session.key_env, session.clock, session.say)) as there:
            sides = (thread, a, b, ns, ns if ns_b is None else ns_b)
            view = session.read(
                lambda reader: there.read(lambda newer: compare(reader, newer, *sides, channels=chosen, meta=meta))
            )
    for note in view.notes:
        session.say(note)
    view.stat, view.full, view.with_exit_code = stat, full, exit_code
    return view


def run(
    reader: Reader,
    thread: str,
    a: str = "@",
    b: str | None = None,
    ns: str = "",
    ns_b: str | None = None,
    *,
    channels: Sequence[str] = (),
    meta: bool = False,
) -> DiffView:
    """The view of the differences between two checkpoints, or between a checkpoint and its parent."""
    ns = reader.namespace(thread, ns)
    older, newer = _resolve_sides(reader, thread, a, b, ns, ns_b and reader.namespace(thread, ns_b))
    return _view(reader, reader, older, newer, channels, meta=meta)


def compare(
    reader: Reader,
    other: Reader,
    thread: str,
    a: str,
    b: str | None,
    ns: str,
    ns_b: str,
    *,
    channels: Sequence[str] = (),
    meta: bool = False,
) -> DiffView:
    """The view of the differences between a checkpoint and one of another database."""
    ns = reader.namespace(thread, ns)
    if b is None and split_range(a) is not None and reader.saver.row(Ref(thread, ns, a)) is None:
        raise UsageError(f"{a} has both sides in one database", hint="ckpt diff THREAD A B --other DATABASE")
    older = reader.resolve_anywhere(thread, a, ns)
    newer = other.resolve_anywhere(thread, b or "@", ns_b)
    view = _view(reader, other, older, newer, channels, meta=meta)
    view.before = view.before._replace(database=reader.saver.about().location)
    view.after = view.after._replace(database=other.saver.about().location)
    return view


def _view(
    reader: Reader,
    other: Reader,
    older: CheckpointRow | None,
    newer: CheckpointRow,
    channels: Sequence[str],
    *,
    meta: bool,
) -> DiffView:
    before, after = _state(reader, older, channels), _state(other, newer, channels)
    _check_channels(channels, before, after)
    changes = differences(before, after)
    paths = {one.path for one in changes}
    differing = [name for name in {**before, **after} if spell([name]) in paths]
    meta_changes = differences(_meta(reader, older), _meta(other, newer)) if meta else []
    return DiffView(
        before=_end(reader, older, newer.ref),
        after=_end(other, newer, newer.ref),
        equal=not changes and not meta_changes,
        channels=changes,
        same=len({*before, *after}) - len(changes),
        meta=meta_changes,
        patch=Json(lambda reveal: list(patch(to_json(before, reveal), to_json(graft(before, after), reveal)))),
        notes=[*_notes(reader, older, differing), *_notes(other, newer, differing), *_lost_differences(reader, other)],
    )


def _resolve_sides(
    reader: Reader, thread: str, a: str, b: str | None, ns: str, ns_b: str | None
) -> tuple[CheckpointRow | None, CheckpointRow]:
    """The older and the newer checkpoint; the older one is None if the newer one has no parent."""
    other = ns if ns_b is None else ns_b
    if b is not None:
        return reader.resolve_anywhere(thread, a, ns), reader.resolve_anywhere(thread, b, other)
    ends = split_range(a)
    if ends is not None and reader.saver.row(Ref(thread, ns, a)) is None:
        return reader.resolve_anywhere(thread, ends[0], ns), reader.resolve_anywhere(thread, ends[1], other)
    if ns_b is not None:
        return reader.resolve_anywhere(thread, a, ns), reader.resolve(thread, "@", other)
    newer = reader.resolve_anywhere(thread, a, ns)
    return _parent(reader, newer), newer


def _parent(reader: Reader, row: CheckpointRow) -> CheckpointRow | None:
    lineage = reader.lineage(row.thread_id, row.ns)
    parent = lineage.parent(row.checkpoint_id)
    if parent is None and (missing := lineage.missing(row.checkpoint_id)) is not None:
        raise CheckpointNotFound(f"the parent {missing} was never stored", hint="name both sides: ckpt diff THREAD A B")
    return None if parent is None else lineage.rows[parent]


def _state(reader: Reader, row: CheckpointRow | None, channels: Sequence[str]) -> Mapping[str, Any]:
    if row is None:
        return {}
    if not channels:
        return Inspection(reader, row.ref).values()
    state = all_channels(reader, row.ref)
    return {name: state[name] for name in channels if name in state}


def _notes(reader: Reader, row: CheckpointRow | None, channels: Sequence[str]) -> Iterator[str]:
    if row is not None:
        yield from rebuilt_notes(reader, row.ref, channels)


def _lost_differences(*readers: Reader) -> Iterator[str]:
    """What redaction may hide on a side, once if both are in one database."""
    yield from filter(None, dict.fromkeys(reader.saver.lost_differences for reader in readers))


def _check_channels(channels: Sequence[str], before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    """Refuse a channel that exists in neither state."""
    for name in channels:
        if name not in before and name not in after:
            raise ChannelNotFound(f"no channel {name!r} on either side", hint="`ckpt show --full` lists all channels")


def _meta(reader: Reader, row: CheckpointRow | None) -> dict[str, Any]:
    if row is None:
        return {}
    state = reader.state(row.ref)
    seen = {node: dict(versions) for node, versions in state.seen.items()}
    return {"metadata": dict(state.metadata), "versions": dict(state.versions), "versions_seen": seen}


def _end(reader: Reader, row: CheckpointRow | None, fallback: Ref) -> End:
    """The view of one side. If the side has no checkpoint, the view has the thread and namespace of `fallback`."""
    if row is None:
        return End(fallback.thread_id, fallback.ns, None, "nothing", None)
    short = reader.short(row.thread_id)(row.checkpoint_id)
    return End(row.thread_id, row.ns, row.checkpoint_id, short, reader.state(row.ref).step)
