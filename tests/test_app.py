"""The command line as a whole: verbs, options of every verb, errors and their exit codes."""

import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from ckpt_cli import installing
from ckpt_cli.app import VERBS, run
from ckpt_cli.installing import install_extra
from ckpt_cli.output.talk import OTHER_OPTIONS
from ckpt_cli.savers import registry
from ckpt_cli.savers.kinds import KINDS
from ckpt_cli.typer_commands import readable
from ckpt_cli.unknown_verb import OTHER_WORDS

ROOT = Path(__file__).parent.parent
Database = Callable[[str], Path]
Done = subprocess.CompletedProcess[str]


def ckpt(*words: str, cwd: Path | None = None, **env: str) -> Done:
    """Run ``python -m ckpt_cli`` with its streams piped."""
    command = [sys.executable, "-m", "ckpt_cli", *words]
    return subprocess.run(
        command, capture_output=True, encoding="utf-8", cwd=cwd, env={**os.environ, **env}, check=False
    )


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each verb has a help with examples that name it, and says which database and output options it takes."""
    assert run([verb, "-h"]) == 0
    said = capsys.readouterr().out
    assert "Examples" in said
    assert f"ckpt {verb}" in said.split("Examples")[1]
    assert "--json" in said and "--query" in said
    assert ("--db" in said) is VERBS[verb].reads


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    """``--version`` is one line with the package's own version."""
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == "ckpt 0.1.0\n"


