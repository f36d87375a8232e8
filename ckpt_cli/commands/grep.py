"""``ckpt grep``: searches the state, writes and metadata of all checkpoints."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated

import typer

from ckpt_cli.completion.names import complete_namespace
from ckpt_cli.history.search.pattern import Needle
from ckpt_cli.history.search.search import Place
from ckpt_cli.parameters.options import Channels, Since, Threads, Until
from ckpt_cli.parameters.period import parse_period
from ckpt_cli.parameters.selector import SearchSelectorOptions, ThreadSelection, parse_selector
from ckpt_cli.queries.not_found import no_channel, no_namespace, read_channels
from ckpt_cli.queries.selected_heads import selected_heads
from ckpt_cli.queries.thread_pages import Heads
from ckpt_cli.queries.thread_search import Result, Scope, namespaces, run
from ckpt_cli.reading import Reader
from ckpt_cli.savers.paging import pages
from ckpt_cli.session import Session
from ckpt_cli.views.grep import GrepView, Hit, ThreadCount

_TOLD = 3  # stderr names at most this many of the parts that could not be searched
_LISTED = 1000  # of these parts the view lists; without the key, every encrypted part would be in the list
EVERY_THREAD = SearchSelectorOptions()
_Namespace = Annotated[
    str | None,
    typer.Option(
        "--ns",
        metavar="NAMESPACE",
        help="Only this namespace, or all that begin with it; default: all.",
        autocompletion=complete_namespace,
    ),
]
_JUDGED = 1000  # after a search without hits, channel names are only checked if there are at most this many threads


def grep(
    session: Session,
    pattern: Annotated[str, typer.Argument(metavar="PATTERN", help="A Python regular expression.", show_default=False)],
    threads: Threads = None,
    selector: SearchSelectorOptions = EVERY_THREAD,
    fixed: Annotated[bool, typer.Option("--fixed", "-F", help="Take the pattern as plain text.")] = False,
    ignore_case: Annotated[bool, typer.Option("--ignore-case", "-i", help="Ignore case.")] = False,
    channel: Channels = None,
    places: Annotated[
        list[Place] | None,
        typer.Option("--in", metavar="PLACE", help="Only state, writes or metadata; may be repeated."),
    ] = None,
    ns: _Namespace = None,
    since: Since = None,
    until: Until = None,
    first: Annotated[bool, typer.Option("--first", help="Only the match that appeared first in each thread.")] = False,
    last: Annotated[bool, typer.Option("--last", help="Only the match that was there last in each thread.")] = False,
    count: Annotated[bool, typer.Option("--count", help="Only the number of matches in each thread.")] = False,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit with 1 if nothing matches.")] = False,
) -> GrepView:
    """Search the state, writes and metadata of all checkpoints: what matches, where it appeared, how long it stayed.

    Each text is reported once, even if many checkpoints contain it. Keys of dicts are searched too; such a match is
    marked as a key. A write whose value is in the state afterwards is reported as state. `step 6 … @ (11)` means: the
    text appeared at step 6, the head still has it, and 11 checkpoints contain it. A delta channel's value is stored in
    some checkpoints only: these are counted, and the text may have been written before. A regular expression that
    needs more than two seconds for one text ends the search.

    The options under "Which threads" choose threads; --since and --until choose checkpoints in them.

    stderr names what can't be read. A payload whose bytes can't contain the pattern isn't decoded: ckpt checks that it
    can be read to its end, but not whether an object inside it is damaged.

    Examples:
      ckpt grep 1043
      ckpt grep -i refund support-42 --channel messages
      ckpt grep Timeout --in writes --since 2d
      ckpt grep refund --since 2026-11-01 --until 2026-11-03
      ckpt grep 'order \\d+' --count
      ckpt grep timeout --status failed --where 'user_id == "u-112"'
    """
    needle = Needle(pattern, fixed=fixed, ignore_case=ignore_case, advice="-F looks for plain text")
    scope = Scope(tuple(places or Place), ns, tuple(channel or ()), parse_period(session, since, until))
    view = GrepView(hits=[])
    view.with_exit_code = exit_code
    chosen = parse_selector(session, selector, threads)
    view.hits = _hits(session, needle, scope, chosen, view, first=first, last=last, count=count)
    return view


def _hits(
    session: Session,
    needle: Needle,
    scope: Scope,
    chosen: ThreadSelection,
    view: GrepView,
    *,
    first: bool,
    last: bool,
    count: bool,
) -> Iterator[Hit | ThreadCount]:
    """The hits, thread by thread; at the end, stderr names the parts that couldn't be searched."""
    with session.reader.saver.one_scan():
        searched, remarks = session.read(lambda reader: selected_heads(reader, chosen))
        for remark in remarks:
            session.say(remark)
        session.say_lost_differences()
        for thread, result in _results(session, searched, needle, scope):
            hits = result.hits
            view.unreadable += result.unreadable[: max(_LISTED - len(view.unreadable), 0)]
            view.unsearched += len(result.unreadable)
            view.undecoded += result.undecoded
            view.damaged = view.damaged or result.damaged
            view.searched += 1
            view.found += len(hits)
            if count and hits:
                yield ThreadCount(thread, len(hits))
            elif hits:
                yield from _ends(hits, first=first, last=last)
        for line in _unread(view):
            session.say(line)
        if not view.found and not view.unsearched and len(searched) <= _JUDGED:
            session.read(lambda reader: _refuse_unknown(reader, [thread.thread_id for thread in searched], scope))


