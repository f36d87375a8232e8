"""Real graphs on a real saver: `threads` counts and sorts all of them."""

import json
from contextlib import closing

import pytest

from ckpt_cli.app import run
from tests.cross.backend import Fresh
from tests.graphs.building import line, on

CODES = {"sqlite": [0], "postgres": [0], "mysql": [0], "dev": [0], "mongodb": [0, 6]}
"""The exit codes of sorting by size for a saver's name: 6 where sizes are unknown; MongoDB knows them since 4.4."""


class Listing:
    """Threads of different sizes."""

    def test_the_largest_come_first(self, fresh: Fresh, capsys: pytest.CaptureFixture[str]) -> None:
        """Sorted by size, or an error where sizes are unknown; the total includes threads beyond the limit."""
        backend = fresh()
        with backend.official() as official:
            graph = line(official, "a", nodes={"a": lambda state: {"log": [state["log"][0] * 2]}})
            for thread_id, size in (("middle", 2_000), ("large", 20_000), ("small", 20)):
                graph.invoke({"log": ["x" * size]}, on(thread_id))
        with closing(backend.saver()) as saver:
            codes = CODES.get(saver.name, [6])
        code = run(["threads", "--sort", "size", "--json", "-d", backend.url])
        captured = capsys.readouterr()
        assert code in codes
        if code:
            assert "can't tell how large a thread is" in captured.err
        else:
            threads = json.loads(captured.out)["threads"]
            assert [one["thread_id"] for one in threads] == ["large", "middle", "small"]
            assert threads[0]["size"] > 50_000 > threads[1]["size"] > 5_000 > threads[2]["size"] > 0
        assert run(["threads", "-n", "1", "--json", "-d", backend.url]) == 0
        assert json.loads(capsys.readouterr().out)["total"] == 3
