"""What an edit leaves as it is: the arguments of Sends, an input; and the commands that edit those."""

from collections.abc import Iterator

from ckpt_cli.history.state.channels import START, user_channels
from ckpt_cli.history.state.javascript import is_javascript
from ckpt_cli.history.state.paths import spell
from ckpt_cli.history.tasks.snapshot import Snapshot
from ckpt_cli.history.tasks.task_names import task_names
from ckpt_cli.inspection import Inspection
from ckpt_cli.plans.command_lines import command_at
from ckpt_cli.plans.step_formats import may_allow_steps
from ckpt_cli.reading import Reader
from ckpt_cli.values.parts import fields
from ckpt_cli.values.state import State

_RUN_WITH = "run with the arguments of their Sends, each of which stays"


def describe_input(snapshot: Snapshot, state: State, edited: set[str]) -> Iterator[str]:
    """A line about the edited channels that the next run writes first, from the input that waits.

    The command names the new checkpoint: at the edited one it would change the input of a sibling without this edit.
    """
    given = fields(state.values.get(START)) if any(task.node == START for task in snapshot.tasks) else {}
    if both := sorted(edited & given.keys()):
        change = command_at("ckpt edit", state.ref, "--task", START, "--set", "PATH=JSON", rev="@")
        first = f"the next run first applies the input, which has {', '.join(both)} too"
        yield first if is_javascript(state) else f"{first}: after this edit, {change} changes the input"


def describe_arguments(state: State, snapshot: Snapshot) -> Iterator[str]:
    """A line about the next tasks that don't read the edited state: those that Sends started.

    Before format 4 Sends are stored with the parent, so no edit can change them; neither can it in LangGraph.js.
    """
    sent = [task for task in snapshot.tasks if task.packet is not None]
    if sent and not snapshot.consumed:
        runs = "runs with the argument of its Send, which stays" if len(sent) == 1 else _RUN_WITH
        packet = sent[0].packet
        number = f"[{packet.number}]" if packet is not None and packet.of > 1 else ""
        change = command_at("ckpt edit", state.ref, "--task", f"{sent[0].node}{number}", "--set", "PATH=JSON", rev="@")
        one = "it" if len(sent) == 1 else "one"
        how = f": after this edit, {change} changes {one}" if may_allow_steps(state) else ""
        yield f"{', '.join(task_names(sent))} {runs} as it is{how}"


def input_hint(reader: Reader, state: State, name: str = "") -> str:
    """The command that edits the input, if a checkpoint has nothing but an input, or the input has this field; else "".

    The input of an entrypoint stays in its checkpoint, beside what the last run saved. None of LangGraph.js is edited.
    """
    if START not in state.values or is_javascript(state):
        return ""
    tasks, has_field = Inspection(reader, state.ref).snapshot().tasks, name in fields(state.values[START])
    if len(tasks) != 1 or (user_channels(state) and not has_field):
        return ""
    is_head = reader.lineage(state.ref.thread_id, state.ref.ns).head == state.ref.checkpoint_id
    options = ["--task", tasks[0].node or "NAME", "--set", f"{spell([name]) if has_field else 'PATH'}=JSON"]
    change = command_at("ckpt edit", state.ref, *options, rev="@" if is_head else "")
    return f"{change} changes the input"
