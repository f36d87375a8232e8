"""What a Command wrote to a checkpoint's channels, which hold it only after the next step."""

from ckpt_cli.history.state.channels import TASKS
from ckpt_cli.history.tasks.step_changes import is_output
from ckpt_cli.history.tasks.write_attribution import is_command
from ckpt_cli.model import Ref
from ckpt_cli.reading import Reader
from ckpt_cli.views.replay import WriteLine


def command_writes(reader: Reader, ref: Ref) -> list[WriteLine]:
    """What a Command that a run was given wrote to the user's channels.

    ``get_state`` and ``get_state_history`` show it applied (1.2 ``pregel/main.py: _prepare_state_snapshot``).
    """
    by_command = (write for write in reader.writes(ref) if is_command(write) and is_output(write))
    return [WriteLine(write.channel, write.value) for write in by_command if write.channel != TASKS]
