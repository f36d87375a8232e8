"""Shows one checkpoint: its identity, its state, the next nodes and tasks, and the config to paste."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from ckpt_cli.history.lineage.short_ids import EMPTY
from ckpt_cli.history.state.channels import START
from ckpt_cli.history.tasks.passed_over import passed_over_words
from ckpt_cli.history.tasks.task_names import counted
from ckpt_cli.output.cells import cell_len, fit, flow, pad, wrap
from ckpt_cli.output.json import text
from ckpt_cli.output.line import Line, Page
from ckpt_cli.output.quantities import ago, clock, size
from ckpt_cli.output.text.brief import UNCUT
from ckpt_cli.output.text.config import config_lines
from ckpt_cli.output.text.steps import task_name
from ckpt_cli.output.text.tasks import old_answers, task_lines
from ckpt_cli.output.text.values import block, brief, inline, value_after
from ckpt_cli.output.theme import CHANGED_HERE, MORE, TIMES, UNKNOWN, UNREADABLE
from ckpt_cli.shell_words import command, ns_option
from ckpt_cli.values.jsonform import to_json
from ckpt_cli.values.parts import inside
from ckpt_cli.views.show import Channel, Link, ShowView, Stored

_LABEL = 10
_CHILDREN = 12
_ALL_FINISHED = "no task is left in this step: the next run begins by applying the writes"
_WITHOUT_EDGE = "it doesn't take a conditional edge that raised"
_UNPLACED = "a task of an unknown node is that of a due node, or one that a node called and may have gone on without"
_ALL_FINISHED_ASIDE = "no task is left in this step, but it isn't the head: a run from here runs the step again"


def render(view: ShowView, page: Page) -> Iterator[Line]:
    """The lines of the whole checkpoint, or only of the channels that the user asked for."""
    if not view.only_channels:
        yield from _identity(view, page)
        yield []
    if not view.only_channels and view.given is not None and START not in view.channels:
        yield from _input_lines(view.given, view, page)
    yield from _channels(view, page)
    yield from _command_lines(view, page)
    if view.only_channels:
        return
    yield []
    yield from _next(view, page)
    yield []
    yield from _config(view, page)


def _config(view: ShowView, page: Page) -> Iterator[Line]:
    """The config to paste, after a line that says what ``invoke`` does with it."""
    if view.config_to_go_on is None:
        remark = "" if view.ns else f"graph.invoke(None, config) {_what_runs(view)}, with:"
    elif view.tasks:
        runs = "older LangGraph.js runs this whole step" if view.is_javascript else "this whole step would run"
        remark = f"to go on (with a checkpoint_id in it, {runs} again):"
    else:
        remark = "config of the thread:"
    if remark:
        yield from ([("muted", part)] for part in flow(remark, page.width or UNCUT))
    yield from config_lines(view.config_to_go_on or view.config, page, "muted", partial(text, indent=None))


def _what_runs(view: ShowView) -> str:
    if view.is_blank:
        return "raises EmptyInputError, as nothing was given yet"
    if not view.has_something_to_run:
        return "has nothing to run here"
    return "runs again from here, on a new branch" if view.children else "runs again from here"


def _identity(view: ShowView, page: Page) -> Iterator[Line]:
    yield [("title", view.thread_id), ("", "  "), ("id", view.short), *_marks(view)]
    if view.ns:
        yield _labelled("namespace", [("", view.ns)])
    yield _labelled("id", [("id", view.checkpoint_id or EMPTY)])
    yield _labelled("step", _step(view))
    yield _labelled("time", _time(view, page))
    parent: Line = [("muted", "none")] if view.parent is None else _link(view.parent)
    yield _labelled("parent", parent)
    for index, child in enumerate(view.children[:_CHILDREN]):
        yield _labelled("children" if index == 0 else "", _link(child))
    if len(view.children) > _CHILDREN:
        yield _labelled("", [("muted", f"{MORE} {len(view.children) - _CHILDREN} more")])
    metadata = {key: value for key, value in view.metadata.items() if value not in ({}, None)}
    for index, (key, value) in enumerate(metadata.items()):
        yield from _metadata("metadata" if index == 0 else "", key, value, page, view.full)
    if view.metadata_problem:
        yield _labelled(
            "" if metadata else "metadata", [("bad", f"{UNREADABLE} can't be read: {view.metadata_problem}")]
        )
    if view.problem:
        yield _labelled("damaged", [("bad", view.problem)])
    for stored in view.stored:
        yield _labelled(stored.what, _payload(stored))


def _labelled(label: str, spans: Line) -> Line:
    return [("", "  "), ("key", pad(label, max(_LABEL, cell_len(label)))), ("", " "), *spans]


def _marks(view: ShowView) -> Line:
    return [span for mark in view.marks for span in (("", "  "), ("head", "@ head" if mark == "head" else mark))]


def _step(view: ShowView) -> Line:
    step = "not recorded" if view.step is None else str(view.step)
    words = [word for word in (view.source, _makers(view.nodes)) if word]
    return [("", step), ("muted", f"  {' '.join(words)}" if words else "")]


def _makers(nodes: dict[str, int]) -> str:
    return f"by {', '.join(f'{node} {TIMES}{n}' if n > 1 else node for node, n in nodes.items())}" if nodes else ""


def _time(view: ShowView, page: Page) -> Line:
    from datetime import datetime

    if view.time is None:
        return [("muted", "not recorded")]
    then = datetime.fromisoformat(view.time).timestamp()
    since = ago(then, page.now)
    spans: Line = [("", clock(then) if page.width is not None else view.time)]
    return [*spans, ("muted", f"  {since}")] if since.endswith("ago") else spans


def _link(link: Link) -> Line:
    if not link.stored:
        return [("id", link.checkpoint_id), ("bad", "  never stored")]
    return [("id", link.short), ("muted", f"  step {link.step}" if link.step is not None else "")]


def _payload(stored: Stored) -> Line:
    tag = stored.tag or "untagged"
    return [("value", tag), ("muted", f"  {size(stored.size)}  "), ("value", stored.head), ("muted", MORE)]


def _input_lines(graph_input: Channel, view: ShowView, page: Page) -> Iterator[Line]:
    """The lines of an input, channel by channel; an input that isn't an object of channels is shown as one value."""
    value = inside(graph_input.value)
    if graph_input.problem or not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        yield from _channel("given", graph_input, 0, view, page)
        yield []
        return
    yield [("key", "given")]
    width = min(max((cell_len(name) for name in value), default=0), 24)
    for name, part in value.items():
        head: Line = [("", "  "), ("key", pad(name, max(width, cell_len(name))))]
        yield from value_after(head, part, page, 4, full=view.full)
    yield from _given_otherwise(view, page)
    yield []


