"""Why a part of a delta channel isn't known: no proven reducer, or what it is rebuilt from is gone."""

from typing import Any

from ckpt_cli.errors import ValueUnknown
from ckpt_cli.history.state.paths import spell
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import Ref
from ckpt_cli.reading import Reader
from ckpt_cli.shell_words import argument, command, ns_option


def explain_unknown(reader: Reader, ref: Ref, steps: list[Any], at: str = "@") -> ValueUnknown:
    """The error for a path into a delta channel whose value isn't known at a checkpoint, with what may give it.

    `at` is the revision by which the user named the checkpoint.
    """
    channel, path = steps[0], spell(steps)
    delta = Inspection(reader, ref).deltas().get(channel)
    if delta is not None and not delta.is_whole:
        return ValueUnknown(f"{path} isn't known: some of what delta channel {channel} is rebuilt from isn't stored")
    options = [*(["--at", at] if at != "@" else []), *ns_option(ref.ns)]
    by_name = command("ckpt blame", ref.thread_id, path, options=[*options, "--reducer", f"{channel}=NAME"])
    writes = command("ckpt get", ref.thread_id, spell([channel, "writes"]), options=options)
    why = f"nothing proves the reducer of delta channel {argument(channel)}"
    if delta is not None and delta.unmet:
        why = f"no stored value that was read shows what delta channel {argument(channel)} does with {delta.unmet}"
    return ValueUnknown(
        f"{path} isn't known: {why}",
        hint=f"`{by_name}` if you know the reducer; `{writes}` prints the writes",
    )
