"""The command with which a person goes on after a refusal: verb, thread, checkpoint, namespace."""

from ckpt_cli.model import Ref
from ckpt_cli.shell_words import command, ns_option


def command_at(verb: str, ref: Ref, *options: str, rev: str = "") -> str:
    """A command line about one checkpoint, in backticks.

    Args:
        verb: such as ``ckpt edit``.
        ref: the checkpoint.
        options: the names of options and their values.
        rev: a shorter name of the checkpoint than its id.
    """
    return f"`{command(verb, ref.thread_id, rev or ref.checkpoint_id, options=[*options, *ns_option(ref.ns)])}`"
