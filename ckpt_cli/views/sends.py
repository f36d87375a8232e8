"""The Send that starts a task, in the views of all commands that show tasks."""

from typing import Any, NamedTuple


class SendView(NamedTuple):
    """The Send that starts a task.

    Attributes:
        number: its place among the Sends of the step to the same node, from 1.
        of: the number of those Sends.
        argument: what the node is called with.
    """

    number: int
    of: int
    argument: Any


def send_view(packet: tuple[int, int, Any] | None) -> SendView | None:
    """The view of a task's Send (`history.tasks.next_tasks.Packet`); None for a task of another kind."""
    return None if packet is None else SendView(*packet)
