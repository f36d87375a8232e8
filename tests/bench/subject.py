"""What both sides look at."""

LONG = "long"
"""The thread of 1,200 checkpoints."""

NEEDLE = "needle-4711"
"""A word that stands in one tool's answer, and from there on in the state."""
