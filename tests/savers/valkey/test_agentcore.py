"""What the real AgentCoreValkeySaver wrote is read as the saver itself reads it, and never changed."""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Command

from ckpt_cli.app import run as ckpt
from ckpt_cli.conformance import everything
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import Payload, Ref
from ckpt_cli.reading import Reader
from ckpt_cli.savers.about import Ability
from ckpt_cli.savers.url import open_database
from ckpt_cli.savers.valkey.agentcore_reading import thread_names
from ckpt_cli.serde.codec import Codec
from tests import hostile
from tests.cross.backend import Backend, Fresh
from tests.cross.listing import Listing
from tests.cross.look import Look, Run
from tests.graphs import SCENARIOS
from tests.graphs.building import line, on
from tests.graphs.lines import asking, nested
from tests.savers.valkey.agentcore import Acting, acting, fill
from tests.servers.redis import Server


@pytest.fixture(scope="module")
def fresh(valkey_server: Server) -> Fresh:
    """The server, emptied each time."""

    def give() -> Backend:
        url = valkey_server.empty()

        @contextmanager
        def official() -> Iterator[BaseCheckpointSaver[Any]]:
            with Acting.from_conn_string(url, pool_size=100) as saver:
                yield saver

        return Backend(url, official)

    return give


ANSWERED = "interrupts"
"""Of the scenarios the one in which several questions are answered: this saver keeps those that were answered."""


class TestListing(Listing):
    """Counting and sorting threads."""


@pytest.mark.parametrize("run", [name for name in SCENARIOS if name != ANSWERED], indirect=True, scope="class")
class TestLook(Look):
    """Commands that read."""

    def test_abilities(self, run: Run) -> None:
        """It stores parents and task paths, and is never written."""
        assert run.reader.saver.abilities == {Ability.BRANCHES, Ability.TASK_PATHS}

    def test_values(self, run: Run) -> None:
        """As elsewhere, except that the saver folds parallel tasks' writes to a delta channel as they came."""
        named = [(name, graph) for name, graph in run.threads if name not in ("delta-wide", "delta-exit")]
        super().test_values(replace(run, threads=named))


def stored(value: Any) -> Payload:
    """A value as the saver stores it."""
    return Payload(*JsonPlusSerializer().dumps_typed(value))


def test_as_the_saver_reads(fresh: Fresh) -> None:
    """Every checkpoint and write equals what `get_tuple` gives, also repeated interrupts, which the saver keeps."""
    backend = fresh()
    with backend.official() as official, ExitStack() as stack:
        asked, deep = asking(official), nested(official, ask=True)
        asked.invoke({"log": []}, on("asked"))
        asked.invoke(Command(resume="no"), on("asked"))
        deep.invoke({"log": []}, on("deep"))
        saver = stack.enter_context(closing(backend.saver()))
        reader, seen = Reader(saver, Codec()), 0
        for row in reader.rows("asked") + reader.rows("deep"):
            named = {"thread_id": row.thread_id, "checkpoint_ns": row.ns, "checkpoint_id": row.checkpoint_id}
            theirs = official.get_tuple({"configurable": named})
            assert theirs is not None
            (mine,) = saver.checkpoints([row.ref])
            assert (mine.body, mine.metadata) == (stored(theirs.checkpoint), stored(theirs.metadata))
            assert dict(saver.metadata([row.ref])) == {row.ref: mine.metadata}
            writes = [*saver.writes(*row.ref[:2], [row.checkpoint_id])]
            expected = [(task_id, channel, stored(value)) for task_id, channel, value in theirs.pending_writes or ()]
            assert Counter((write.task_id, write.channel, write.payload) for write in writes) == Counter(expected)
            assert [write.order for write in writes] == sorted({write.order for write in writes})
            seen += len(writes)
        assert Inspection(reader, reader.head("asked").ref).snapshot().interrupts[-1].value == "why?"
        assert saver.namespaces("deep") == sorted({"", *saver.namespaces("deep")})
        assert len(saver.namespaces("deep")) == 3
        assert saver.totals()[:3] == (2, saver.count("asked") + saver.count("deep"), seen)


def test_actors(fresh: Fresh, capsys: pytest.CaptureFixture[str]) -> None:
    """Sessions with the same id are distinguished by their actors, and only those; each is read by itself."""
    backend = fresh()
    with backend.official() as official:
        for thread_id, actor in (("s", "ann"), ("s", "bob:1"), ("t", "bob:1")):
            line(official, "a").invoke({"log": [actor]}, acting(on(thread_id), actor))
    with closing(backend.reader().saver) as saver:
        names = [thread.thread_id for thread in saver.threads()]
        assert names == ["t", "bob:1/s", "ann/s"]
        reader = Reader(saver, Codec())
        values = [Inspection(reader, reader.head(name).ref).values() for name in names]
        assert [some["log"][0] for some in values] == ["bob:1", "bob:1", "ann"]
        assert saver.thread("s") is None
    assert ckpt(["info", "-d", backend.url]) == 0
    stdout = " ".join(capsys.readouterr().out.split())
    assert "AgentCoreValkeySaver" in stdout and "actor_id/thread_id" in stdout


