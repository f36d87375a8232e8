"""``ckpt trace``: what each node of a thread contributed: runs, time, writes, bytes, tokens, errors, questions."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ckpt_cli.model import CheckpointRow, Ref
from ckpt_cli.output.text.contributors import name_of
from ckpt_cli.output.theme import TIMES
from ckpt_cli.parameters.options import Limit, Ns, OptionalRev, Thread
from ckpt_cli.queries.namespace_walk import NO_WRITES, TRACELESS
from ckpt_cli.queries.thread_trace import ThreadTrace
from ckpt_cli.reading import Reader
from ckpt_cli.session import Session
from ckpt_cli.values.counts import count_text
from ckpt_cli.views.trace import ChannelSum, NodeSum, TraceSums, TraceView

if TYPE_CHECKING:
    from ckpt_cli.queries.fleet_values import ChannelSizes

DOUBTFUL = "aren't counted: an equal one was there, which may have been written again"
_MOST = 20


class TraceFormat(StrEnum):
    """The formats in which a trace is printed."""

    TEXT = "text"
    PERFETTO = "perfetto"


class SortKey(StrEnum):
    """What nodes are sorted by, the largest first; names from A on."""

    TIME = "time"
    TOKENS = "tokens"
    BYTES = "bytes"
    RUNS = "runs"
    NAME = "name"


_ORDER: dict[SortKey, Callable[[NodeSum], Any]] = {
    SortKey.TIME: lambda one: -(one.seconds or 0),
    SortKey.TOKENS: lambda one: -(one.input_tokens + one.output_tokens),
    SortKey.BYTES: lambda one: -one.bytes,
    SortKey.RUNS: lambda one: -one.runs,
    SortKey.NAME: lambda one: 0,  # noqa: ARG005 - every order goes by name in the end
}
_Sort = Annotated[
    SortKey, typer.Option("--sort", metavar="KEY", help="Sort nodes by time, tokens, bytes, runs or name.")
]
_Steps = Annotated[bool, typer.Option("--steps", help="Show each step instead of the sums.")]
_Timeline = Annotated[bool, typer.Option("--timeline", help="Show each step with a bar for its time.")]
_Values = Annotated[
    bool, typer.Option("--values", help="Read the checkpoints too: the bytes of each channel inside them.")
]
_Format = Annotated[
    TraceFormat,
    typer.Option("--format", metavar="FORMAT", help="text, or perfetto: Chrome trace JSON for ui.perfetto.dev."),
]


def trace(
    session: Session,
    thread: Thread,
    rev: OptionalRev = None,
    sort: _Sort = SortKey.TIME,
    limit: Limit = _MOST,
    steps: _Steps = False,
    timeline: _Timeline = False,
    values: _Values = False,
    form: _Format = TraceFormat.TEXT,
    ns: Ns = "",
) -> TraceView:
    """Show where the time, the tokens and the bytes of a thread went: by node, by channel, step by step.

    It goes along the ancestors of REV, with the subgraphs that their tasks called. The time of a superstep lies between
    two checkpoints; writes bear no times, so the nodes of one superstep share it. The wait for an answer, the time
    until a failed task ran again, and the time between runs are counted apart; so is a step with which a run began at
    an update, a fork, with a Command or after a breakpoint or a kill, as nothing shows when. Tokens are those of
    messages with usage_metadata, each message once.

    A task counts as run again if its failure and its result are stored; a conditional edge that raises leaves both too.
    What a run retries by itself leaves no trace.

    Examples:
      ckpt trace support-42
      ckpt trace support-42 --sort tokens --limit 5
      ckpt trace support-42 --timeline
      ckpt trace support-42 branch:1 --steps
      ckpt trace support-42 --values --json --query 'channels[].[channel, bytes, state_bytes]'
      ckpt trace support-42 --format perfetto > trace.json
    """
    view = session.read(lambda reader: run(reader, thread, rev or "@", ns, values=values, progress=session.progress))
    view.nodes.sort(key=lambda one: (_ORDER[sort](one), one.path, one.node or "~"))
    view.form, view.limit = form.value, limit
    view.shown = "timeline" if timeline else "steps" if steps else "nodes"
    return view


def run(
    reader: Reader,
    thread: str,
    rev: str = "@",
    ns: str = "",
    *,
    values: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> TraceView:
    """The view of what the nodes contributed up to a revision.

    With `values` the checkpoints are read, for the bytes of each channel inside them.
    """
    row = reader.resolve(thread, rev, reader.namespace(thread, ns))
    traced = ThreadTrace(reader, thread, progress)
    traced.run(row)
    sizes = _channel_sizes(reader, traced.rows) if values else None
    is_apart = sizes is not None and sizes.apart
    short = reader.short(thread)(row.checkpoint_id)
    return TraceView(
        thread_id=thread,
        ns=row.ns,
        checkpoint_id=row.checkpoint_id,
        short=short,
        sums=_sums(traced),
        nodes=_nodes(traced),
        channels=_channels(traced, None if is_apart else sizes),
        steps=traced.steps,
        notes=list(_notes(traced, apart=is_apart)),
    )


def _channel_sizes(reader: Reader, rows: Iterable[CheckpointRow]) -> "ChannelSizes":
    from ckpt_cli.queries.fleet_values import ChannelSizes

    sizes = ChannelSizes(reader)
    sizes.add_refs(row.ref for row in rows)
    return sizes


def _sums(traced: ThreadTrace) -> TraceSums:
    tallies = list(traced.tally.nodes.values())
    spent = dict.fromkeys(("running", "waiting", "stopped", "between", "unstored"), 0.0)
    for step in traced.steps:
        if step.depth == 0 and step.seconds is not None and step.spent in spent:
            spent[step.spent] += step.seconds
    return TraceSums(
        checkpoints=len(traced.rows),
        runs=sum(one.runs for one in tallies),
        writes=sum(one.writes for one in tallies),
        bytes=sum(one.bytes for one in tallies),
        state_bytes=traced.state_bytes,
        input_tokens=sum(one.input_tokens for one in tallies),
        output_tokens=sum(one.output_tokens for one in tallies),
        unplaced_tokens=traced.tally.tokens.unplaced,
        **spent,
    )


def _nodes(traced: ThreadTrace) -> list[NodeSum]:
    return [
        NodeSum(
            path,
            node,
            kind,
            one.runs,
            one.finished,
            one.seconds,
            one.writes,
            one.bytes,
            one.asked,
            one.failed,
            one.again,
            one.input_tokens,
            one.output_tokens,
            dict(sorted(one.channels.items(), key=lambda pair: (-pair[1], pair[0]))),
        )
        for (path, node, kind), one in traced.tally.nodes.items()
    ]


def _channels(traced: ThreadTrace, sizes: "ChannelSizes | None") -> list[ChannelSum]:
    """The channels that were written to, and with `sizes` those that checkpoints hold, the largest first."""
    inside = {one.name: one for one in sizes.lines()} if sizes is not None else {}
    sums = []
    for name in dict.fromkeys([*traced.tally.channels, *inside]):
        written, stored = traced.tally.channels.get(name), inside.get(name)
        nodes = dict(sorted(written.nodes.items(), key=lambda pair: (-pair[1], pair[0]))) if written is not None else {}
        state = (
            (stored.bytes, stored.repeated_bytes)
            if stored is not None
            else (0, 0)
            if sizes is not None
            else (None, None)
        )
        counts = (written.writes, written.bytes) if written is not None else (0, 0)
        sums.append(ChannelSum(name, *counts, nodes, *state))
    return sorted(sums, key=lambda one: (-(one.state_bytes or 0), -one.bytes, one.channel))


def _gone(parents: list[Ref]) -> str:
    """What no sum has, because the checkpoints from which a line went on aren't stored."""
    from ckpt_cli.history.integrity.tree import GONE

    (_, ns, checkpoint_id), others = parents[0], len(parents) - 1
    where = f" of the subgraph {ns}" if ns else ""
    more = f", and the same is true of {others:,} more in subgraphs" if others else ""
    return f"{checkpoint_id}{where} isn't stored, so the sums lack all before it{more}: {GONE}"


