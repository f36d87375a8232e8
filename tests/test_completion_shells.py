"""Nothing out of a database is run at TAB or Enter: real shells, hostile words, and what the command is given."""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from typing_extensions import TypedDict

from tests.hostile import TABLES
from tests.shells import SHELLS, Terminal, terminal

WORDS = (
    *("zz\\$(touch PWN)", "zz;touch PWN", "yy$(touch PWN)", "`touch PWN`", "zz`touch PWN`", "$(touch PWN)", "$((PWN))"),
    *(
        "a b",
        " ",
        " a",
        "it's",
        "'",
        "''",
        '"',
        '"$(touch PWN)"',
        "';touch PWN;'",
        '";touch PWN;"',
        "\\",
        "a\\",
        "\\\\",
    ),
    *(
        "|touch PWN",
        "&touch PWN&",
        ">PWN",
        "<(touch PWN)",
        "=(touch PWN)",
        "*",
        "?",
        "[x]",
        "[!a]*",
        "{a,b}",
        "(touch PWN)",
    ),
    *(
        "!!",
        "!touch",
        "~",
        "~root",
        "=ls",
        "a=~root",
        "PWN=1",
        "#",
        "# x",
        "^a^b",
        "%s",
        "%1",
        ":",
        "a:b;c",
        "--yes",
        "-rf",
    ),
    *(
        "$'touch PWN'",
        "$IFS",
        "${HOME}",
        "$(touch${IFS}PWN)",
        "\ntouch PWN\n",
        "a\ttouch PWN",
        "\x1b[2J",
        "\x7f",
        "\x03",
    ),
    *("\u202etouch", "\u200b", "é日本", "é;touch PWN", "\u00a0", "a\x00b", "plain", "user:42", "a,b@c+d/e.f%g"),
)
"""Thread ids, each alone in a database, which its number names."""


class Shop:
    """A folder with a ``ckpt`` that completes as ckpt does and otherwise notes what it was given."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._given = folder / "given"
        programs = folder / "bin"
        programs.mkdir()
        program = programs / "ckpt"
        program.write_text(
            f'#!/bin/sh\nif [ -n "$_CKPT_COMPLETE" ]; then\n'
            f'[ -f "{folder}/$_CKPT_LINE" ] && exec cat "{folder}/$_CKPT_LINE"\n'
            f'exec "{sys.executable}" "{folder}/patient.py" "$@"\nfi\n'
            f'for word in "$@"; do printf "%s\\0" "$word"; done >"{folder}/part"; mv "{folder}/part" "{self._given}"\n'
        )
        program.chmod(0o755)
        (folder / "patient.py").write_text(
            "from ckpt_cli.app import main\nfrom ckpt_cli.completion import names\n"
            "names._BUDGET = 60  # not the machine's load is tried here\nmain()\n"
        )
        path = f"{programs}:{os.environ['PATH']}"
        self.env = {**os.environ, "PATH": path, "PYTHONPATH": str(Path(__file__).parent.parent), "LC_ALL": "C.UTF-8"}

    def script(self, shell: str, *, old: bool = False) -> Path:
        """The completion script of a shell; an old one is Typer's, as ckpt gave it out before."""
        if old:
            from typer import _completion_shared as own

            name = f"COMPLETION_SCRIPT_{shell.upper()}"
            names = {"complete_func": "_ckpt_completion", "prog_name": "ckpt", "autocomplete_var": "_CKPT_COMPLETE"}
            text = (getattr(own, name) % names).strip()
        else:
            env = {**self.env, "_CKPT_COMPLETE": f"source_{shell}"}
            text = subprocess.run(["ckpt"], env=env, capture_output=True, text=True, check=True).stdout
        script = self.folder / "script"
        script.write_text(text + "\n")
        return script

    def given(self, shown: Terminal, line: str) -> list[str]:
        """The words that the command gets when a line with TABs in it is typed and sent off."""
        self._given.unlink(missing_ok=True)
        shown.type(f"{line}\n")
        shown.wait_for_file(self._given)
        shown.wait_for_prompt()
        return os.fsdecode(self._given.read_bytes()).split("\0")[:-1]

    def prepare(self, shell: str, lines: Sequence[str]) -> None:
        """Have ckpt answer these lines now, in one process: a start at each TAB takes most of its time."""
        asked = {"_CKPT_COMPLETE": f"offer_{shell}", "_CKPT_PIECE": "", "LC_ALL": "C.UTF-8"}
        program = (
            "import json, pathlib, sys, typer\n"
            "from ckpt_cli.app import app\n"
            "from ckpt_cli.completion import names, words\n"
            "names._BUDGET = 60\n"
            "asked, lines = json.loads(sys.argv[1])\n"
            "for line in lines:\n"
            "    text = words.answer(typer.main.get_command(app), {**asked, '_CKPT_LINE': line})\n"
            "    pathlib.Path(line).write_text(text + '\\n')\n"
        )
        command = [sys.executable, "-c", program, json.dumps([asked, lines])]
        subprocess.run(command, cwd=self.folder, env=self.env, check=True)

    def unharmed(self) -> None:
        """Nothing was run that a word says."""
        assert not [path for path in self.folder.rglob("*PWN*") if not path.name.endswith(".sqlite")]


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def threads(path: Path, ids: Sequence[str]) -> None:
    """A database with threads of these ids."""
    db = sqlite3.connect(path)
    db.executescript(TABLES)
    rows = [(thread_id, f"1f1e5786-50cb-6000-bfff-{at:012}") for at, thread_id in enumerate(ids)]
    db.executemany("INSERT INTO checkpoints VALUES (?, '', ?, NULL, 'json', '{}', '{}')", rows)
    db.commit()
    db.close()


