"""``ckpt get``: prints one value of the state, for scripts."""

import re
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from ckpt_cli.completion.names import complete_path, complete_thread
from ckpt_cli.errors import ChannelNotFound, KeyMissing, PayloadCorrupt, UsageError, ValueUnknown
from ckpt_cli.history.state.paths import follow, parse, spell
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import Ref
from ckpt_cli.parameters.options import At, Ns
from ckpt_cli.parameters.selector import NOTHING_TYPED, SelectorOptions, parse_selector
from ckpt_cli.queries.command_writes import command_writes, describe_unheld
from ckpt_cli.queries.rebuilt_notes import rebuilt_notes
from ckpt_cli.queries.unknown_parts import explain_unknown
from ckpt_cli.reading import Reader
from ckpt_cli.session import Session
from ckpt_cli.shell_words import argument
from ckpt_cli.values.node import Form, Node
from ckpt_cli.views.get import EachView, GetView
from ckpt_cli.views.write_line import WriteLine

_PATH_HELP = 'A channel and a path inside it: messages[-1].content, files["a b"].size, ["odd.channel"].'

Thread = Annotated[
    str | None,
    typer.Argument(metavar="THREAD", help="A thread id, in full.", autocompletion=complete_thread, show_default=False),
]
Path = Annotated[
    str | None,
    typer.Argument(metavar="PATH", help=_PATH_HELP, autocompletion=complete_path, show_default=False),
]
_EACH = "Many threads"
Each = Annotated[
    str | None,
    typer.Option("--each", metavar="PATH", help="The value at this path in each thread.", rich_help_panel=_EACH),
]
Group = Annotated[bool, typer.Option("--group", help="With --each: count equal values.", rich_help_panel=_EACH)]
Csv = Annotated[bool, typer.Option("--csv", help="With --each: print rows as CSV.", rich_help_panel=_EACH)]


def get(
    session: Session,
    thread: Thread = None,
    path: Path = None,
    each: Each = None,
    group: Group = False,
    csv: Csv = False,
    selector: SelectorOptions = NOTHING_TYPED,
    at: At = "@",
    ns: Ns = "",
) -> GetView | EachView:
    """Print one value of the state: text as it is; times, UUIDs, enums and the like as their text; the rest as JSON.

    With --json all of it is JSON, with the types of objects. --query picks from the value, with --each from the list
    of values.

    --each PATH prints a row for each thread that has this path: its id, the checkpoint and the value. The options
    under "Which threads" choose threads, and a revision behind an id on stdin chooses a checkpoint.

    Exit code 4 means that there is no such path; 5, that the value exists and can't be decoded, or that what is stored
    doesn't prove whether it exists: a part of a delta channel.

    Examples:
      ckpt get support-42 messages[-1].content
      ckpt get support-42 'files["invoice.pdf"].status' --at step:3
      ckpt get support-42 messages | jq length
      ckpt get --each route --status waiting
      ckpt get --each intent --group --since 1d
    """
    if each is None:
        if thread is None or path is None:
            raise UsageError("which thread, and which value?", hint="ckpt get THREAD PATH, or ckpt get --each PATH")
        if group or csv or selector != NOTHING_TYPED:
            raise UsageError("--group, --csv and the options that choose threads belong to --each")
        one = session.read(lambda reader: run(reader, thread, path, at, ns))
        if one.command:
            session.say(describe_unheld(one.command[0].channel))
        if isinstance(one.value, Node) and (lost := session.read(lambda reader: _describe_lost(reader, one))):
            session.say(lost)
        for note in one.notes:
            session.say(note)
        return one
    if thread is not None:
        raise UsageError("--each takes no THREAD", hint="--match ID, or ids on stdin with --stdin")
    from ckpt_cli.queries.each_value import Place, counted, each_value

    view = EachView(each, iter(()), format="csv" if csv else "")
    values = each_value(session, parse_selector(session, selector), Place(each, at, ns), view)
    view.values = counted(values, session) if group else values
    return view


def run(reader: Reader, thread: str, path: str, at: str = "@", ns: str = "") -> GetView:
    """The view of the value at a path, in the checkpoint that a revision names."""
    ns = reader.namespace(thread, ns)
    row = reader.resolve(thread, at, ns)
    state = channels(reader, row.ref)
    steps = [path] if path in state else parse(path)
    by_command = [write for write in command_writes(reader, row.ref) if write.channel == steps[0]]
    try:
        value = follow(channel_value(state, steps[0], by_command), steps[1:], steps[:1])
    except ValueUnknown as error:
        raise explain_unknown(reader, row.ref, steps, at) from error
    must_be_readable(value, spell(steps))
    notes = list(rebuilt_notes(reader, row.ref, steps[:1]))
    return GetView(thread, row.ns, row.checkpoint_id, spell(steps), value, by_command, notes)


def _describe_lost(reader: Reader, view: GetView) -> str:
    """Why the value of a delta channel isn't known, if it goes on from a stored value that is gone; else ""."""
    deltas = Inspection(reader, Ref(view.thread_id, view.ns, view.checkpoint_id)).deltas()
    if not any(one.baseless and spell([channel]) == view.path for channel, one in deltas.items()):
        return ""
    return f"{view.path} isn't known: the stored value that its writes go on from is gone; LangGraph starts it empty"


def must_be_readable(value: Any, path: str) -> None:
    """Refuse a value that can't be decoded.

    Raises:
        PayloadCorrupt: it is damaged; KeyMissing if an encryption key would help.
    """
    if not isinstance(value, Node) or value.form is not Form.BROKEN:
        return
    problem = f"{path} can't be decoded: {value.problem}"
    if value.needs_key:
        raise KeyMissing(problem, hint="--key-env NAME names the key's variable")
    raise PayloadCorrupt(problem, hint="`ckpt show --raw` shows its bytes")


def channels(reader: Reader, ref: Ref) -> dict[str, Any]:
    """Every channel that has a value: control channels are included, delta channels are rebuilt."""
    return {**reader.state(ref).values, **Inspection(reader, ref).values()}


def channel_value(state: dict[str, Any], name: Any, by_command: Sequence[WriteLine] = ()) -> Any:
    """The value of a channel; `by_command` is what a Command wrote to it.

    Raises:
        ChannelNotFound: the checkpoint has no value of it; the nearest names are candidates.
    """
    if name in state:
        return state[name]
    if by_command:
        raise ChannelNotFound(f"no channel {name!r} at this checkpoint yet", hint=describe_unheld(name))
    from difflib import get_close_matches

    beginning_with_name = [channel for channel in state if channel.startswith(f"{name}.")]
    similar = beginning_with_name[:1] or get_close_matches(str(name), state, n=3, cutoff=0.5)
    user_channels = [channel for channel in state if not channel.startswith("__") and ":" not in channel]
    hint = (
        f"did you mean {spell([similar[0]])}?"
        if similar
        else f"there are {', '.join(user_channels or state) or 'none'}"
    )
    if not similar and re.match(r"@|(step|branch|tag):", str(name)):
        hint = f"a revision is named with --at: --at {argument(str(name))}"
    raise ChannelNotFound(
        f"no channel {name!r} at this checkpoint", hint=hint, candidates=similar if len(similar) > 1 else ()
    )
