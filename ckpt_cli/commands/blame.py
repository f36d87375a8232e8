"""``ckpt blame``: since when a value stands and who gave it; who removed a value; a value through time."""

import re
from typing import Annotated, Any, NamedTuple

import typer

from ckpt_cli.commands.get import channel_value, channels, must_be_readable
from ckpt_cli.completion.names import complete_path, complete_revision
from ckpt_cli.errors import NotFound, UsageError, ValueUnknown
from ckpt_cli.history.reducers.delta import marked
from ckpt_cli.history.reducers.names import NOTHING_NAMED, NamedReducers, names
from ckpt_cli.history.reducers.rebuilt import Rebuilt, is_unproven, named_value
from ckpt_cli.history.state.paths import follow, parse, spell
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import CheckpointRow
from ckpt_cli.parameters.options import Ns, Thread
from ckpt_cli.parameters.reducers import BlameReducer, named_reducers
from ckpt_cli.queries.blamed_values import Question, gone, past, present
from ckpt_cli.queries.command_writes import command_writes, describe_unheld
from ckpt_cli.reading import Reader
from ckpt_cli.session import Session
from ckpt_cli.shell_words import argument
from ckpt_cli.views.blame import BlameView, GoneView, PastView
from ckpt_cli.views.write_line import WriteLine

_RANGE = re.compile(r"(?P<path>.*?)(?P<open>\[)?(?P<start>-?\d*):(?P<stop>-?\d*)(?(open)\])", re.DOTALL)
_PATH_HELP = 'A channel, and a path inside it: messages, messages[-1], messages[3:6], files["a b"].size.'

Path = Annotated[
    str | None,
    typer.Argument(metavar="PATH", help=_PATH_HELP, autocompletion=complete_path, show_default=False),
]
At = Annotated[
    str | None,
    typer.Option(
        "--at",
        metavar="REV",
        help="Blame the value at this checkpoint; default: the head. With --reverse: the parts of this one.",
        autocompletion=complete_revision,
        show_default=False,
    ),
]
Lines = Annotated[
    str | None,
    typer.Option("--lines", "-L", metavar="RANGE", help="Only these elements of a list: 3:6, or 'messages[3:6]'."),
]
Reverse = Annotated[bool, typer.Option("--reverse", help="Who removed or replaced parts that are gone.")]
History = Annotated[bool, typer.Option("--history", help="Every value that the path had, oldest first.")]


def blame(
    session: Session,
    thread: Thread,
    path: Path = None,
    at: At = None,
    lines: Lines = None,
    reverse: Reverse = False,
    history: History = False,
    reducer: BlameReducer = None,
    ns: Ns = "",
) -> BlameView | GoneView | PastView:
    """Say since when each part of a value stands, and which node, input or update gave it.

    A part is an element of a list, such as a message, or a key of a dict; any other value is one part. A part stands
    since the oldest checkpoint from which on it is the same at every ancestor of the head. Elements of lists are
    followed by their ids or contents, so an inserted message changes nothing about its neighbours.

    A node is named if the recorded writes prove it. If they don't, `?` stands before the nodes of which one may have
    done it, and the reason is below the table.

    --reverse lists the parts that were removed or replaced, and who did it: on the whole way to the head, or with --at
    the parts of that checkpoint. --history prints every value that the path had, with the channel's versions.

    Examples:
      ckpt blame support-42 messages
      ckpt blame support-42 messages[2].content --at step:5
      ckpt blame support-42 -L 'messages[3:6]'
      ckpt blame support-42 messages --reverse
      ckpt blame support-42 route --history
    """
    if reverse and history:
        raise UsageError("--reverse and --history are two questions", hint="ask one of them")
    asked = _asked(path, lines)
    if history and asked.part is not None:
        raise UsageError("--history follows one value, not a range", hint="leave the range out, or name one element")
    asked = asked._replace(named=named_reducers(session, reducer))
    return run(session, thread, asked, at, ns, reverse=reverse, history=history)


def run(
    session: Session, thread: str, asked: "_Asked", at: str | None, ns: str, *, reverse: bool, history: bool
) -> BlameView | GoneView | PastView:
    """The view of the answer.

    Raises:
        UsageError: ``--reverse`` asks about a position, and no checkpoint in which it is meant.
    """
    if reverse and at is not None:
        question = session.read(lambda reader: _forward(reader, thread, asked, at, ns))
        return gone(session, question, question.line[0].checkpoint_id)
    question = session.read(lambda reader: _question(reader, thread, asked, at or "@", ns))
    if question.command:
        session.say(describe_unheld(question.command[0].channel))
    if not reverse:
        return past(session, question) if history else present(session, question)
    if any(isinstance(step, int | slice) for step in question.steps):
        hint = "--at REV names the checkpoint whose positions are meant; a path without positions lists all"
        raise UsageError("--reverse can't know which position is meant, for lists change", hint=hint)
    return gone(session, question, None)


