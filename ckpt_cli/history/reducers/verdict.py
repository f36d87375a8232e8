"""`Verdict`: what ``verify`` and ``replay --to`` say of a recorded step."""

from enum import StrEnum


class Verdict(StrEnum):
    """Whether the writes of a step make the recorded state."""

    AGREES = "agrees"
    DIFFERS = "differs"
    """A reducer that a person named makes something else, or the library can't have made this from any writes."""
    SUSPECT = "suspect"
    """A learned reducer makes something else, and it explains all other steps; or a list, dict or object changed in
    place. This proves nothing."""
    UNKNOWN = "unknown"
