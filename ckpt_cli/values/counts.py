"""Numbers of things as texts: ``1 checkpoint``, ``1,200 checkpoints``."""


def count_text(count: int, noun: str) -> str:
    """``1 checkpoint``, ``1,200 checkpoints``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
