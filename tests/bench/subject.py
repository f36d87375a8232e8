"""What both sides look at."""

LONG = "long"
"""The thread of 1,200 checkpoints."""

NEEDLE = "needle-4711"
"""A word in the answer of one tool, and from that step on in the state."""

USER = "user-17"
"""Who has several threads of the fleet."""
