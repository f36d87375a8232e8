"""A person is forgotten: after every way to change their threads, nothing of them is in the database or in the log."""

import json
import signal
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage

from ckpt_cli.app import run
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.place import default_path
from tests.cross.backend import Backend, Fresh
from tests.cross.steps import killed
from tests.cross.travel import MINE, THEIRS, contents, start, stopping_deltas
from tests.graphs.building import on
from tests.graphs.kinds import failing
from tests.graphs.lines import asking, chat_graph
from tests.operations.residue import holders, left, pieces

PERSON = "ada-lovelace-1815"
CHAT, FAILED, WAITING, COPY, ALONE, EARLIER = (
    f"{PERSON}: 一/#{name}" for name in ("chat", "failed", "waiting", "copy", "alone", "earlier")
)
_MOST = 200


class Forget:
    """`delete --forget` on real threads."""

    @pytest.fixture
    def state(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """Where the operation log is."""
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        return tmp_path / "state"

    def stored(self, backend: Backend) -> bytes:
        """All that the database holds; overridden where it can be seen without ckpt."""
        return repr(contents(backend)).encode()

    def test_a_person_is_forgotten(self, fresh: Fresh, state: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """No row, no tag and no byte of the log has their text, metadata or thread ids; others keep all of theirs."""
        backend = fresh()
        known = on(THEIRS, user_id="somebody else")

        def ckpt(*words: str, code: int = 0) -> str:
            capsys.readouterr()
            yes = [] if words[0] == "tag" else ["--yes"]
            assert run([*words, "-d", backend.url, *yes, "--json"]) == code, capsys.readouterr().err
            return capsys.readouterr().out

        with backend.official() as official:
            chat = chat_graph(official)
            start(failing(official), FAILED, {"log": [PERSON]})
            start(asking(official), WAITING, {"log": [PERSON]})
            for thread_id in (CHAT, THEIRS):
                for text in ("hello", "the weather?"):
                    said = f"{text} from {PERSON}" if thread_id == CHAT else text
                    config = on(CHAT, user_id=PERSON) if thread_id == CHAT else known
                    chat.invoke({"messages": [HumanMessage(said, id=text)]}, config)
            before = self.of_others(backend)
            ckpt("edit", THEIRS, "--set", 'topic="x"', "--reason", "not about her")
            changed = self.of_others(backend)
            every_verb(ckpt)
            with closing(OperationLog(default_path(self.identity(backend)))) as log:
                sought = pieces(log.path, [PERSON])
            planned = json.loads(ckpt("delete", CHAT, "--forget", "--dry-run"))
            assert all(any(name in note for note in planned["notes"]) for name in (COPY, ALONE, EARLIER))
            assert holders(state, PERSON) and PERSON.encode() in self.stored(backend) and left(state, sought)
            ckpt("delete", CHAT, FAILED, WAITING, COPY, ALONE, EARLIER, "--forget")
            assert not holders(state, PERSON) and not left(state, sought)
            assert PERSON.encode() not in self.stored(backend)
            assert self.of_others(backend) == changed
            ckpt("undo", "1")
            assert self.of_others(backend) == before
            chat.invoke({"messages": [HumanMessage("bye", id="bye")]}, known)

    def test_killed_at_every_row(self, fresh: Fresh, state: Path) -> None:
        """Killed between two rows of the database it is as before once settled; done, nothing is left."""
        backend = fresh()
        with backend.official() as official:
            for thread_id in (MINE, THEIRS):
                start(stopping_deltas(official), thread_id, {"log": ["x"], "n": 1})
        assert run(["edit", MINE, "--set", "n=7", "-d", backend.url, "--yes"]) == 0
        before, others = contents(backend), self.of_others(backend)
        for rows in range(_MOST):
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

    def identity(self, backend: Backend) -> str:
        with closing(backend.saver()) as saver:
            return saver.identity

    def of_others(self, backend: Backend) -> object:
        """What is there of the thread that stays."""
        with closing(backend.saver()) as saver:
            refs = [row.ref for row in saver.rows(THEIRS)]
            return [*saver.checkpoints(refs)], [*saver.writes(THEIRS)]


def every_verb(ckpt: Callable[..., str]) -> None:
    """Change the person's threads in every way that there is."""
    ckpt("tag", CHAT, "@", PERSON)
    ckpt("fork", CHAT, "step:1", "--reason", f"for {PERSON}")
    ckpt("fork", CHAT, "@", "--to", COPY)
    ckpt("fork", CHAT, "@", "--to", ALONE, "--shallow")
    ckpt("fork", CHAT, "@", "--to", EARLIER)
    ckpt("delete", EARLIER)
    ckpt("rollback", COPY, "step:0")
    ckpt("edit", CHAT, "--set", f'topic="{PERSON}"')
    ckpt("update", CHAT, "--values", f'{{"topic": "{PERSON}"}}', "--as-node", "tools", "--next", "model")
    ckpt("resume", WAITING, "--value", f'"{PERSON}"')
    ckpt("replay", FAILED, "--commit", "--reducer", "log=append")
    ckpt("tag", FAILED, "@", "here")
    ckpt("delete", COPY, "--after", "step:0")
    ckpt("undo", "--reason", PERSON)