def _given_otherwise(view: ShowView, page: Page) -> Iterator[Line]:
    """What the stored writes of the input say, where that isn't what the checkpoint has."""
    if not view.given_otherwise:
        return
    words = "another input than its stored writes say; a run from here takes in the one above. Written was:"
    yield from ([("waiting", part)] for part in flow(words, page.width or UNCUT))
    for name, values in view.given_otherwise:
        for value in values:
            yield from value_after([("", "  "), ("key", name)], value, page, 4, full=view.full)


def _channels(view: ShowView, page: Page) -> Iterator[Line]:
    if not view.channels:
        yield [("muted", "no state yet" if not view.hidden else "no state yet, only control channels (--full)")]
    width = min(max((cell_len(name) for name in view.channels), default=0), 24)
    for name, channel in view.channels.items():
        yield from _channel(name, channel, width, view, page)
    if view.hidden:
        noun = "channel" if view.hidden == 1 else "channels"
        yield [("muted", f"  {view.hidden} control {noun} hidden (--full)")]


def _command_lines(view: ShowView, page: Page) -> Iterator[Line]:
    """What a Command wrote to the shown channels, and that their values above lack it."""
    writes = [write for write in view.command if not view.only_channels or write.channel in view.channels]
    if not writes:
        return
    yield []
    when = "here" if view.consumed else "yet"
    remark = (
        f"a Command wrote this, which no channel has {when}; a run applies it first, and get_state() shows it applied"
    )
    yield from ([("muted", part)] for part in flow(remark, page.width or UNCUT))
    width = min(max(cell_len(write.channel) for write in writes), 24)
    for write in writes:
        head: Line = [("", "  "), ("key", pad(write.channel, max(width, cell_len(write.channel))))]
        yield from value_after(head, write.value, page, 4, full=view.full)


