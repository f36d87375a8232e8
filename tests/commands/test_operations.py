"""`ckpt operations`: listed, pruned, and settled after a crash."""

import os
import platform
import pty
import pwd
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ckpt_cli import __version__
from ckpt_cli.commands import operations
from ckpt_cli.conformance.records import checkpoint
from ckpt_cli.model import Plan
from ckpt_cli.operations.changed_threads import ThreadCounts
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.log_paths import default_path
from ckpt_cli.operations.operation import Heading
from ckpt_cli.operations.witnesses import Choice, sample_checkpoints
from ckpt_cli.savers.memory import MemorySaver
from ckpt_cli.savers.sqlite import open_file
from ckpt_cli.session import ChangeOptions, Session
from ckpt_cli.views.changed_threads import MOST_NAMED
from ckpt_cli.views.operations import OperationsView
from tests import golden
from tests.commands.changes import SUMMARY, THREAD, Json, row_changes
from tests.operations.old_logs import take_back_to
from tests.test_completion import complete


def test_reading_makes_no_log(ckpt: Callable[..., Json], path: Path) -> None:
    """Commands that look, a revision by tag among them, leave no log."""
    ckpt("operations")
    ckpt("tag", "--list")
    ckpt("show", THREAD, "tag:none", code=4)
    ckpt("undo", "--yes", code=4)
    assert not default_path(f"sqlite:{path.resolve()}").parent.exists()