def _results(session: Session, searched: Heads, needle: Needle, scope: Scope) -> Iterator[tuple[str, Result]]:
    """The results, thread by thread. If this saves round trips, a whole page of threads is read at once."""
    for page in pages((thread.thread_id for thread in searched), session.reader.saver.page):
        yield from session.read(partial(_searched, page=page, needle=needle, scope=scope))


def _searched(reader: Reader, page: list[str], needle: Needle, scope: Scope) -> list[tuple[str, Result]]:
    reader.saver.expect_whole(page)
    # Not in the generator: one that its reader leaves may be ended by any thread, where no signal can be set.
    with needle.watch.running():
        return [(thread, run(reader, thread, needle, scope)) for thread in page]


def _refuse_unknown(reader: Reader, threads: Sequence[str], scope: Scope) -> None:
    """After a search without hits, refuse a namespace or channel that exists in none of the threads."""
    where = repr(threads[0]) if len(threads) == 1 else f"any of {len(threads)} threads"
    spaces = [(thread, ns) for thread in threads for ns in namespaces(reader, thread, scope)]
    if scope.ns and not spaces:
        known = {ns for thread in threads for ns in reader.saver.namespaces(thread) if ns}
        raise no_namespace(scope.ns, known, where)
    channels: set[str] = set()
    for thread, ns in spaces if scope.channels else ():
        if (known_channels := read_channels(reader, thread, ns)) is None:
            return
        channels |= known_channels
    for name in scope.channels:
        if name not in channels:
            raise no_channel(name, channels, where)


def _ends(hits: list[Hit], *, first: bool, last: bool) -> list[Hit]:
    chosen = [min(hits, key=lambda hit: hit.first.checkpoint_id)] if first else []
    if last:
        chosen.append(max(hits, key=lambda hit: (hit.last.checkpoint_id, hit.first.checkpoint_id)))
    return list(dict.fromkeys(chosen)) if first or last else hits


def _unread(view: GrepView) -> Iterator[str]:
    """The lines on stderr about the parts that couldn't be searched."""
    for one in view.unreadable[:_TOLD]:
        where = " ".join(word for word in (one.thread_id, one.ns, one.checkpoint_id) if word)
        yield f"not searched: {where}: {one.problem}"
    if view.unsearched > _TOLD:
        yield f"and {view.unsearched - _TOLD:,} more could not be searched"
    if any(one.locked for one in view.unreadable):
        yield "hint: --key-env NAME names the key's variable"