def _channel(name: str, channel: Channel, width: int, view: ShowView, page: Page) -> Iterator[Line]:
    mark = UNKNOWN if channel.changed is None else CHANGED_HERE if channel.changed else " "
    head: Line = [("changed", f"{mark} "), ("key", pad(name, max(width, cell_len(name))))]
    version: Line = [("muted", f"  v {channel.version}")] if view.stored else []
    note: Line = [("muted", f"  {channel.note}")] if channel.note else []
    if channel.empty or channel.problem:
        remark = (
            ("muted", "not stored here" if channel.note else "empty")
            if channel.empty
            else ("bad", f"can't be decoded: {channel.problem}")
        )
        yield fit([*head, ("", "  "), remark, *version], page.width)
        return
    value = to_json(channel.value, reveal=page.reveal) if view.stored else channel.value
    yield from value_after(head, value, page, 4, full=view.full, note=[*version, *note])


def _metadata(label: str, key: str, value: Any, page: Page, full: bool) -> Iterator[Line]:
    head: Line = [("key", key), ("", "  ")]
    indent = _LABEL + cell_len(key) + 5
    line = inline(value, page, indent)
    if line is not None or not full:
        room = None if page.width is None else page.width - indent
        yield _labelled(label, [*head, line or ("value", brief(value, room, reveal=page.reveal))])
        return
    yield _labelled(label, head)
    yield from block(value, page, _LABEL + 5, full=True)


def _next(view: ShowView, page: Page) -> Iterator[Line]:
    if view.next is None:
        why = "the checkpoint is damaged" if view.problem else "what is stored doesn't show it"
        yield [("key", "was next" if view.consumed else "next"), ("", "  "), ("muted", f"unknown: {why}")]
    elif view.consumed:
        yield [("key", "was next"), ("", "  "), ("node", counted(view.next) or "nothing")]
    elif view.next:
        yield [("key", "next"), ("", "  "), ("node", counted(view.next)), ("muted", _nothing_since(view))]
    elif any(task.status == "left" for task in view.tasks):
        yield [("key", "next"), ("", "  "), ("good", "nothing: the graph above has gone on")]
    elif view.tasks and "head" in view.marks:
        yield [("key", "next"), ("", "  "), ("muted", _ALL_FINISHED)]
        if any(task.error is not None and not task.aborted for task in view.tasks):
            yield [("", "      "), ("muted", _WITHOUT_EDGE)]
    elif view.tasks:
        yield [("key", "next"), ("", "  "), ("muted", _ALL_FINISHED_ASIDE)]
    else:
        yield [("key", "next"), ("", "  "), ("good", "nothing: done")]
    if view.goto and not view.consumed:
        about = "a pending Command's: the next run applies it first"
        yield fit([("key", "goto"), ("", "  "), ("node", ", ".join(view.goto)), ("muted", f"  {about}")], page.width)
    if view.tasks:
        yield [("key", "tasks")]
    column = max((cell_len(task_name(task, "")) for task in view.tasks), default=0)
    is_over = view.consumed or view.not_continued is not None
    for task in view.tasks:
        yield from task_lines(task, page, column, consumed=is_over, full=view.full)
    for task in view.unplaced:
        yield from task_lines(task, page, column, consumed=is_over, full=view.full)
    over = passed_over_words(view.passed_over) if view.passed_over else None
    remarks = [view.not_continued, over, *view.own_memory, _UNPLACED if view.unplaced else None]
    for remark in filter(None, remarks):
        room = max((page.width or len(remark) + 2) - 2, 20)
        yield from ([("", "  "), ("waiting", part)] for part in wrap(remark, room))
    yield from old_answers(view.old_answers, page)
    if not view.consumed and any(task.status == "finished" for task in view.tasks):
        yield from _unapplied(view, page)


def _nothing_since(view: ShowView) -> str:
    """A remark if an update or a fork made the checkpoint and no task has left anything since."""
    is_untouched = view.source in ("update", "fork") and all(task.status == "due" for task in view.tasks)
    return f"  nothing recorded since the {view.source}" if is_untouched else ""


def _unapplied(view: ShowView, page: Page) -> Iterator[Line]:
    """A remark that the state lacks the results of finished tasks, with a command that shows them.

    If there is no room for both, the command is on a line of its own, so that it isn't broken.
    """
    words = [view.thread_id, *([] if "head" in view.marks else [view.short])]
    options = ns_option(view.ns)
    shown = command("ckpt replay" if view.can_replay else "ckpt writes", *words, options=options)
    remark = "what has finished is not in this state yet:"
    if page.width is None or cell_len(remark) + cell_len(shown) + 3 <= page.width:
        yield [("muted", f"  {remark} {shown}")]
        return
    yield [("muted", f"  {remark}")]
    yield [("muted", f"    {shown}")]
