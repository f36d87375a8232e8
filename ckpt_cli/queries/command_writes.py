"""What a Command wrote to a checkpoint's channels, which hold it only after the next step."""

from collections.abc import Sequence

from ckpt_cli.history.state.channels import TASKS
from ckpt_cli.history.state.paths import spell
from ckpt_cli.history.tasks.pending_goto import goto_nodes, has_unread_sends
from ckpt_cli.history.tasks.step_changes import is_output
from ckpt_cli.history.tasks.write_makers import is_command
from ckpt_cli.model import Ref
from ckpt_cli.reading import Reader
from ckpt_cli.values.state import TaskWrite
from ckpt_cli.views.steps import CommandView
from ckpt_cli.views.write_line import WriteLine


def command_writes(reader: Reader, ref: Ref) -> list[WriteLine]:
    """What a Command that a run was given wrote to the user's channels.

    ``get_state`` and ``get_state_history`` show it applied (1.2 ``pregel/main.py: _prepare_state_snapshot``).
    """
    by_command = (write for write in reader.writes(ref) if is_command(write) and is_output(write))
    return [WriteLine(write.channel, write.value) for write in by_command if write.channel != TASKS]


def describe_unheld(channel: str) -> str:
    """The remark that a Command's write to a channel is in no checkpoint yet."""
    what = f"a Command wrote to {spell([channel])}, which the channel doesn't hold yet"
    return f"{what}: get_state() shows it applied, `ckpt show` what was written"


def pending_command(writes: Sequence[TaskWrite]) -> CommandView | None:
    """The Command among the writes of a checkpoint that has no child; None if there is none, or if it does nothing."""
    channels = dict.fromkeys(w.channel for w in writes if is_command(w) and is_output(w) and w.channel != TASKS)
    goto = [*goto_nodes(writes), *([None] if has_unread_sends(writes) else [])]
    return CommandView([*channels], goto) if channels or goto else None
