"""Advice that the sizes of a database speak for (``stats --advise``): statements to read, which ckpt never runs."""

from ckpt_cli.reading import Reader
from ckpt_cli.views.stats import AdviceLine, StatsView


def advice(reader: Reader, view: StatsView) -> list[AdviceLine]:
    """What to consider for this database; empty if the sizes speak for no change."""
    return []
