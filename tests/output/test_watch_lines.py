"""The lines of a watch on a terminal: when an event was."""

import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver

from ckpt_cli.commands.watch import watch
from ckpt_cli.history.lineage import ids
from ckpt_cli.output.line import Page, plain
from ckpt_cli.output.text.watch import render
from ckpt_cli.session import Session
from tests.savers.unwritable import waiting

DAY = 86_400.0


@pytest.mark.parametrize(("later", "form"), [(0.0, "%H:%M:%S"), (DAY, "%Y-%m-%d %H:%M:%S ")])
def test_a_time_of_another_day_has_its_date_and_zone(tmp_path: Path, later: float, form: str) -> None:
    """A question of yesterday is shown with its date and zone, one of today with its time."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        waiting(saver, "t")
    with closing(sqlite3.connect(path)) as connection:
        (newest,) = connection.execute("SELECT max(checkpoint_id) FROM checkpoints").fetchone()
    made = ids.unix_time(newest)
    assert made is not None
    session = Session(str(path))
    with closing(session):
        first, *_ = render(watch(session, ["t"], limit=1), Page(100, made + later))
    assert plain(first).startswith(f"{datetime.fromtimestamp(int(made)):{form}}")
    assert (" +" in plain(first) or " UTC" in plain(first)) is bool(later)
