"""Views are printed: plain and streamed into a pipe, styled and paged on a terminal."""

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pyte
import pytest

from ckpt_cli.output.clean import clean_line
from ckpt_cli.output.line import TAB, Line, row
from ckpt_cli.output.printer import Printer, wants_color
from ckpt_cli.views.info import InfoView

SHOW = """
from ckpt_cli.output.printer import Printer
from ckpt_cli.views.info import InfoView
facts = {{f"fact {{n}}": "value" for n in range({facts})}}
view = InfoView("SQLite", "/tmp/evil\\x1b[2J\\x9b.db", "new", "E", 12, facts, [], 3, 4, 5, None, None)
Printer({options}).show(view, now=0, release=lambda: print("released", end="\\r\\n"))
"""


def view(location: str = "x.db") -> InfoView:
    return InfoView("SQLite", location, "new", "E", 12, {}, ["branches"], 3, 4, 5, None, None)


def run(facts: int = 0, options: str = "", **env: str) -> "subprocess.CompletedProcess[str]":
    """Show a view in a process with a pipe as stdout."""
    script = SHOW.format(facts=facts, options=options)
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, encoding="utf-8", env={**os.environ, **env}, check=True
    )


def screen(facts: int = 0, options: str = "", keys: str = "", **env: str) -> "tuple[pyte.Screen, str]":
    """Show a view on a terminal of 60 by 20, press keys, and give what is on the screen."""
    pid, terminal = pty.fork()
    if pid == 0:
        surroundings: Mapping[str, str] = {
            **os.environ,
            "TERM": "xterm-256color",
            "COLUMNS": "60",
            "LINES": "20",
            **env,
        }
        os.execve(sys.executable, [sys.executable, "-c", SHOW.format(facts=facts, options=options)], surroundings)
    seen = b""
    pressed = not keys
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        ready, _, _ = select.select([terminal], [], [], 1.0)
        if not ready and not pressed:
            os.write(terminal, keys.encode())
            pressed = True
        try:
            chunk = os.read(terminal, 65536) if ready else b" " * 0
        except OSError:
            break
        if ready and not chunk:
            break
        seen += chunk
    os.waitpid(pid, 0)
    os.close(terminal)
    shown = pyte.Screen(60, 20)
    pyte.ByteStream(shown).feed(seen)
    return shown, seen.decode()


def test_a_pipe_gets_plain_lines() -> None:
    """Piped, a line has no styles, its columns are tabs, and nothing out of the database acts on a terminal."""
    out = run().stdout
    assert out.splitlines()[0] == "database\t/tmp/evil␛[2J\\x9b.db"
    assert "\x1b" not in out


def test_a_pipe_needs_no_rich() -> None:
    """Rich is the terminal's; a pipe doesn't pay for it."""
    script = SHOW.format(facts=0, options="") + "\nimport sys; print('rich' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, encoding="utf-8", check=True).stdout
    assert out.endswith("False\n")


def test_a_pipe_is_utf8_in_any_locale() -> None:
    """What is printed doesn't depend on where: the bytes are UTF-8 in the C locale too."""
    assert "␛" in run(LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0").stdout


def test_a_terminal_gets_styles() -> None:
    """On a terminal there are colours, and the database's own escapes are still dead."""
    shown, seen = screen()
    assert shown.display[0].rstrip() == "released"
    assert shown.display[1].rstrip() == "database       /tmp/evil␛[2J\\x9b.db"
    assert "\x1b[36mdatabase" in seen


@pytest.mark.parametrize(("options", "env"), [("", {"NO_COLOR": "1"}), ("color='never'", {}), ("", {"TERM": "dumb"})])
def test_colours_can_be_refused(options: str, env: dict[str, str]) -> None:
    """NO_COLOR, ``--color never`` and a dumb terminal each mean no escape at all."""
    _, seen = screen(options=options, **env)
    assert "\x1b" not in seen


def test_colours_can_be_forced_into_a_pipe() -> None:
    """``--color always`` colours the output into a pipe; its lines stay those for a pipe."""
    for term in ("xterm", "dumb", ""):
        out = run(options="color='always'", TERM=term).stdout
        assert "\x1b[36mdatabase" in out
        assert "\t" in out


@pytest.mark.parametrize(
    ("choice", "person", "env", "wanted"),
    [
        ("auto", True, {}, True),
        ("auto", False, {}, False),
        ("auto", True, {"NO_COLOR": "1"}, False),
        ("auto", True, {"NO_COLOR": ""}, True),
        ("auto", False, {"FORCE_COLOR": "1"}, True),
        ("auto", False, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        ("always", False, {"NO_COLOR": "1"}, True),
        ("never", True, {"FORCE_COLOR": "1"}, False),
        ("auto", True, {"TERM": "dumb"}, False),
    ],
)
def test_who_decides_on_colour(
    choice: str, person: bool, env: dict[str, str], wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The option first, then NO_COLOR, then FORCE_COLOR, then the terminal."""
    monkeypatch.setenv("TERM", "xterm")
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert wants_color(choice, person) is wanted  # type: ignore[arg-type]


def test_more_than_a_screen_goes_through_the_pager(tmp_path: Path) -> None:
    """The person's pager gets the whole output, after the database was closed."""
    pager = tmp_path / "pager"
    pager.write_text(f"#!/bin/sh\ncat > {tmp_path}/paged\necho paged\n")
    pager.chmod(0o755)
    _, seen = screen(facts=50, PAGER=str(pager))
    assert seen.index("released") < seen.index("paged")
    assert "fact 49" in (tmp_path / "paged").read_text()


@pytest.mark.parametrize(
    ("facts", "options", "pager"),
    [(3, "", "false"), (50, "paged=False", "false"), (50, "", "cat"), (50, "", "no-such-pager")],
)
def test_no_pager_where_none_is_needed_or_wanted(facts: int, options: str, pager: str) -> None:
    """What fits the screen, ``--no-pager``, ``PAGER=cat`` and a pager that isn't there all print directly."""
    _, seen = screen(facts=facts, options=options, PAGER=pager)
    assert "supports" in seen


def test_a_tab_in_data_is_no_column() -> None:
    """Only the table's own separators are tabs."""
    line: Line = row([[("value", "a\tb")], [("", "c")]])
    assert clean_line(line) == "a⇥b\tc"
    assert line[1] == TAB


def test_json_goes_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    """``--json`` prints the view and nothing beside it."""
    Printer(query="threads").show(view(), now=0)
    assert capsys.readouterr() == ("3\n", "")
