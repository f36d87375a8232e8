"""The signs, colours and status words of the text output; all renderers take them from here."""

from typing import NamedTuple

STYLES = {
    "": "",
    "title": "bold",  # thread ids, headings
    "id": "yellow",  # checkpoint ids
    "key": "cyan",  # channel names, field names
    "node": "magenta",  # graph nodes
    "value": "",  # values out of the state
    "muted": "dim",  # less important text: times, rails, counts
    "added": "green",
    "removed": "red",
    "changed": "yellow",
    "good": "green",  # done, finished
    "waiting": "bold yellow",  # interrupts
    "bad": "bold red",  # errors, failed
    "head": "bold green",  # the mark of the head, branch names
    "human": "bold blue",
    "ai": "bold green",
    "tool": "bold magenta",
    "system": "bold dim",
    "exact": "",  # the value that `ckpt get` prints: a pipe gets it as it is, a terminal without control characters
    "tab": "",  # only for `line.TAB`
}
"""The definition, in Rich's words, of each style that a span may have."""

ROLES = ("human", "ai", "tool", "system")
"""The speakers in a conversation; each is also the name of a style."""

# Signs of a status.
FINISHED, WAITING, FAILED, DUE, UNKNOWN = "✓", "⏸", "✗", "○", "?"
UNREADABLE = "⚠"

# Signs inside a line.
MORE = "…"
"""Something is left out or unknown."""
LEADS_TO = "→"
INSIDE = "›"
"""Between a node and a node inside its subgraph."""
TIMES = "×"
MINUS = "−"
BETWEEN = "·"
"""Separates the facts of a heading."""
NOTHING = "—"
CHANGED_HERE = "•"
OPEN_QUOTE, CLOSE_QUOTE = "“", "”"

# Signs of a drawn tree.
HEAD, CHECKPOINT, FOLDED = "◉", "●", "⋮"
RAIL, JOINT, SUBGRAPH = "│ ", "├─", "╰╴"

# Signs of an observed graph.
WAY, LAST_WAY, WAY_DOWN, UNPROVED_DOWN = "├", "╰", "│", "╎"
PROVED, UNPROVED = "─", "╌"
LANE, ACROSS, CROSSING, ARROW = "│", "─", "┼", "◀"
LANE_BEGINS, LANE_ENDS, LANE_JOINS = "╮", "╯", "┤"

# Signs of a timeline.
BAR, SHORT_BAR = "█", "▏"


class Look(NamedTuple):
    """The style, sign and word that show a status."""

    style: str
    sign: str
    word: str

    @property
    def span(self) -> tuple[str, str]:
        """A span with the sign and the word."""
        return self.style, f"{self.sign} {self.word}"


def _by_word(*looks: Look) -> dict[str, Look]:
    return {look.word: look for look in looks}


THREAD_STATUS = _by_word(
    Look("good", FINISHED, "done"),
    Look("waiting", WAITING, "waiting"),
    Look("bad", FAILED, "failed"),
    Look("changed", MORE, "unfinished"),
    Look("muted", UNKNOWN, "unknown"),
)
TASK_STATUS = _by_word(
    Look("good", FINISHED, "finished"),
    Look("waiting", WAITING, "waiting"),
    Look("good", DUE, "answered"),
    Look("bad", FAILED, "failed"),
    Look("muted", DUE, "due"),
) | {"left": Look("muted", DUE, "no result")}

ASKED = Look("muted", DUE, "asked")
"""A task that waited for an answer at a checkpoint that the thread has left."""
LEFT_NOTHING = Look("muted", DUE, "no result stored")
"""A task without any record at a checkpoint that the thread has left; whether it ran isn't known."""
VERDICTS = {
    "agrees": Look("good", FINISHED, "as recorded"),
    "differs": Look("bad", FAILED, "recorded otherwise"),
    "suspect": Look("waiting", UNREADABLE, "suspect"),
    "unknown": Look("muted", UNKNOWN, "unknown"),
}
DIFFERENCES = _by_word(
    Look("added", "+", "added"),
    Look("removed", "-", "removed"),
    Look("changed", "~", "changed"),
    Look("changed", "↕", "moved"),
)
OPERATION_STATES = {"done": "good", "undone": "muted", "abandoned": "muted", "planned": "waiting", "refused": "bad"}
"""The style of each state of an operation."""
WRITE_KINDS = {"error": "bad", "interrupt": "waiting", "resume": "good", "trigger": "muted"}
"""The style of each kind of write to one of langgraph's own channels."""
ROW_CHANGES = {"add": ("added", "added to"), "change": ("changed", "changed in"), "remove": ("removed", "removed from")}
"""The style and words for each change that a plan makes to rows."""

BOXES = {
    "input": "fill:#dbeafe,stroke:#2563eb,color:#111",
    "update": "fill:#fef9c3,stroke:#ca8a04,color:#111",
    "fork": "fill:#fef9c3,stroke:#ca8a04,color:#111",
    "waiting": "fill:#fde68a,stroke:#b45309,color:#111",
    "failed": "fill:#fecaca,stroke:#b91c1c,color:#111",
    "head": "fill:#bbf7d0,stroke:#15803d,color:#111",
    "fold": "fill:#f3f4f6,stroke:#9ca3af,color:#555",
}
"""The style, in Mermaid's words, of each kind of box in a tree for Mermaid or Graphviz."""
PLAIN_BOX = "fill:white,stroke:#6b7280"


def quoted(text: str) -> str:
    """A text between quotes."""
    return f"{OPEN_QUOTE}{text}{CLOSE_QUOTE}"


def task_look(status: str, *, consumed: bool) -> Look:
    """The look of a task's status; at a `consumed` checkpoint, nothing waits or is due any more."""
    left = {"waiting": ASKED, "due": LEFT_NOTHING} if consumed else {}
    return left.get(status) or TASK_STATUS[status]


def thread_style(status: str) -> str:
    """The style of a thread's status; ``muted`` for an unknown status."""
    look = THREAD_STATUS.get(status)
    return look.style if look is not None else "muted"


def thread_sign(status: str) -> str:
    """The sign of a thread's status; blank for no status."""
    look = THREAD_STATUS.get(status)
    return look.sign if look is not None else UNKNOWN if status else " "