class _Asked(NamedTuple):
    """A path as it was typed, the range behind it, and the reducers that a person named."""

    path: str
    part: slice | None
    named: NamedReducers = NOTHING_NAMED


def _asked(path: str | None, lines: str | None) -> _Asked:
    """The path and the range that PATH and ``--lines`` name.

    Raises:
        UsageError: neither names a path, or ``--lines`` is no range.
    """
    ranged = None if lines is None else _RANGE.fullmatch(lines.strip())
    if lines is not None and ranged is None:
        raise UsageError(
            f"--lines: {lines!r} is no range", hint="3:6 are the elements 3, 4 and 5; -3: are the last three"
        )
    if ranged is None and path is not None and (found := _RANGE.fullmatch(path)) and found["open"] and found["path"]:
        ranged, path = found, None
    if ranged is not None and ranged["path"] and path is not None:
        raise UsageError("two paths: PATH, and one in --lines", hint=f"ckpt blame THREAD {path} -L 3:6")
    name = path or (ranged["path"] if ranged is not None else "")
    if not name:
        raise UsageError("which value?", hint="ckpt blame THREAD PATH; `ckpt show THREAD` lists the channels")
    if ranged is None:
        return _Asked(name, None)
    start, stop = (int(end) if end else None for end in (ranged["start"], ranged["stop"]))
    return _Asked(name, slice(start, stop))


def _question(reader: Reader, thread: str, asked: _Asked, at: str, ns: str) -> Question:
    """The question about the value at a checkpoint, on the line of its ancestors."""
    reader.pin(thread)
    ns = reader.namespace(thread, ns)
    row = reader.resolve(thread, at, ns)
    line = list(reader.lineage(thread, ns).line(row.checkpoint_id))[::-1]
    return _on_line(reader, asked, row, row, line)


def _forward(reader: Reader, thread: str, asked: _Asked, at: str, ns: str) -> Question:
    """The question about the parts of a checkpoint, on the line from there to the head, else to its branch's tip."""
    reader.pin(thread)
    ns = reader.namespace(thread, ns)
    start, lineage = reader.resolve(thread, at, ns), reader.lineage(thread, ns)
    own_id = start.checkpoint_id
    tip = lineage.head or own_id
    if own_id not in lineage.line(tip):
        tip = lineage.carrier(own_id)
    line = list(lineage.line(tip))[::-1]
    question = _on_line(reader, asked, start, lineage.rows[tip], line[line.index(own_id) :])
    if question.absent is not None:
        raise question.absent
    return question


def _on_line(reader: Reader, asked: _Asked, start: CheckpointRow, end: CheckpointRow, line: list[str]) -> Question:
    """The question about the value that a path names at `start`.

    Raises:
        ChannelNotFound: there was never such a channel.
        PayloadCorrupt: the value can't be read there; ValueUnknown if nothing proves it.
    """
    whole, state = reader.state(start.ref), channels(reader, start.ref)
    plain: list[Any] = [asked.path] if asked.path in {**whole.versions, **state} else parse(asked.path)
    channel, absent = plain[0], None
    try:
        value = channel_value(state, channel, _by_command(reader, start, channel))
        must_be_readable(value, spell([channel]))
        if is_unproven(value) and channel in asked.named.reducers:
            value = named_value(Inspection(reader, start.ref).deltas()[channel], asked.named.reducers[channel])
        if is_unproven(value):
            raise _unproven(channel, asked.named, Inspection(reader, start.ref).deltas().get(channel))
        value = follow(value, plain[1:], plain[:1])
        must_be_readable(value, spell(plain))
    except NotFound as error:
        if channel not in whole.versions:
            raise
        absent = error
    refs = [start.ref._replace(checkpoint_id=i) for i in line]
    steps = plain if asked.part is None else [*plain, asked.part]
    is_delta, by_command = channel in marked(whole), _by_command(reader, end, channel)
    return Question(end, reader.state(end.ref).step, refs, steps, is_delta, absent, by_command, asked.named)


def _unproven(channel: str, named: NamedReducers, rebuilt: Rebuilt | None) -> ValueUnknown:
    if channel in named.reducers:
        name = named.reducers[channel].name
        return ValueUnknown(f"{channel} isn't stored at this checkpoint, and {name} can't give it of the stored writes")
    option = argument(f"{channel}=NAME")
    hint = f"if you know the reducer, name it: --reducer {option}; NAME is one of {', '.join(names())}"
    why = "no reducer is proved to give it"
    if rebuilt is not None and rebuilt.unmet:
        why = f"no stored value that was read shows what its reducer does with {rebuilt.unmet}"
    return ValueUnknown(f"{channel} isn't stored at this checkpoint, and {why}", hint=hint)


def _by_command(reader: Reader, row: CheckpointRow, channel: Any) -> list[WriteLine]:
    return [write for write in command_writes(reader, row.ref) if write.channel == channel]