def _each(counts: Counter[tuple[str, str]]) -> str:
    """Nodes, by graph and name, with how often each is counted."""
    return ", ".join(f"{name_of(path, node, '')} {count:,}{TIMES}" for (path, node), count in counts.items())


def _notes(traced: ThreadTrace, *, apart: bool) -> Iterator[str]:
    """What isn't recorded."""
    if traced.gone:
        yield _gone(traced.gone)
    made = [step for step in traced.steps if step.made is not None]
    missing = sum(not step.recorded for step in made) + traced.lost_starts
    if missing:
        of = f" ({_each(traced.silent)})" if traced.silent else ""
        steps = f"{missing:,} of {count_text(len(made) + traced.lost_starts, 'step')}{of}"
        yield f"{steps} left no writes, or not all, as with {NO_WRITES} or a second run or update"
    if traced.traceless:
        yield f"{_each(traced.traceless)} {TRACELESS}"
    read, wrote = traced.tally.tokens.unplaced
    if read or wrote:
        yield f"{read:,} input and {wrote:,} output tokens are of messages that no node is known to have written"
    if doubtful := traced.tally.tokens.doubtful:
        yield f"the tokens of {count_text(doubtful, 'message')} without an id {DOUBTFUL}"
    if traced.tally.unread:
        yield f"{traced.tally.unread:,} writes can't be decoded: tokens in them aren't counted"
    if traced.left:
        why = "they left by Command(graph=Command.PARENT), or the call ended before they ran"
        yield f"left no result: {_each(traced.left)}; {why}"
    if apart:
        yield "each version of a channel is stored once here: `ckpt stats THREAD` has their bytes"
    yield "nodes of one superstep share its time: writes bear none; what a run retries by itself leaves no trace"