def test_names_are_unambiguous() -> None:
    """Whatever the names of actors and threads, no two threads get the same name."""
    parts = ("a", "b", "a/b", "b/a", "a%2Fb", "%", "a/a/b", "")
    pairs = [(actor, thread) for actor in parts for thread in parts]
    for some in (pairs, pairs[::2], pairs[::3], pairs[::7], [("a", "b"), ("b", "a/b")], [("a", "x"), ("b", "y")]):
        assert len({*thread_names(some).values()}) == len(some)
    assert thread_names([("a", "x"), ("b", "y/z")]) == {("a", "x"): "x", ("b", "y/z"): "y/z"}


def stored_keys(server: Server) -> dict[bytes, Any]:
    with server.client() as client:
        return {key: (client.dump(key), client.pttl(key) > 0) for key in client.scan_iter()}


LOOKS = ["threads", "log t", "tree t", "show t", "get t log", "diff t @^", "writes t", "grep a t", "info", "replay t"]
CHANGES = ["delete t", "fork t @^", "edit t --set log=1", "rollback t @^", "replay t --commit"]


def test_it_is_only_read(fresh: Fresh, valkey_server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    """Every reading command works, every change is refused with the reason, and no key changes."""
    backend = fresh()
    with backend.official() as official:
        line(official, "a", "b").invoke({"log": []}, on("t"))
    before = stored_keys(valkey_server)
    for words in LOOKS:
        assert ckpt([*words.split(), "-d", backend.url]) == 0, (words, capsys.readouterr().err)
    capsys.readouterr()
    for words in CHANGES:
        assert ckpt([*words.split(), "--yes", "-d", backend.url]) == 6, (words, capsys.readouterr())
        assert "AgentCore on Valkey can't be written: its writes have no places" in capsys.readouterr().err
    assert stored_keys(valkey_server) == before


def test_damage(fresh: Fresh, valkey_server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    """Damage is reported and hides nothing else; expired keys and other programs' keys are no checkpoints."""
    backend = fresh()
    with backend.official() as official:
        line(official, "a", "b").invoke({"log": ["in"]}, on("t"))
        line(official, "a").invoke({"log": []}, on("gone"))
    with closing(backend.saver()) as saver, valkey_server.client() as client:
        first, second, *_, last = rows = [*saver.rows("t")]
        place = "agentcore:checkpoint:t:agent:7::"
        client.delete(f"{place}{second.checkpoint_id}", *client.keys("agentcore:checkpoint:gone:*"))
        client.set(f"{place}{last.checkpoint_id}", "[" * 5000)
        client.rpush(f"agentcore:writes:t:agent:7::{first.checkpoint_id}", '{"value": 5', '{"value": 5, "size": "x"}')
        client.hset("agentcore:checkpoint:a:b::1", "no", "string")
        client.set("agentcore:checkpoint:c:d::1", '{"other": "things"}')
        assert [thread.thread_id for thread in saver.moment(lambda: list(saver.threads()))] == ["t"]
        assert [row.ref for row in saver.rows("t")] == [row.ref for row in rows if row != second]
        assert saver.row(last.ref) == last._replace(parent_id=None)
        assert saver.row(second.ref) is None and saver.row(Ref("gone", "", "1")) is None
        assert {w.channel for w in saver.writes("t", "", [first.checkpoint_id], values=0)} >= {""}
    assert ckpt(["log", "t", "-d", backend.url]) == 0
    capsys.readouterr()
    assert ckpt(["show", "t", "-d", backend.url]) == 5
    assert "not stored as AgentCoreValkeySaver stores it" in " ".join(capsys.readouterr().err.split())
    assert ckpt(["writes", "t", first.checkpoint_id, "-d", backend.url]) == 0


def test_nothing_is_run(
    valkey_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Hostile payloads are shown as in every other database, and nothing that they name is imported."""
    hostile.canary(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    mark, url = tmp_path / "mark", valkey_server.empty()
    count = hostile.write(tmp_path / "other.sqlite", mark)
    with closing(open_database(str(tmp_path / "other.sqlite"), str)) as other:
        threads, checkpoints, writes = everything(other)
    fill(valkey_server, [*checkpoints, *writes])
    assert ckpt(["threads", "-n", "0", "--json", "-d", url]) == 0
    assert len(json.loads(capsys.readouterr().out)["threads"]) == count
    for name in [thread.thread_id for thread in threads if hostile.CANARY in thread.thread_id]:
        assert ckpt(["show", name, "--full", "-d", url]) == 0
        assert ckpt(["writes", name, "-d", url]) == 0
    assert ckpt(["grep", "touch", "-d", url]) == 0
    assert hostile.CANARY in capsys.readouterr().out
    assert not mark.exists() and hostile.CANARY not in sys.modules
