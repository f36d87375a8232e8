"""The times beside the lines of `log` and `tree`; what all of them share is written once."""

from collections.abc import Collection, Iterable
from datetime import date, datetime

from ckpt_cli.history.lineage.printed_times import zone


class Clock:
    """Writes the times of a column; the parts that all times share are left out.

    Args:
        times: the times of the column (ISO 8601).
        wide: write each time in full and without a zone, for a pipe.

    Attributes:
        beside: the text to write once beside the column: the date or year that all times share, and their zone.
    """

    def __init__(self, times: Iterable[str | None], wide: bool = False) -> None:
        dates, zones = set[date](), set[str]()
        for moment in (datetime.fromisoformat(time).astimezone() for time in times if time):
            dates.add(moment.date())
            if not wide:
                zones.add(zone(moment))
        shared = _shared_date(dates, wide)
        self._zoned = len(zones) > 1  # before and after a change to summer time
        short = "%m-%d %H:%M" if shared else "%Y-%m-%d %H:%M:%S"
        self._format = "%H:%M:%S" if len(shared) > 4 else short
        self.beside = " ".join([*([shared] if shared else []), *(zones if len(zones) == 1 else [])])
        example = datetime(2000, 1, 1).strftime(self._format)
        self.cells = len(example) + (7 if self._zoned else 0) if dates else 0

    def __call__(self, time: str | None) -> str:
        """One time, in `cells` cells; blank if it isn't known."""
        if time is None:
            return " " * self.cells
        moment = datetime.fromisoformat(time).astimezone()
        words = moment.strftime(self._format)
        return f"{words} {zone(moment)}".ljust(self.cells) if self._zoned else words


def _shared_date(dates: Collection[date], wide: bool) -> str:
    """The date that all times share, else their year, unless they are to be written in full; "" if neither."""
    if len(dates) == 1:
        return f"{next(iter(dates)):%Y-%m-%d}"
    return f"{next(iter(dates)):%Y}" if not wide and len({one.year for one in dates}) == 1 else ""
