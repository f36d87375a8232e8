"""Advice that the sizes of a database speak for (``stats --advise``); ckpt never runs it."""

from ckpt_cli.reading import Reader
from ckpt_cli.savers.measures import Figures
from ckpt_cli.views.stats import AdviceLine, StatsView


def advice(reader: Reader, view: StatsView) -> list[AdviceLine]:
    """What to consider for this database; empty if the sizes speak for no change."""
    figures = Figures(view.threads, view.checkpoints, view.writes, view.bytes, view.repeated_bytes)
    return [AdviceLine(*one) for one in reader.saver.advice(reader.saver.space(), figures)]
