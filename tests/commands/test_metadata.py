"""``--metadata`` and ``--any`` as typed: what they change, what they refuse, and what they say."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ckpt_cli.app import run
from ckpt_cli.errors import UsageError
from ckpt_cli.history.state.filters import Filter
from ckpt_cli.parameters.metadata_option import metadata_changes

Demo = Callable[..., str]


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Demo:
    """Runs a command on a demo database of its own, and gives what it printed."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = tmp_path / "demo.sqlite"
    assert run(["demo", str(path)]) == 0

    def asked(*words: str, code: int = 0) -> str:
        capsys.readouterr()
        found = run([*words, "-d", str(path)])
        out, err = capsys.readouterr()
        assert found == code, err
        return out + err

    return asked


def test_the_last_word_on_a_key_counts() -> None:
    """Text as it is, JSON scalars, and keys that go; a text may have more signs of equality."""
    changes = metadata_changes(
        ["a=1", "b:=2", "c=x=y", "d=1", "d=", "e=", "e:=true", 'f:=""', 'g:="x\\u0000y"', "h:i=1"]
    )
    assert changes.values == {"a": "1", "b": 2, "c": "x=y", "e": True, "f": "", "g": "xy", "h:i": "1"}
    assert changes.dropped == {"d"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        *((f"{key}=x", "LangGraph writes it itself") for key in ("source", "step", "parents", "thread_id", "run_id")),
        *((f"{key}:=1", "LangGraph writes it itself") for key in ("langgraph_node", "__pregel", "checkpoint_map")),
        ("x", "names no key and value"),
        ("=x", "names no key and value"),
        (":=1", "names no key and value"),
        ("x:=[1]", "is a list"),
        ('x:={"a": 1}', "is an object"),
        ("x:=null", "is null"),
        ("x:=nope", "is no JSON"),
        ("x:=NaN", "has no NaN"),
        ("x=\udcff", "not UTF-8"),
    ],
)
def test_what_metadata_cannot_be(text: str, words: str) -> None:
    """LangGraph's own keys, and values that LangGraph would not take from a config, are usage errors."""
    with pytest.raises(UsageError, match=words):
        metadata_changes([text])


def test_metadata_alone_is_an_edit(demo: Demo) -> None:
    """The state stays as it is; what makes no difference makes no checkpoint."""
    before = demo("get", "support-42", "messages")
    plan = json.loads(demo("edit", "support-42", "--metadata", "user_id=u-7", "--metadata", "x=", "--yes", "--json"))
    assert plan["summary"].startswith("metadata of ")
    assert plan["notes"][-2:] == ["metadata set: user_id", "there was no metadata x to drop"]
    assert json.loads(demo("show", "support-42", "--query", "metadata.user_id")) == "u-7"
    assert demo("get", "support-42", "messages") == before
    assert "changes nothing" in demo("edit", "support-42", "--metadata", "user_id=u-7", "--yes")
    assert "edit --metadata" in demo("update", "support-42", "--metadata", "user_id=u-8", code=2)
    assert "--commit" in demo("replay", "support-42", "--metadata", "user_id=u-8", code=2)


def test_an_answered_thread_is_found(demo: Demo) -> None:
    """A recorded answer is a write on the head, which stays as it is."""
    demo("resume", "support-42", "--value", "true", "--yes")
    words = ["--where", "user_id == 'u-112'", "--query", "threads[].thread_id"]
    assert "support-42" in demo("threads", *words)


def test_a_thread_of_its_own_is_changed_in_every_checkpoint(demo: Demo) -> None:
    """Nothing of the copy is found as the old person's, and the original still is."""
    demo("fork", "support-42", "@", "--to", "new", "--metadata", "user_id=me", "--yes")
    for user, threads in (("u-112", ["support-42"]), ("me", ["new"])):
        words = ["--where", f"user_id == '{user}'", "--any", "--query", "threads[].thread_id"]
        assert json.loads(demo("threads", *words)) == threads


def test_heads_and_every_checkpoint(demo: Demo) -> None:
    """If metadata decided, stderr says that only heads were tested; names only a head has are refused with --any."""
    assert "heads only; --any" in demo("threads", "--where", "user_id == 'u-112'")
    assert "heads only" not in demo("threads", "--where", "len(messages) > 3")
    assert "no checkpoint's metadata has 'route'" in demo("threads", "--where", "route == 'refund'", "--any")
    assert "which has no 'status'" in demo("threads", "--where", "status == 'done'", "--any", code=2)
    assert "fails on every checkpoint's metadata" in demo("delete", "--where", "step > 'a'", "--any", "--yes", code=2)
    for verb in ("threads", "delete"):
        assert "--any belongs to --where" in demo(verb, "--any", code=2)


@pytest.mark.parametrize(
    ("expression", "equality", "names"),
    [
        ('user_id == "u-1"', ("user_id", "u-1"), {"user_id"}),
        ('"u-1" == user_id', ("user_id", "u-1"), {"user_id"}),
        ("step == 5", None, {"step"}),
        ('a == "x" == b', None, {"a", "b"}),
        ('user_id != "u-1"', None, {"user_id"}),
        ('metadata == "x"', None, {"metadata"}),
        ('any(m == "x" for m in tags) and len(log) > 1', None, {"tags", "log"}),
    ],
)
def test_what_a_database_can_look_for(expression: str, equality: tuple[str, str] | None, names: set[str]) -> None:
    """One key that equals one text, and nothing else; names are neither functions nor bound by the expression."""
    where = Filter(expression)
    assert (where.equality, where.names) == (equality, names)