def test_alone_it_shows_the_verbs_and_the_database(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a verb every verb is named, and the database that would be read."""
    path = database("js")
    out = ckpt(cwd=path.parent).stdout
    assert all(f"  {verb} " in out for verb in VERBS)
    assert f"Database: {path.name}" in out or f"Database: ./{path.name}" in out


def test_words_of_other_tools_name_verbs() -> None:
    """Each word leads to a command line that exists; no word is itself a verb, and none leads to more than two."""
    words = Counter(word for words in OTHER_WORDS.values() for word in words.split())
    assert not VERBS.keys() & words.keys()
    assert max(words.values()) == 2
    assert {line.split()[0] for line in OTHER_WORDS} - {"--help", "--version"} == VERBS.keys()


def test_alone_where_there_is_no_database(tmp_path: Path) -> None:
    """Without a database the overview says so and how to get one; that is no error."""
    done = ckpt(cwd=tmp_path)
    assert "ckpt demo" in done.stdout
    assert all(kind.label in done.stdout and kind.example in done.stdout for kind in KINDS)
    assert (done.returncode, done.stderr) == (0, "")
    refused = ckpt("threads", cwd=tmp_path)
    assert (refused.returncode, "`ckpt` alone shows how, for each kind" in refused.stderr) == (2, True)
    unreachable = ckpt(cwd=tmp_path, CKPT_DB="no-such.sqlite").stdout
    assert "no-such.sqlite" in unreachable and KINDS[0].example not in unreachable


def test_every_extra_has_its_exact_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line installs the packages that the extra declares, into the Python that runs ckpt, with pip or without."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = {backend.extra for backend in registry.SCHEMES.values()} | {"aes", "bundle", "langgraph", "schema"}
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    for has_pip, words in (
        (True, [sys.executable, "-m", "pip", "install"]),
        (False, ["uv", "pip", "install", "--python", sys.executable]),
    ):
        monkeypatch.setattr(installing, "is_installed", lambda *_, has_pip=has_pip: has_pip)
        for extra in named:
            without_markers = [requirement.partition(";")[0] for requirement in extras[extra]]
            assert shlex.split(install_extra(extra)) == [*words, *without_markers]
    monkeypatch.setattr(installing, "is_installed", lambda *_: True)
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    assert shlex.split(install_extra("aes"))[:2] == ["pip", "install"]


def test_a_kind_whose_driver_is_missing_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only where no database was named."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CKPT_DB", raising=False)
    monkeypatch.setitem(registry.SCHEMES, "mongodb", registry.Backend("mongodb", "mongodb", ("no_such_driver",)))
    assert run([]) == 0
    lines = capsys.readouterr().out.splitlines()
    [place] = [number for number, line in enumerate(lines) if "mongodb://" in line]
    assert lines[place + 1].strip() == install_extra("mongodb")


@pytest.mark.parametrize(("path", "option"), OTHER_OPTIONS)
def test_options_of_other_verbs(path: str, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A verb names what it has instead of an option of another verb; each option that the hint names is there."""
    hint = OTHER_OPTIONS[path, option]
    assert run([path.removeprefix("ckpt "), "t", option, "1"]) == 2
    assert capsys.readouterr().err == f"ckpt: no such option: {option}\nhint: {hint}\n"
    elsewhere = dict(re.findall(r"`ckpt (\w+)( --[a-z-]+)?", hint))
    for verb, named in [
        *elsewhere.items(),
        *((path.removeprefix("ckpt "), one) for one in re.findall(r"^--[a-z-]+", hint)),
    ]:
        assert run([verb, "-h"]) == 0
        assert re.search(rf"{named.strip()}\b", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["thread"], 2, "hint: did you mean 'threads', 'tree'?"),
        (["xyzzy"], 2, "ckpt: no such command 'xyzzy'"),
        (["xyzzy"], 2, "hint: ckpt --help"),
        (["lgo"], 2, "hint: did you mean 'log'?"),
        (["ls"], 2, "hint: `ckpt threads`: list threads: what each was about, its status, which ones wait for you"),
        (["history", "a-thread"], 2, "hint: `ckpt log`: list the checkpoints of a thread"),
        (["histroy"], 2, "hint: `ckpt log`: list the checkpoints of a thread"),
        (
            ["checkout"],
            2,
            "start a new branch or a new thread from any checkpoint; `ckpt rollback`: make an",
        ),
        (["revert"], 2, "; `ckpt undo`: take back what ckpt did to this database"),
        (
            ["status"],
            2,
            "which ones wait for you; `ckpt info`: describe this database",
        ),
        (["waiting"], 2, "hint: `ckpt threads --status waiting`"),
        (["help"], 2, "hint: `ckpt --help`"),
        (["--db", "x", "threads"], 2, "hint: options come after the command: ckpt COMMAND --db …"),
        (["info", "--jsn"], 2, "hint: did you mean --json?"),
        (["info", "extra"], 2, "hint: ckpt info --help"),
        (["info", "--color", "pink"], 2, "'pink' is not"),
        (["info", "--jsonl"], 2, "no such option: --jsonl"),
        (["threads", "-d", "{db}", "--json", "--jsonl"], 2, "--json prints one answer, --jsonl one object per line"),
        (["info", "-d", "{db}", "--query", "a["], 2, "--query 'a['"),
        (["info", "-d", "no-such.db"], 3, "no-such.db"),
        (["info", "-d", "{text}"], 3, "{text}"),
        (["show", "-d", "{db}", "no such thread"], 4, "no thread 'no such thread'"),
        (["info", "-d", "oracle://localhost"], 2, "unknown kind of database"),
        (["info", "-d", "{db}", "--key-env", "NO_SUCH_KEY"], 2, "NO_SUCH_KEY"),
    ],
)
def test_exit_codes(
    words: list[str], code: int, said: str, database: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error is on stderr, nothing is on stdout, and the exit code is that of the table."""
    text = tmp_path / "notes.txt"
    text.write_text("not a database\n" * 100)
    names = {"db": str(database("js")), "text": str(text)}
    assert run([word.format(**names) for word in words]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert said.format(**names) in err
    assert err.startswith('{"error": {"code": ' if {"--json", "--jsonl", "--query"} & {*words} else "ckpt: ")
    assert "Traceback" not in err


@pytest.mark.parametrize("way", [["--json"], ["--jsonl"], ["--query", "x"], ["--query=x"]])
@pytest.mark.parametrize(
    ("words", "code", "kind"),
    [
        (["threads", "--no-such"], 2, "usage-error"),
        (["threads", "-d", "no-such.db"], 3, "database-unreachable"),
        (["log", "no such thread", "-d", "{db}"], 4, "thread-not-found"),
        (["log", "{thread}", "ffffffff", "-d", "{db}"], 4, "checkpoint-not-found"),
        (["threads", "--where", "1 +", "-d", "{db}"], 2, "usage-error"),
    ],
)
def test_errors_are_json_for_a_script(
    words: list[str], code: int, kind: str, way: list[str], database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line on stderr: the exit code, a stable word, the message, the hint, the candidates; stdout is empty."""
    db = str(database("js"))
    assert run(["threads", "-d", db, "--jsonl"]) == 0
    thread = json.loads(capsys.readouterr().out.splitlines()[0])["thread_id"]
    assert run([*(word.format(db=db, thread=thread) for word in words), *way]) == code
    out, err = capsys.readouterr()
    error = json.loads(err)["error"]
    assert out == "" and err.count("\n") == 1
    assert error.keys() == {"code", "kind", "message", "hint", "candidates"}
    assert (error["code"], error["kind"]) == (code, kind)
    assert error["message"] and isinstance(error["candidates"], list)


def test_the_database_may_come_from_the_environment(database: Database) -> None:
    """``$CKPT_DB`` names the database, unless ``--db`` does."""
    path, other = database("js"), database("old/sqlite-v02")
    assert json.loads(ckpt("info", "--query", "location", CKPT_DB=str(path)).stdout) == str(path)
    words = ("info", "--db", str(other), "--query", "location")
    assert json.loads(ckpt(*words, CKPT_DB=str(path)).stdout) == str(other)


def test_an_empty_name_is_no_database(database: Database) -> None:
    """An empty ``--db`` is a slip, whatever else names a database; an empty ``$CKPT_DB`` is none at all."""
    path = database("real")
    wrong = ckpt("threads", "--db", "", cwd=path.parent, CKPT_DB=str(path))
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "--db is empty" in wrong.stderr
    assert ckpt("threads", cwd=path.parent, CKPT_DB="").stdout == ckpt("threads", "--db", str(path)).stdout
    assert path.name in ckpt(cwd=path.parent, CKPT_DB="").stdout


def test_output_is_data(database: Database, capsys: pytest.CaptureFixture[str]) -> None:
    """``--json`` gives one JSON document on stdout and nothing else anywhere."""
    assert run(["info", "-d", str(database("js")), "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["threads"] == 6
    assert err == ""


@pytest.mark.parametrize("words", ["threads -n 0 --jsonl -d {real}", "log --help"])
def test_a_closed_pipe_is_no_error(words: str, database: Database) -> None:
    """``ckpt … | head`` ends quietly, as other tools do."""
    words = f"{sys.executable} -m ckpt_cli {words.format(real=database('real'))}"
    done = subprocess.run(
        ["bash", "-c", f"{words} | head -n 1 >/dev/null; echo ${{PIPESTATUS[0]}}"],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.stdout == "141\n"
    assert done.stderr == ""


def test_a_full_disk_is_an_error(database: Database) -> None:
    """Output that can't be written is an error with its reason, not a half answer with exit 0."""
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "ckpt_cli", "info", "-d", str(database("js"))]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, encoding="utf-8", check=False)
    assert done.returncode == 8
    assert done.stderr == "ckpt: can't write the output: No space left on device\n"


def test_an_interrupt_ends_with_130(database: Database) -> None:
    """Ctrl-C while ckpt writes to somebody who doesn't read is neither a traceback nor success."""
    command = [sys.executable, "-m", "ckpt_cli", "threads", "-n", "0", "--json", "-d", str(database("real"))]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pipesize=4096,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # which a job in the background ignores
    )
    assert process.stdout is not None
    assert os.read(process.stdout.fileno(), 1) == b"{"
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    error = {"code": 130, "kind": "interrupted", "message": "stopped", "hint": "", "candidates": []}
    assert (process.returncode, json.loads(said)) == (130, {"error": error})


def test_hostile_names_do_not_reach_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file's name is as harmless in an error as any other text."""
    assert run(["info", "-d", str(tmp_path / "\x1b[2J.db")]) == 3
    assert "\x1b" not in capsys.readouterr().err


def test_help_keeps_brackets_and_examples() -> None:
    """Brackets in a docstring are no markup, and each example has its own line."""
    shown = readable("Get messages[-1]\nand more.\n\nExamples:\n\n    ckpt get T 'a[b]'\n\n    ckpt get T x  # the x\n")
    assert shown == (
        "Get messages\\[-1] and more.\n\n[bold]Examples[/bold]\n"
        "  [cyan]ckpt get T 'a\\[b]'[/cyan]\n  [cyan]ckpt get T x[/cyan]  [dim]# the x[/dim]"
    )


@pytest.mark.parametrize(
    ("verb", "words"),
    [
        ("threads", ["-n", "2"]),
        ("log", ["js-chat"]),
        ("writes", ["js-error"]),
        ("grep", ["echo"]),
        ("grep", ["echo", "--count"]),
        ("diff", ["js-chat"]),
        ("diff", ["js-chat", "--stat"]),
    ],
)
def test_colours_reach_piped_lists(verb: str, words: list[str], database: Database) -> None:
    """``--color always`` and FORCE_COLOR style the columns, and change not a letter of them."""
    path = str(database("js"))
    plain = ckpt(verb, *words, "--db", path).stdout
    for styled in (
        ckpt(verb, *words, "--db", path, "--color", "always"),
        ckpt(verb, *words, "-d", path, FORCE_COLOR="1"),
    ):
        assert "\x1b[" in styled.stdout
        assert re.sub("\x1b\\[[0-9;]*m", "", styled.stdout) == plain != ""


@pytest.mark.parametrize("words", [["--help"], ["log", "--help"], ["--version"], []])
def test_a_full_disk_is_no_bug(words: list[str], tmp_path: Path) -> None:
    """Exit code 8 and one line, whoever writes."""
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "ckpt_cli", *words]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, encoding="utf-8", cwd=tmp_path, check=False)
    assert done.returncode == 8
    assert done.stderr.startswith("ckpt: can't write") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("verb", VERBS)
