"""Parses ``--where`` and ``--any``, in every command that selects threads."""

from typing import TYPE_CHECKING

from ckpt_cli.errors import UsageError

if TYPE_CHECKING:
    from ckpt_cli.history.state.filters import Filter

HEAD_NAMES = frozenset({"status", "next", "values"})
"""The names that only a head has; the metadata of a checkpoint never has them."""


def parse_filter(expression: str | None, *, any_checkpoint: bool) -> "Filter | None":
    """The filter that ``--where`` describes, with or without ``--any``.

    Raises:
        UsageError: there is ``--any`` without ``--where``, or an expression that uses a name which metadata never has.
    """
    if expression is None:
        if any_checkpoint:
            raise UsageError("--any belongs to --where", hint="""--where 'user_id == "u-1"' --any""")
        return None
    from ckpt_cli.history.state.filters import Filter

    where = Filter(expression, "checkpoint's metadata" if any_checkpoint else "thread")
    if any_checkpoint and (head_names := sorted(where.names & HEAD_NAMES)):
        raise UsageError(
            f"--any tests only metadata, which has no {head_names[0]!r}",
            hint="--status selects threads by status; without --any, --where also tests the head's state",
        )
    return where
