"""Calls `threads` with the selector's options as keywords."""

from typing import Any

from ckpt_cli.commands.threads import threads as verb
from ckpt_cli.parameters.selector import SelectorOptions
from ckpt_cli.session import Session
from ckpt_cli.views.threads import ThreadsView


def threads(session: Session, **options: Any) -> ThreadsView:
    """The view for these options."""
    typed = {name: options.pop(name) for name in SelectorOptions._fields if name in options}
    return verb(session, SelectorOptions(**typed), **options)
