"""TAB completes names of the database in every shell, quickly, and silently fails."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.shells import SHELLS

Database = Callable[[str], Path]


def complete(shell: str, line: str, **env: str) -> list[str]:
    """What ckpt answers a shell that asks for the last word of a line."""
    piece = line.rpartition(" ")[2]
    surroundings = {**os.environ, "_CKPT_LINE": line, "_CKPT_PIECE": piece, "_CKPT_COMPLETE": f"offer_{shell}", **env}
    done = subprocess.run(
        [sys.executable, "-m", "ckpt_cli"], capture_output=True, encoding="utf-8", env=surroundings, check=True
    )
    assert done.stderr == ""
    return [line for line in done.stdout.splitlines() if line]


def test_verbs_and_options() -> None:
    """Verbs come from the table, options from the verb."""
    assert complete("bash", "ckpt t") == ["threads", "tree", "trace", "tag"]
    assert complete("bash", "ckpt show --rev") == ["--reveal"]


def test_threads(database: Database) -> None:
    """Thread ids come from the database that the line names, or ``$CKPT_DB``."""
    path = str(database("js"))
    expected = ["js-sub", "js-error", "js-send", "js-resumed", "js-interrupt", "js-chat"]
    assert complete("bash", f"ckpt show -d {path} ") == expected
    assert complete("bash", "ckpt show js-se", CKPT_DB=path) == ["js-send"]
    assert complete("fish", "ckpt show js-se", CKPT_DB=path) == ["js-send"]
    assert complete("zsh", "ckpt show js-se", CKPT_DB=path) == ["js-send"]


def test_revisions_say_what_they_are(database: Database) -> None:
    """Revisions of the thread on the line: the head, branches, short ids with their step."""
    offered = complete("fish", "ckpt show js-chat ", CKPT_DB=str(database("js")))
    assert offered[0] == "@\tthe head"
    assert "branch:1\tthe tip of a branch" in offered
    steps = [line.partition("\t")[2].partition(",")[0] for line in offered[1:]]
    assert {"step -1", "step 0", "step 1"} <= set(steps)


def test_channels_the_users_own_first(database: Database) -> None:
    """Channels of the thread on the line, LangGraph's control channels last."""
    offered = complete("bash", "ckpt show js-chat --channel ", CKPT_DB=str(database("js")))
    assert offered == ["any", "messages", "n", "__start__", "branch:to:bot", "branch:to:count"]


def test_paths_begin_with_the_users_channels(database: Database) -> None:
    """Nobody gets the graph's own affairs by path."""
    assert complete("bash", "ckpt get js-chat ", CKPT_DB=str(database("js"))) == ["any", "messages", "n"]


def test_the_node_of_an_update(database: Database) -> None:
    """The nodes that ran in the thread on the line, and the start last."""
    offered = complete("bash", "ckpt update js-chat --as-node ", CKPT_DB=str(database("js")))
    assert offered == ["bot", "count", "__start__"]


def test_sources() -> None:
    """They are words of LangGraph's, the same in every database."""
    assert complete("bash", "ckpt log t --source ") == ["input", "loop", "update", "fork"]
    assert complete("bash", "ckpt log t --source f") == ["fork"]


def test_namespaces(database: Database) -> None:
    """Namespaces of the thread on the line, without the root."""
    offered = complete("bash", "ckpt show js-sub --ns ", CKPT_DB=str(database("js")))
    assert offered == ["sub:bd9343c7-9fab-5e60-93cf-03658cc026a4"]


def test_names_of_the_config_file() -> None:
    """``--db`` offers what the config file names; otherwise the shell falls back on files."""
    config = Path(os.environ["XDG_CONFIG_HOME"]) / "ckpt" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[databases]\nprod = "prod.sqlite"\npreview = "p.sqlite"\n')
    assert complete("bash", "ckpt info --db pr") == ["preview", "prod"]
    assert complete("bash", "ckpt info --db x") == []


@pytest.mark.parametrize("line", ["ckpt show ", "ckpt show x ", "ckpt show x --ns ", "ckpt show x --channel "])
def test_silent_when_it_cannot_tell(line: str, tmp_path: Path) -> None:
    """A database that isn't there, or is none, offers nothing and says nothing."""
    assert complete("bash", line, CKPT_DB=str(tmp_path / "no-such.db")) == []
    (tmp_path / "text.db").write_text("no database" * 1000)
    assert complete("bash", line, CKPT_DB=str(tmp_path / "text.db")) == []


def shim(folder: Path) -> dict[str, str]:
    """A folder with a ``ckpt`` to run, first in the path."""
    folder.mkdir()
    (folder / "ckpt").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ckpt_cli "$@"\n')
    (folder / "ckpt").chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(Path(__file__).parent.parent)}


def answered(env: dict[str, str], script: Path, line: str, piece: str) -> list[str]:
    """What a real bash takes for the last piece of a line, which it has cut at its word breaks."""
    asked = (
        f"source {script}; COMP_LINE='{line}'; COMP_POINT={len(line)}; "
        f'"$(complete -p ckpt | sed "s/.*-F \\([^ ]*\\).*/\\1/")" ckpt \'{piece}\'; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    done = subprocess.run(["bash", "--norc", "-c", asked], env=env, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_bash_itself_completes(tmp_path: Path, database: Database) -> None:
    """The installed script works in a real bash, also inside words that bash cuts: it puts the rest behind the cut."""
    env = shim(tmp_path / "bin")
    forced = {**env, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    installed = subprocess.run(
        ["ckpt", "--install-completion", "bash"], env=forced, capture_output=True, text=True, check=True
    )
    script = Path(os.environ["HOME"]) / ".bash_completions" / "ckpt.sh"
    assert str(script) in installed.stdout
    env["CKPT_DB"] = str(database("js"))
    assert answered(env, script, "ckpt show js-er", "js-er") == ["js-error"]
    assert answered(env, script, "ckpt show js-chat bran", "bran") == ["branch:1", "branch:2"]
    assert answered(env, script, "ckpt show js-chat branch:", "") == ["1", "2"]
    assert answered(env, script, "ckpt diff js-chat branch:1 branch:2", "2") == ["2"]
    assert answered(env, script, "ckpt log js-chat --channel=mes", "mes") == ["messages"]
    rest = ["bd9343c7-9fab-5e60-93cf-03658cc026a4"]
    assert answered(env, script, "ckpt show js-sub --ns sub:bd", "bd") == rest


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("how", ["--show-completion", "source"])
def test_the_script_can_be_shown(shell: str, how: str, tmp_path: Path) -> None:
    """``--show-completion``, or the variable that a start-up file may use, gives the script of ckpt's own."""
    env = {**shim(tmp_path / "bin"), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    words = ["ckpt", how, shell]
    if how == "source":
        words, env = ["ckpt"], {**env, "_CKPT_COMPLETE": f"source_{shell}"}
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=True)
    assert f"_CKPT_COMPLETE=offer_{shell}" in done.stdout
    assert "eval" not in done.stdout.replace("zsh_eval_context", "")


def test_the_version_is_not_printed_into_completions() -> None:
    """An option that answers by itself says nothing to a shell that asks."""
    assert complete("bash", "ckpt --version t") == ["threads", "tree", "trace", "tag"]
