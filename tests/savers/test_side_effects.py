"""Triggers, rules and foreign keys that do more than a plan says: refused by name until a person accepts them."""

import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ckpt_cli.app import run
from ckpt_cli.errors import Refused
from ckpt_cli.langgraph import CkptSaver
from ckpt_cli.savers.about import SideEffect
from ckpt_cli.savers.sqlite import open_file
from tests.cross.travel import counters
from tests.graphs.building import on
from tests.savers.tables import Tables, place

__all__ = ["place"]

DELETE, FORK = ["delete", "t", "--yes"], ["fork", "t", "@~1", "--yes"]


class Doing(NamedTuple):
    """A side effect that an application defined, and the change that sets it off.

    Attributes:
        make: engine to statements; ``{writes}`` is the table of writes.
        name: what the refusal names.
        words: a change that sets it off.
        other: one that doesn't.
    """

    make: dict[str, list[str]]
    name: str
    words: list[str]
    other: list[str]


def _function(body: str) -> str:
    return f"CREATE FUNCTION doing() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} RETURN NULL; END $$"


_SQLITE = "CREATE TRIGGER doing AFTER {event} ON checkpoints BEGIN {body}; END"
_POSTGRES = "CREATE TRIGGER doing AFTER {event} ON checkpoints FOR EACH ROW EXECUTE FUNCTION doing()"
_MYSQL = "CREATE TRIGGER doing AFTER {event} ON checkpoints FOR EACH ROW {body}"
_LOG = "CREATE TABLE audit (id VARCHAR(200))"
_REFERS = (
    "CREATE TABLE notes (thread_id VARCHAR(150), checkpoint_ns VARCHAR(150), checkpoint_id VARCHAR(150),"
    " CONSTRAINT own FOREIGN KEY (thread_id, checkpoint_ns, checkpoint_id)"
    " REFERENCES checkpoints (thread_id, checkpoint_ns, checkpoint_id) ON DELETE CASCADE)"
)
_REFERS_MYSQL = (
    "CREATE TABLE notes (thread_id VARCHAR(150), checkpoint_ns_hash BINARY(16), checkpoint_id VARCHAR(150),"
    " CONSTRAINT own FOREIGN KEY (thread_id, checkpoint_ns_hash, checkpoint_id)"
    " REFERENCES checkpoints (thread_id, checkpoint_ns_hash, checkpoint_id) ON DELETE CASCADE ON UPDATE CASCADE)"
)


def _trigger(event: str, body: str) -> dict[str, list[str]]:
    old = "NEW" if event == "INSERT" else "OLD"
    own = body.replace("{old}", old)
    return {
        "sqlite": [_LOG, _SQLITE.format(event=event, body=own)],
        "postgres": [_LOG, _function(f"{own};"), _POSTGRES.format(event=event)],
        "mysql": [_LOG, _MYSQL.format(event=event, body=own)],
    }


_AUDIT = "INSERT INTO audit VALUES ({old}.checkpoint_id)"

DOINGS = {
    "another thread": Doing(
        {
            **_trigger("DELETE", "DELETE FROM {writes} WHERE thread_id = 'u'"),
            "mysql": [_LOG, _MYSQL.format(event="DELETE", body="DELETE FROM checkpoint_blobs WHERE thread_id = 'u'")],
        },
        "trigger doing on checkpoints",
        DELETE,
        FORK,
    ),
    "a log": Doing(_trigger("INSERT", _AUDIT), "trigger doing on checkpoints", FORK, DELETE),
    "a rule": Doing(
        {"postgres": [_LOG, "CREATE RULE doing AS ON DELETE TO checkpoints DO ALSO DELETE FROM audit"]},
        "rule doing on checkpoints",
        DELETE,
        FORK,
    ),
    "a cascade": Doing(
        {"postgres": [_REFERS], "mysql": [_REFERS_MYSQL]}, "foreign key own on notes", DELETE, FORK
    ),
    "nested": Doing(
        {
            "sqlite": [
                _LOG,
                "CREATE TABLE more (id TEXT)",
                "CREATE TRIGGER doing AFTER INSERT ON more BEGIN DELETE FROM writes; END",
                "CREATE TRIGGER first AFTER DELETE ON checkpoints BEGIN INSERT INTO more VALUES (1); END",
            ]
        },
        "trigger doing on more, trigger first on checkpoints",
        DELETE,
        FORK,
    ),
    "an application's function": Doing(
        {"sqlite": ["CREATE TRIGGER doing AFTER INSERT ON checkpoints BEGIN SELECT notify(NEW.thread_id); END"]},
        "trigger doing on checkpoints",
        FORK,
        ["delete", "t", "--dry-run"],
    ),
    "a partition's": Doing(
        {
            "postgres": [
                _LOG,
                "ALTER TABLE checkpoints RENAME TO old",
                "CREATE TABLE checkpoints (LIKE old, PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id))"
                " PARTITION BY HASH (thread_id)",
                "CREATE TABLE part PARTITION OF checkpoints FOR VALUES WITH (MODULUS 1, REMAINDER 0)",
                "INSERT INTO checkpoints SELECT * FROM old",
                _function("INSERT INTO audit VALUES ('x');"),
                "CREATE TRIGGER doing AFTER DELETE ON part FOR EACH ROW EXECUTE FUNCTION doing()",
            ]
        },
        "trigger doing on part",
        DELETE,
        FORK,
    ),
}  # fmt: skip