def test_help_shows_no_types(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What Python calls a value says nothing to who types it."""
    run([verb, "--help"])
    assert re.search(r"<(?:str|int|list|path)|list\[", capsys.readouterr().out) is None


@pytest.mark.parametrize(("env", "styled"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_help_on_a_terminal_honours_no_color(env: dict[str, str], styled: bool) -> None:
    """Not bold either."""
    terminal, its_end = pty.openpty()
    command = [sys.executable, "-m", "ckpt_cli", "log", "--help"]
    subprocess.run(command, stdout=its_end, env={**os.environ, "TERM": "xterm", "COLUMNS": "80", **env}, check=True)
    os.close(its_end)
    shown = os.read(terminal, 1 << 16)
    os.close(terminal)
    assert (b"\x1b[" in shown) is styled


@pytest.mark.parametrize(("words", "code"), [(["show", "nothread"], 4), (["show", "--nothing"], 2), (["nothing"], 2)])
def test_an_error_that_nobody_reads_has_its_code(words: list[str], code: int, tmp_path: Path) -> None:
    """The reader of stderr is gone."""
    subprocess.run([sys.executable, "-m", "ckpt_cli", "demo"], cwd=tmp_path, check=True, capture_output=True)
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer) as gone:
        done = subprocess.run([sys.executable, "-m", "ckpt_cli", *words], cwd=tmp_path, check=False, stderr=gone)
    assert done.returncode == code