@pytest.mark.parametrize("shell", SHELLS)
def test_a_word_is_one_plain_word_or_not_offered(shell: str, shop: Shop, pytestconfig: pytest.Config) -> None:
    """After TAB and Enter the command has exactly the thread id as one word, or no such word; nothing else was run."""
    lines = [f"ckpt show -d {at}.sqlite " for at in range(len(WORDS))]
    for at, word in enumerate(WORDS):
        threads(shop.folder / f"{at}.sqlite", [word])
    script = shop.script(shell)
    shop.prepare(shell, lines)
    with terminal(shell, script, shop.folder, shop.env, pytestconfig) as shown:
        given = {word: shop.given(shown, line + "\t") for word, line in zip(WORDS, lines, strict=True)}
    assert [words[:3] for words in given.values()] == [line.split()[1:] for line in lines]
    offered = {word for word, words in given.items() if words[3:] == [word]}
    assert {word: words for word, words in given.items() if word not in offered and len(words) > 3} == {}
    shop.unharmed()
    typed = {word for word in WORDS if word.isprintable() and not word.startswith("-")}
    if shell == "fish":
        assert offered == {word for word in typed if not word.startswith("~")}
    else:
        assert offered == {word for word in typed if not set(word) & set("`\\")}


@pytest.mark.parametrize("shell", SHELLS)
def test_half_typed_and_quoted_words(shell: str, shop: Shop, pytestconfig: pytest.Config) -> None:
    """A word is completed where it is half typed, quoted or not, and several are listed; each stays one word."""
    ids = ["ab;touch PWN", "cd$(touch PWN)x", "ef g;h", "ef g;i", "user:7;touch PWN", "it's;touch PWN", 'say "x"!!']
    threads(shop.folder / "t.sqlite", ids)
    env = {**shop.env, "CKPT_DB": "t.sqlite"}
    lines = {
        "ckpt show ab\t": ids[0],
        "ckpt show ab\\;to\t": ids[0],
        "ckpt show 'ab;\t": ids[0],
        'ckpt show "ab;\t': ids[0],
        'ckpt show "cd\t': ids[1],
        "ckpt show 'cd\t": ids[1],
        "ckpt show ef\ti\t": ids[3],
        "ckpt show 'ef\th\t": ids[2],
        "ckpt show user:\t": ids[4],
        "ckpt show 'user:7\t": ids[4],
        "ckpt show it\\'\t": ids[5],
        "ckpt show sa\t": ids[6],
    }
    with terminal(shell, shop.script(shell), shop.folder, env, pytestconfig) as shown:
        given = {line: shop.given(shown, line) for line in lines}
    shop.unharmed()
    assert given == {line: ["show", word] for line, word in lines.items()}


