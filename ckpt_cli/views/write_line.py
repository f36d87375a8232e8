"""One write, in the views of several commands. Field names are the JSON contract."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class WriteLine:
    """One write of a task to one of the user's channels."""

    channel: str
    value: Any
