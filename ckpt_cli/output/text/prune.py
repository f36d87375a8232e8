"""Shows the plan of ``ckpt prune``: like every plan."""

from ckpt_cli.output.text.plan import render

__all__ = ["render"]
