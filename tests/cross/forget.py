"""A person is forgotten: after every way to change their threads, nothing of them is in the database or in the log."""

import json
import signal
from collections.abc import Callable, Collection
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver

from ckpt_cli.app import run
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.log_paths import default_path
from ckpt_cli.savers.about import Ability
from tests.cross.backend import Backend, Fresh
from tests.cross.steps import killed, moments
from tests.cross.travel import MINE, THEIRS, contents, start, stopping_deltas
from tests.graphs.building import on
from tests.graphs.kinds import failing
from tests.graphs.lines import asking, chat_graph
from tests.operations.residue import holders, holds, left, pieces

PERSON, HERS = "ada-lovelace-1815", "whose-4711"
WHERE = ["--where", f'user_id == "{PERSON}"']
OTHER: Any = on(THEIRS, user_id="somebody else")
Ckpt = Callable[..., Any]


class Names(NamedTuple):
    """The threads of a person."""

    chat: str
    failed: str
    waiting: str
    copy: str
    alone: str
    earlier: str

    @classmethod
    def of(cls, prefix: str) -> "Names":
        """Threads whose ids begin alike."""
        return cls(*(f"{prefix}: 一/#{name}" for name in cls._fields))


class Forget:
    """`delete --forget` on real threads."""

    @pytest.fixture
    def state(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """Where the operation log is."""
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        return tmp_path / "state"

    def stored(self, backend: Backend) -> bytes:
        """All that the database holds; overridden to look without ckpt, which may not see what it leaves."""
        return repr(contents(backend)).encode()

    @pytest.fixture
    def backend(self, fresh: Fresh) -> Backend:
        """An empty database."""
        return fresh()

    @pytest.fixture
    def ckpt(self, backend: Backend, state: Path, capsys: pytest.CaptureFixture[str]) -> Ckpt:
        """Runs a command that must succeed, and gives its JSON."""

        def go(*words: str) -> Any:
            capsys.readouterr()
            yes = [] if words[0] in ("tag", "threads") else ["--yes"]
            assert run([*words, "-d", backend.url, *yes, "--json"]) == 0, capsys.readouterr().err
            return json.loads(capsys.readouterr().out)

        return go

    def begun(self, official: BaseCheckpointSaver[Any], names: Names) -> None:
        """A person's threads as an application writes them, with the person in metadata and in state; and another's."""
        chat, hers = chat_graph(official), {"user_id": PERSON}
        start(failing(official), names.failed, {"log": [PERSON]}, **hers)
        start(asking(official), names.waiting, {"log": [PERSON]}, **hers)
        for text in ("hello", "the weather?"):
            values = {"messages": [HumanMessage(f"{text} from {PERSON}", id=text)]}
            chat.invoke(values, on(names.chat, **hers))
            chat.invoke({"messages": [HumanMessage(text, id=text)]}, OTHER)

    def test_a_person_is_forgotten(self, backend: Backend, state: Path, ckpt: Ckpt) -> None:
        """Every verb keeps whose a thread is, and `delete --where --any --forget` leaves nothing of a person.

        No row and no byte of the log has their text, metadata or thread ids; others keep all of theirs.

        A thread that was deleted before is in the log alone, where only its id finds it: the plan names it. Free pages
        of the database are out of reach: the plan says so.
        """
        names = Names.of(HERS)
        with backend.official() as official:
            self.begun(official, names)
            before = self.of_others(backend)
            number = str(ckpt("edit", THEIRS, "--set", 'topic="x"', "--reason", "not about her")["operation"])
            changed = self.of_others(backend)
            for words in changes(names):
                ckpt(*words)
            there = {*names} - {names.earlier}
            assert found(ckpt, *WHERE) == there
            planned = ckpt("delete", names.chat, "--forget", "--dry-run")
            assert all(any(name in note for note in planned["notes"]) for name in names[3:])
            with suppress(ValueError):
                chat_graph(official).invoke({"messages": [HumanMessage("and on", id="on")]}, on(names.chat))
            assert found(ckpt, *WHERE) == there - {names.chat}
            sought = self.logged(backend, names)
            for word in (PERSON, HERS):
                assert holders(state, word) and holds(self.stored(backend), word) and left(state, sought)
            planned = ckpt("delete", *WHERE, "--any", "--forget", "--dry-run")
            assert any("deleted before; to forget" in note and names.earlier in note for note in planned["notes"])
            assert any("ckpt can't wipe" in note for note in planned["notes"])
            ckpt("delete", *WHERE, "--any", "--forget")
            assert found(ckpt) == {THEIRS}
            assert not any(holds(self.stored(backend), word) for word in (PERSON, HERS))
            ckpt("delete", names.earlier, "--forget")
            assert not any(holders(state, word) for word in (PERSON, HERS)) and not left(state, sought)
            assert self.of_others(backend) == changed
            ckpt("undo", number)
            assert self.of_others(backend) == before
            chat_graph(official).invoke({"messages": [HumanMessage("bye", id="bye")]}, OTHER)

    def test_killed_at_every_row(self, fresh: Fresh, state: Path) -> None:
        """Killed between two rows of the database it is as before once settled; done, nothing is left."""
        backend = fresh()
        with backend.official() as official:
            for thread_id in (MINE, THEIRS):
                start(stopping_deltas(official), thread_id, {"log": ["x"], "n": 1})
        assert run(["edit", MINE, "--set", "n=7", "-d", backend.url, "--yes"]) == 0
        before, others = contents(backend), self.of_others(backend)
        with closing(backend.saver()) as saver:
            atomic = Ability.ATOMIC in saver.abilities
        for rows in moments(atomic=atomic):
            code = killed(backend, ["delete", MINE, "--forget"], rows)
            if code == 0:
                break
            assert code == -signal.SIGKILL
            assert holders(state, MINE)
            assert run(["operations", "--settle", "-d", backend.url]) == 0
            assert contents(backend) == before
        assert rows > 1
        assert not holders(state, MINE)
        assert contents(backend) != before
        assert self.of_others(backend) == others

    def logged(self, backend: Backend, thread_ids: Collection[str]) -> set[bytes]:
        """Pieces of all that the log holds of some threads."""
        with closing(backend.saver()) as saver, closing(OperationLog(default_path(saver.identity))) as log:
            return pieces(log.path, thread_ids)

    def of_others(self, backend: Backend) -> object:
        """What is there of the thread that stays."""
        with closing(backend.saver()) as saver:
            refs = [row.ref for row in saver.rows(THEIRS)]
            return [*saver.checkpoints(refs)], [*saver.writes(THEIRS)]


def found(ckpt: Ckpt, *words: str) -> set[str]:
    """The threads that `threads` lists."""
    return {thread["thread_id"] for thread in ckpt("threads", *words, "--limit", "0")["threads"]}


def changes(names: Names) -> list[list[str]]:
    """A person's threads changed in every way that there is."""
    chat = names.chat
    return [
        ["tag", chat, "@", PERSON],
        ["fork", chat, "step:1", "--reason", f"for {PERSON}"],
        ["fork", chat, "@", "--to", names.copy],
        ["fork", chat, "@", "--to", names.alone, "--shallow"],
        ["fork", chat, "@", "--to", names.earlier],
        ["delete", names.earlier],
        ["rollback", names.copy, "step:0"],
        ["fork", names.alone, "@", "--metadata", f"name={PERSON}"],
        ["edit", chat, "--set", f'topic="{PERSON}"'],
        ["edit", chat, "--metadata", f"name={PERSON}"],
        [
            "update",
            chat,
            "--values",
            f'{{"topic": "{PERSON}"}}',
            "--as-node",
            "tools",
            "--next",
            "model",
            "--reducer",
            "topic=last",
        ],
        ["update", chat, "--values", f'{{"messages": "{PERSON}"}}', "--as-input"],
        ["resume", names.waiting, "--value", f'"{PERSON}"'],
        ["replay", names.failed, "--commit", "--reducer", "log=append", "--deferred", "join=no"],
        ["tag", names.failed, "@", "here"],
        ["delete", names.copy, "--after", "step:0"],
        ["undo", "--reason", PERSON],
    ]
