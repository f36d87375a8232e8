"""Reading several threads at once in SQLite."""

from contextlib import closing
from pathlib import Path

from langgraph.checkpoint.sqlite import SqliteSaver

from ckpt_cli.savers.sqlite.saver import open_file
from tests.graphs.building import line, on

ODD = ["b'x'", "1", "%=b'x'", "plain", *(f"t-{number}" for number in range(9))]
"""Ids that are text; some look like the names of other kinds of ids."""


def test_a_text_is_its_own_name(tmp_path: Path) -> None:
    """Rows, checkpoints and writes of several threads name the threads as `threads` does, whatever an id looks like."""
    path = tmp_path / "x.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as official:
        for thread_id in ODD:
            line(official, "a").invoke({"log": []}, on(thread_id))
    with closing(open_file(path)) as saver:
        assert {one.thread_id for one in saver.threads()} == {*ODD}
        rows = list(saver.rows_of(ODD))
        assert {row.thread_id for row in rows} == {*ODD}
        refs = [row.ref for row in rows]
        assert [one.row.ref for one in saver.checkpoints(refs)] == refs
        assert {write.thread_id for write in saver.writes_on(refs)} == {*ODD}


def test_each_row_comes_once_where_a_later_text_is_not_utf8(tmp_path: Path) -> None:
    """The rows before the first such text come once, and statements that were begun before go on."""
    path = tmp_path / "x.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as official:
        for thread_id in "abcd":
            line(official, "a").invoke({"log": []}, on(thread_id))
        official.conn.execute("UPDATE writes SET channel = CAST(x'FF' AS TEXT) WHERE thread_id IN ('b', 'd')")
        official.conn.execute("UPDATE checkpoints SET parent_checkpoint_id = CAST(x'FF' AS TEXT) WHERE thread_id = 'c'")
        official.conn.commit()
    with closing(open_file(path)) as saver:
        begun = saver.rows_of("abcd")
        first = next(begun)
        writes = list(saver.writes_of("abcd"))
        rows = [first, *begun]
        assert len({(write.ref, write.task_id, write.idx) for write in writes}) == len(writes) == 12
        assert {write.channel for write in writes if write.thread_id in "bd"} == {"\udcff"}
        assert len({row.ref for row in rows}) == len(rows)
        assert [{row.thread_id for row in rows if row.parent_id == "\udcff"}] == [{"c"}]