@pytest.mark.parametrize("shell", SHELLS)
def test_quotes_that_cannot_be_completed_stay_harmless(shell: str, shop: Shop, pytestconfig: pytest.Config) -> None:
    """A word inside odd quotes may not be completed; in any case nothing is run."""
    ids = ["it's;touch PWN;'", 'it"s;touch PWN;"', "it!touch;touch PWN", "it$(touch PWN)"]
    threads(shop.folder / "t.sqlite", ids)
    env = {**shop.env, "CKPT_DB": "t.sqlite"}
    starts = [
        "'it",
        '"it',
        "$'it",
        '$"it',
        "'i't",
        'i"t',
        "--key-env=it",
        "'it'",
        "`ckpt show it",
        '"$(ckpt show it',
        "it\\",
    ]
    with terminal(shell, shop.script(shell), shop.folder, env, pytestconfig) as shown:
        for start in starts:
            shown.type(f"ckpt show {start}\t\n")
            shown.wait_for_prompt()
    shop.unharmed()


CHANNEL, NODE, NAMED = "zz;touch PWN", "nn$(touch PWN)", "db;touch PWN"


def agent(path: Path) -> str:
    """Makes a thread with a channel, node and namespace that a shell could run; gives the namespace."""
    state = TypedDict("state", {CHANNEL: str})  # type: ignore[misc]  # mypy reads names only where they are written

    def ask(_: Any) -> dict[str, str]:
        return {CHANNEL: interrupt("which?")}

    inner = StateGraph(state).add_node(NODE, ask).add_edge(START, NODE).compile()
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = StateGraph(state).add_node(NODE, inner).add_edge(START, NODE).compile(checkpointer=saver)
        config: Any = {"configurable": {"thread_id": "t"}}
        graph.invoke({CHANNEL: "x"}, config)
        [task] = graph.get_state(config, subgraphs=True).tasks
        return str(task.state.config["configurable"]["checkpoint_ns"])  # type: ignore[union-attr,index]


@pytest.mark.parametrize("shell", SHELLS)
def test_every_kind_of_word(shell: str, shop: Shop, pytestconfig: pytest.Config) -> None:
    """Channels, namespaces, names of the config file, and node names beside an interrupt are text as thread ids are."""
    namespace = agent(shop.folder / "agent.sqlite")
    config = Path(os.environ["XDG_CONFIG_HOME"]) / "ckpt" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f"[databases]\n'{NAMED}' = 'agent.sqlite'\n")
    env = {**shop.env, "CKPT_DB": "agent.sqlite"}
    with terminal(shell, shop.script(shell), shop.folder, env, pytestconfig) as shown:
        assert shop.given(shown, "ckpt show t --channel zz\t") == ["show", "t", "--channel", CHANNEL]
        assert shop.given(shown, "ckpt show t --channel=zz\t") == ["show", "t", f"--channel={CHANNEL}"]
        assert shop.given(shown, "ckpt show t --ns \t") == ["show", "t", "--ns", namespace]
        assert shop.given(shown, "ckpt show -d db\t") == ["show", "-d", NAMED]
        *words, asked = shop.given(shown, "ckpt resume t --interrupt \t")
        assert (words, len(asked)) == (["resume", "t", "--interrupt"], 32)
    shop.unharmed()


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_from_before_runs_nothing(shell: str, shop: Shop, pytestconfig: pytest.Config) -> None:
    """Typer's script, which evaluates what it gets, is given plain words alone."""
    threads(shop.folder / "t.sqlite", [word for word in WORDS if "\0" not in word])
    env = {**shop.env, "CKPT_DB": "t.sqlite"}
    with terminal(shell, shop.script(shell, old=True), shop.folder, env, pytestconfig) as shown:
        for start in ("zz", "yy", "pl", "\\$", "\\;", ""):
            shown.type(f"ckpt show {start}\t\t\n\x03")
            shown.wait_for_prompt()
        assert shop.given(shown, "ckpt show pl\t") == ["show", "plain"]
    shop.unharmed()
