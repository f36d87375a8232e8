"""`LaterIds`: whether a state may have ids that messages got after they were written."""

from ckpt_cli.history.messages.message_states import NO_STATES, StepStates


class LaterIds:
    """Says when a state must be looked at: only if a message without an id was written since the last looks.

    Every other id in the states of a namespace is that of a message that was added with it. A look is at the state in
    which a step began, and what the step itself wrote is in the next one; so two looks are needed after each write.
    """

    def __init__(self) -> None:
        self._now = 0
        self._written: dict[str | None, int] = {}
        self._looks: dict[str, tuple[int, int]] = {}  # when the last two were

    def write(self, step: StepStates | None) -> None:
        """Note that a message without an id was written, in a step or, without states, in any namespace."""
        self._now += 1
        self._written[None if step is None or step is NO_STATES else step.ns] = self._now

    def look(self, step: StepStates) -> None:
        """Note that the state in which a step began was looked at."""
        _, last = self._looks.get(step.ns, (0, 0))
        self._looks[step.ns] = last, self._now

    def may_be_before(self, step: StepStates) -> bool:
        """Whether the state in which a step began may have such ids that weren't looked at."""
        written = max(self._written.get(step.ns, 0), self._written.get(None, 0))
        return written > self._looks.get(step.ns, (0, 0))[0]
