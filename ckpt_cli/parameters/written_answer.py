"""A long answer to a question is written in the user's editor."""

from collections.abc import Callable
from typing import TypeVar

from ckpt_cli.errors import CkptError
from ckpt_cli.output.editor import Draft

T = TypeVar("T")

EDITOR = "@"
"""What is typed for an answer that is to be written in the editor; ``@FILE`` reads one from a file."""


def write_answer(first: str, take: Callable[[str], T], say: Callable[[str], None], *, ending: str = "txt") -> T:
    """What `take` makes of the text that the user writes, which is `first` at the beginning.

    Raises:
        CkptError: the editor can't be run, or what `take` raises; then the text is kept, and `say` says where.
    """
    draft = Draft(first, "answer", ending)
    try:
        answer = take(draft.edit())
    except CkptError:
        if draft.worth_keeping:
            say(f"what you wrote is kept in {draft.path}")
        else:
            draft.discard()
        raise
    draft.discard()
    return answer