def answered(path: Path, answer: str) -> tuple[int, list[str]]:
    """The exit code where a person answers the question that ``--prune --keep 1`` asks, and what it forgets."""
    controller, terminal = pty.openpty()
    command = [sys.executable, "-m", "ckpt_cli", "operations", "--prune", "--keep", "1", "-d", str(path)]
    with subprocess.Popen(command, stdin=terminal, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        os.write(controller, f"{answer}\n".encode())
        err = process.communicate(timeout=30)[1].decode()
    os.close(terminal)
    os.close(controller)
    return process.returncode, [line for line in err.splitlines() if "forgets" in line]


def test_pruning(ckpt: Callable[..., Json], path: Path) -> None:
    """Old operations are forgotten only once that was shown and confirmed; the words must fit together."""
    ckpt("tag", THREAD, "step:1", "here")
    for _ in range(3):
        ckpt("fork", THREAD, "tag:here", "--yes")
    assert ckpt("operations", "--prune", "--older", "1")["pruned"] == 0
    assert answered(path, "n") == (
        7,
        ["operations --prune forgets operations 1 to 2, for which there is no undo then"],
    )
    planned = ckpt("operations", "--prune", "--keep", "1", "--dry-run")
    assert (planned["applied"], row_changes(planned)) == (False, [("remove", "the operation log")] * 2)
    ckpt("operations", "--prune", "--keep", "1", code=2)
    assert len(ckpt("operations")["operations"]) == 3
    pruned = ckpt("operations", "--prune", "--keep", "1", "--yes")
    assert (pruned["pruned"], [o["number"] for o in pruned["operations"]]) == (2, [3])
    ckpt("undo", "1", "--yes", code=4)
    ckpt("operations", "--prune", code=2)
    ckpt("operations", "--keep", "1", code=2)
    ckpt("operations", "--yes", code=2)


def test_an_interrupted_operation_is_settled_by_the_next(path: Path) -> None:
    """The next change reports an operation that a crash interrupted, and the list marks it."""
    log = OperationLog(default_path(f"sqlite:{path.resolve()}"))
    saver = open_file(path)
    log.begin(Heading(1.0, "fork", "", "cut off"), [], witnessing=Choice(saver, sample_checkpoints(saver)))
    log.close()
    saver.close()
    lines: list[str] = []
    session = Session(str(path), say=lines.append, options=ChangeOptions(yes=True), may_change=True)
    from ckpt_cli.commands.fork import fork

    fork(session, THREAD, "step:1")
    assert lines == ["operation 1 (fork) was interrupted: `ckpt operations` shows how it ended"]
    assert [o.state for o in operations.run(session.log).operations] == ["done", "abandoned"]
    session.close()


MANY = 30_000


def test_where_and_who(ckpt: Callable[..., Json], path: Path) -> None:
    """Each operation has its threads, namespaces and how many of each, its user, host and version; so has its undo.

    ``--thread`` lists the operations on one thread, also on a deleted one, and also those that an older ckpt logged.
    """
    ckpt("fork", THREAD, "@^", "--yes")
    ckpt("delete", THREAD, "subgraph-interrupted", "--yes")
    undone = ckpt("undo", "2", "--dry-run")
    ckpt("fork", "forks", "@^", "--yes")
    third, second, first = ckpt("operations")["operations"]
    assert (first["threads"], first["namespaces"]) == (1, 1)
    assert first["where"] == [{"thread_id": THREAD, "ns": "", "records": 1}]
    places = {(one["thread_id"], one["ns"]): one["records"] for one in second["where"]}
    assert (second["threads"], second["namespaces"], len(places)) == (2, len(second["where"]), len(second["where"]))
    assert sum(places.values()) == second["rows"] and places.keys() >= {(THREAD, ""), ("subgraph-interrupted", "")}
    assert [undone[key] for key in ("threads", "namespaces", "where")] == [
        second[key] for key in ("threads", "namespaces", "where")
    ]
    who = pwd.getpwuid(os.geteuid()).pw_name, platform.node(), __version__
    assert {(one["user"], one["host"], one["version"]) for one in (first, second, third)} == {who}
    assert numbers(ckpt, THREAD) == [2, 1]
    assert {one["thread_id"] for one in ckpt("operations", "--thread", THREAD)["operations"][0]["where"]} == {THREAD}
    assert complete("bash", f"ckpt operations -d {path} --thread c") == [THREAD]
    ckpt("operations", "--thread", "chat-liner", code=4)
    ckpt("operations", "--thread", THREAD, "--prune", "--keep", "1", code=2)
    assert numbers(ckpt, "mapreduce") == []
    take_back_to(3, Path(ckpt("operations")["log"]))
    old = ckpt("operations")["operations"]
    assert {(one["threads"], one["user"], *one["where"]) for one in old} == {(None, None)}
    assert numbers(ckpt, THREAD) == [2, 1]
    ckpt("undo", "2", "--yes")
    assert (numbers(ckpt, THREAD), ckpt("operations")["operations"][0]["threads"]) == ([4, 2, 1], 2)


def numbers(ckpt: Callable[..., Json], thread_id: str) -> list[int]:
    """The numbers of the operations on a thread."""
    return [one["number"] for one in ckpt("operations", "--thread", thread_id)["operations"]]


class CountingLog(OperationLog):
    """A log that counts the rows that it gives."""

    read = 0

    def rows(self, statement: str, words: Sequence[object] = (), *, since: int = 1) -> list[tuple[Any, ...]]:
        """The rows, counted."""
        rows = super().rows(statement, words, since=since)
        self.read += len(rows)
        return rows


def test_an_operation_over_many_threads_is_listed_by_a_few_names(tmp_path: Path) -> None:
    """Neither its images nor all its names are read for the list."""
    log = CountingLog(tmp_path / "log" / "x" / "log.sqlite")
    saver = MemorySaver()
    records = (checkpoint(f"t{n:05}", "1") for n in range(MANY))
    log.begin(
        Heading(golden.NOW, "fork", "", "of many"),
        saver.expand(Plan("", tuple(records))),
        threads=ThreadCounts(saver.record_of),
    )
    log.read = 0
    view = operations.run(log)
    [line] = view.operations
    assert (line.threads, [one.thread_id for one in line.where]) == (MANY, [f"t{n:05}" for n in range(MOST_NAMED)])
    assert log.read < 30
    golden.check("operations/many", replace_log(view))
    log.close()


def replace_log(view: OperationsView) -> OperationsView:
    """The view with the names that differ from machine to machine replaced."""
    view.log = "log.sqlite"
    who = {"user": "dana", "host": "laptop", "version": "1.2.3"}
    view.operations = [replace(one, bytes=0, **who) if one.user else one for one in view.operations]
    return view


def test_the_log_looks(tmp_path: Path) -> None:
    """The operation log on every kind of output; of an operation that an older ckpt logged nothing more is said."""
    log = OperationLog(tmp_path / "log" / "x" / "log.sqlite")
    log.begin(
        Heading(golden.NOW - 7200, "fork", "the customer got the wrong answer, so we go back and try again", SUMMARY),
        [],
    )
    log.finish(1)
    log.begin(Heading(golden.NOW - 60, "undo", "", "of operation 1 (fork)", 1), [])
    log.finish(2)
    log.begin(Heading(golden.NOW - 5, "edit", "", "cut off"), [])
    saver = MemorySaver()
    places = [("support-42", ""), ("support-42", "orders:57edc7fb"), ("a thread", ""), ("客户-7", "")]
    for some in (places[:1], places[1:2], places[:2], places):
        records = tuple(checkpoint(thread_id, "1", ns=ns) for thread_id, ns in some)
        heading = Heading(golden.NOW - 3, "delete", "no longer needed", "of what was there")
        log.begin(heading, saver.expand(Plan("", records)), threads=ThreadCounts(saver.record_of))
    with log.transaction() as connection:
        connection.execute("UPDATE operations SET user = NULL, host = NULL, version = NULL WHERE number = 1")
    view = replace_log(operations.run(log))
    golden.check("operations/listed", view)
    view.operations, view.pruned = [], 3
    golden.check("operations/none", view)
    log.close()
