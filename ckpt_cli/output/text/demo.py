"""Shows the demo: its path, a tree, and commands to copy. Each command is one line, even if it is too long."""

from ckpt_cli.output.line import Lines, Page
from ckpt_cli.output.text import tree
from ckpt_cli.views.demo import DemoView


def render(view: DemoView, page: Page) -> Lines:
    """The lines of the whole answer."""
    yield [
        ("", "wrote "),
        ("title", view.path),
        ("muted", f": a support agent's memory, {view.threads} threads, {view.checkpoints} checkpoints"),
    ]
    yield []
    yield from tree.render(view.tree, page)
    yield []
    yield [("", "Now try:")]
    for suggestion in view.next:
        yield [("muted", f"  # {suggestion.answers}")]
        yield [("", "  "), ("key", suggestion.command)]