HARMLESS: dict[str, list[str]] = {
    "sqlite": ["CREATE TRIGGER doing AFTER UPDATE OF type ON checkpoints BEGIN DELETE FROM writes; END"],
    "postgres": [
        _function(""),
        _POSTGRES.format(event="DELETE"),
        "ALTER TABLE checkpoints DISABLE TRIGGER doing",
        "CREATE TABLE notes (id text, own text, a text, b text, FOREIGN KEY (own, a, b) REFERENCES checkpoints)",
    ],
    "mysql": [_REFERS_MYSQL.replace("DELETE CASCADE", "DELETE RESTRICT")],
}
"""Triggers and keys that don't fire for any change of ckpt, or only refuse."""

Ask = Callable[..., tuple[int, str, str]]


@pytest.fixture
def ckpt(place: Tables, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Runs a command on the database: exit code, stdout and stderr."""

    def go(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run([*words, "-d", place.url])
        return code, *capsys.readouterr()

    return go


@pytest.fixture
def filled(place: Tables) -> None:
    """Two threads of a real graph."""
    with CkptSaver(place.url) as saver:
        for thread_id in ("t", "u"):
            counters(saver).invoke({"log": ["x"], "n": 1}, on(thread_id))


def made(place: Tables, doing: Doing) -> None:
    """Create the side effect, or skip the test."""
    if place.engine not in doing.make:
        pytest.skip(f"{place.engine} has none of these")
    place.run(*(one.replace("{writes}", place.writes) for one in doing.make[place.engine]))


def stored(place: Tables) -> dict[str, Any]:
    """All rows of the tables."""
    return {table: sorted(place.run(f"SELECT * FROM {table}"), key=repr) for table in ("checkpoints", place.writes)}


@pytest.mark.parametrize("name", DOINGS)
@pytest.mark.usefixtures("filled")
def test_it_is_refused_by_name(place: Tables, name: str, ckpt: Ask) -> None:
    """The change that sets it off is refused before anything is asked or logged; other changes go on."""
    doing = DOINGS[name]
    made(place, doing)
    before = stored(place)
    code, out, err = ckpt(*doing.words)
    assert (code, out) == (7, "")
    assert f"the database would do more than this plan: {doing.name}; nothing was written" in err
    assert "--with-triggers" in err
    code, out, err = ckpt(*doing.words[:-1])  # without --yes: nobody is asked
    assert code == 7 and "not confirmed" not in err
    assert stored(place) == before
    code, out, _ = ckpt("operations", "--json")
    assert json.loads(out)["operations"] == []
    code, out, _ = ckpt(*doing.words[:-1], "--dry-run", "--json")
    listed = json.loads(out)["side_effects"]
    assert code == 0 and {one["accepted"] for one in listed} == {False}
    assert ", ".join(f"{one['kind']} {one['name']} on {one['table']}" for one in listed) == doing.name
    _, out, _ = ckpt(*doing.words[:-1], "--dry-run")
    assert "not logged and not undone" in out and "--with-triggers" in out
    assert ckpt(*doing.other)[0] == 0


@pytest.mark.usefixtures("filled")
def test_what_has_no_side_effect_needs_no_consent(place: Tables, ckpt: Ask) -> None:
    """A disabled trigger, one on other columns, and a key that only refuses don't stop a change."""
    place.run(*HARMLESS[place.engine])
    for words in (DELETE, ["undo", "--yes"], FORK):
        assert ckpt(*words)[0] == 0


@pytest.mark.usefixtures("filled")
def test_accepted_once_and_for_good(place: Tables, ckpt: Ask) -> None:
    """--with-triggers accepts for one change, --remember until the trigger is altered or forgotten; undo asks too."""
    made(place, DOINGS["a log"])
    assert ckpt(*FORK)[0] == 7
    assert ckpt(*FORK, "--with-triggers")[0] == 0
    assert len(place.run("SELECT * FROM audit")) == 1
    assert ckpt("undo", "--yes")[0] == 0  # it removes, and the trigger is for what is added
    assert ckpt("undo", "2", "--yes")[0] == 7
    assert ckpt(*FORK, "--remember")[0] == 2
    assert ckpt(*FORK, "--with-triggers", "--remember", "--dry-run")[0] == 0
    assert ckpt(*FORK)[0] == 7
    assert ckpt("undo", "2", "--yes", "--with-triggers", "--remember")[0] == 0
    assert ckpt(*FORK)[0] == 0
    out = ckpt("operations", "--json")[1]
    assert [one["name"] for one in json.loads(out)["accepted"]] == ["doing"]
    assert [one["accepted"] for one in json.loads(ckpt("info", "--json")[1])["side_effects"]] == [True]
    assert "trigger doing fires when a row is added to checkpoints; accepted" in " ".join(ckpt("info")[1].split())
    place.run(*place.of(sqlite=["DROP TRIGGER doing"], mysql=["DROP TRIGGER doing"],
                        postgres=["DROP TRIGGER doing ON checkpoints", "DROP FUNCTION doing"]))  # fmt: skip
    place.run(*(one.replace("VALUES", "SELECT").replace("(NEW.checkpoint_id)", "concat('!', NEW.checkpoint_id)"
                if place.engine != "sqlite" else "'!'") for one in DOINGS["a log"].make[place.engine][1:]))  # fmt: skip
    code, _, stderr = ckpt(*FORK)
    assert code == 7
    assert re.search(r"trigger doing was accepted as it was on 20\d\d-\d\d-\d\d, and has changed since", stderr)
    assert "it was accepted and has changed since" in " ".join(ckpt("info")[1].split())
    assert "was accepted as it was earlier, and has changed since" in ckpt(*FORK, "--dry-run")[1]
    assert ckpt(*FORK, "--with-triggers", "--remember")[0] == 0
    assert ckpt("operations", "--forget-triggers")[0] == 0
    assert ckpt(*FORK)[0] == 7


@pytest.mark.usefixtures("filled")
def test_one_that_raises_changes_nothing(place: Tables, ckpt: Ask) -> None:
    """An accepted trigger that ends the statement leaves every row as it was, and the operation abandoned."""
    body = place.of(
        sqlite="SELECT RAISE(ABORT, 'never')",
        postgres="RAISE EXCEPTION 'never'",
        mysql="SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'never'",
    )
    place.run(*_trigger("DELETE", body)[place.engine])
    before = stored(place)
    assert ckpt(*DELETE)[0] == 7
    code, _, err = ckpt(*DELETE, "--with-triggers")
    assert code in (7, 8) and "nothing was written" in err
    assert stored(place) == before
    assert [one["state"] for one in json.loads(ckpt("operations", "--json")[1])["operations"]] == ["abandoned"]


def test_an_agent_is_not_concerned(place: Tables) -> None:
    """An agent's writes through CkptSaver set off the application's triggers."""
    made(place, DOINGS["a log"])
    with CkptSaver(place.url) as saver:
        counters(saver).invoke({"log": ["x"], "n": 1}, on("t"))
        saver.delete_thread("t")
    assert len(place.run("SELECT * FROM audit")) == 5


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
@pytest.mark.usefixtures("filled")
def test_sqlite_itself_refuses_what_was_overlooked(place: Tables, monkeypatch: pytest.MonkeyPatch, ckpt: Ask) -> None:
    """A trigger that wasn't found before is stopped by the writing connection."""
    made(place, DOINGS["another thread"])
    monkeypatch.setattr("ckpt_cli.savers.sqlite.write_methods.WriteMethods.side_effects", lambda _: ())
    before = stored(place)
    code, _, err = ckpt(*DELETE)
    assert (code, "trigger doing would write more than was planned" in err) == (7, True)
    assert stored(place) == before


def test_a_trigger_made_while_a_plan_is_confirmed_is_refused(tmp_path: Path) -> None:
    """A trigger created between plan and transaction is seen inside the transaction, before anything is logged."""
    from ckpt_cli.conformance.records import checkpoint
    from ckpt_cli.model import Plan
    from ckpt_cli.operations.apply import apply
    from ckpt_cli.operations.log import OperationLog
    from ckpt_cli.savers.sqlite import create

    path = tmp_path / "x.sqlite"
    with closing(create(path)) as saver, closing(OperationLog(tmp_path / "s" / "x" / "log.sqlite")) as log:
        accepted: list[SideEffect] = list(saver.side_effects())
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TRIGGER late BEFORE INSERT ON checkpoints BEGIN DELETE FROM writes; END")
        with pytest.raises(Refused, match="trigger late on checkpoints"):
            apply(saver, log, Plan("", (checkpoint("t", "1"),)), at=1.0, accepted=accepted)
        assert log.operations() == []
        (late,) = saver.side_effects()
        apply(saver, log, Plan("", (checkpoint("t", "1"),)), at=1.0, accepted=[late])
    with closing(open_file(path)) as saver:
        assert saver.count("t") == 1


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
@pytest.mark.usefixtures("filled")
def test_a_key_that_sqlite_does_not_enforce_is_reported(place: Tables, ckpt: Ask) -> None:
    """SQLite cascades only on connections that ask for it: the plan says that referring rows stay."""
    place.run(_REFERS, "INSERT INTO notes SELECT thread_id, checkpoint_ns, checkpoint_id FROM checkpoints")
    notes = place.run("SELECT * FROM notes")
    code, out, _ = ckpt(*DELETE, "--json")
    warning = (
        "table notes has a foreign key to checkpoints, which SQLite doesn't enforce here: its rows stay as they are"
    )
    assert code == 0 and warning in json.loads(out)["notes"]
    assert place.run("SELECT * FROM notes") == notes


@pytest.mark.slow
def test_a_user_who_cannot_see_triggers_is_warned(request: pytest.FixtureRequest, capsys: Any) -> None:
    """MySQL and MariaDB hide triggers from users who may not create any: then ckpt says that there may be some."""
    server = request.getfixturevalue("mysql")
    name = server.fresh()
    for grant, is_hidden in (("ALL", False), ("SELECT, INSERT, UPDATE, DELETE", True)):
        user = server.new_user("secret", f"{grant} ON {name}.*")
        capsys.readouterr()
        assert run(["info", "-d", server.url(name, user=user, password="secret"), "--json"]) == 0
        caveats = json.loads(capsys.readouterr().out)["caveats"]
        assert any("no TRIGGER right" in caveat for caveat in caveats) is is_hidden


@pytest.mark.slow
def test_rows_hidden_by_row_level_security_are_reported(request: pytest.FixtureRequest, capsys: Any) -> None:
    """If rows may be hidden from a user, info and the plan say so; the owner gets no such warning."""
    server = request.getfixturevalue("postgres")
    name = server.fresh()
    with CkptSaver(server.url(name)) as saver:
        counters(saver).invoke({"log": ["x"], "n": 1}, on("t"))
    server.run(
        "ALTER TABLE checkpoints ENABLE ROW LEVEL SECURITY",
        f"CREATE ROLE {name}_someone LOGIN PASSWORD 'secret'",
        f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {name}_someone",
        "CREATE POLICY own ON checkpoints USING (thread_id = 't')",
        on=name,
    )
    theirs = server.url(name, user=f"{name}_someone", password="secret")
    try:
        for url, hidden in ((theirs, True), (server.url(name), False)):
            for words in (["info"], ["delete", "t", "--dry-run"], ["info", "--json"]):
                capsys.readouterr()
                assert run([*words, "-d", url]) == 0
                assert ("row-level security on" in " ".join(capsys.readouterr().out.split())) is hidden
    finally:
        server.run(f"DROP OWNED BY {name}_someone", f"DROP ROLE {name}_someone", on=name)
