"""`refusal_of`: why the plan of one of many threads is refused."""

from ckpt_cli.errors import CkptError

_CANDIDATES = 8  # existing names that are listed


def refusal_of(error: CkptError) -> str:
    """Why one of many threads is refused, with the option that helps, if the error's hint begins with one.

    Other hints have commands for that thread alone.
    """
    option = error.hint.partition(";")[0] if error.hint.startswith("--") else ""
    listed = ""
    if error.reason.endswith(":"):  # the candidates end the sentence
        more = len(error.candidates) - _CANDIDATES
        listed = f" {', '.join(error.candidates[:_CANDIDATES])}{f', … {more} more' if more > 0 else ''}"
    return f"{error.reason}{listed}{option and f' ({option})'}"
