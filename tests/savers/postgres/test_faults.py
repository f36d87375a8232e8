"""What goes wrong on Postgres is one line with a hint and an exit code, tells no password, and loses nothing."""

import re
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ckpt_cli.conformance import everything
from ckpt_cli.errors import DatabaseUnreachable, Refused
from ckpt_cli.model import Plan, Ref
from ckpt_cli.savers.about import Ability
from ckpt_cli.savers.postgres import connection
from ckpt_cli.savers.postgres.address import parse_url
from ckpt_cli.savers.postgres.saver import PostgresSaver, open_url
from ckpt_cli.savers.sql.images import Images
from tests.savers.postgres.conftest import Say
from tests.savers.postgres.large import fill
from tests.savers.unwritable import refused_before_planning
from tests.servers.postgres import OwnServer, PostgresServer, own_server
from tests.servers.processes import free_port, listens

THREAD = "thread-000001"
SECRET = "s3cr3t:/@"


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    """Two threads of three checkpoints."""
    made = postgres.url(postgres.fresh())
    fill(made, 2, 3)
    return made


def test_nobody_listens(say: Say) -> None:
    """A port without a server is told with the place, and without the password."""
    code, said = say("threads", "-d", f"postgresql://me:s3cr3t@127.0.0.1:{free_port()}/x")
    assert code == 3
    assert re.fullmatch(
        r"ckpt: postgresql://127\.0\.0\.1:\d+/x: no server answers \(connection refused\)\nhint: .*\n", said
    )


def test_wrong_password_user_and_database(say: Say, postgres: PostgresServer) -> None:
    """Each of them is told apart as far as the server tells, and no password is repeated."""
    right = postgres.url("postgres")
    for wrong, what in (
        (postgres.url("postgres", user=postgres.user, password=SECRET), "wrong user or password"),
        (postgres.url("postgres", user="nobody there", password=SECRET), "wrong user or password"),
        (right.replace("/postgres", "/no%20such%20one"), "no such database"),
    ):
        code, said = say("threads", "-d", wrong)
        assert (code, what in said) == (3, True), said
        assert not any(secret in said for secret in (SECRET, "s3cr3t", postgres.password, "nobody"))


def test_no_such_host_and_no_answer(say: Say) -> None:
    """A name that nobody has, and a server that never answers, within the time the URL gives."""
    assert say("threads", "-d", "postgresql://x:s3cr3t@no-such-host.invalid/x") == (
        3,
        "ckpt: postgresql://no-such-host.invalid:5432/x: no server answers (unknown host)\n"
        "hint: is the host's name right?\n",
    )
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        code, said = say("threads", "-d", f"postgresql://127.0.0.1:{silent.getsockname()[1]}/x?connect_timeout=2")
    assert (code, "no server answers (timed out)" in said) == (3, True), said


@pytest.mark.parametrize("bad", ["postgresql://u:s3cr3t%zz@h/x", "postgresql://u:s3cr3t@h/x?nonsense=1"])
def test_a_url_that_cannot_be_read(bad: str, say: Say) -> None:
    """What libpq can't read is told without what libpq says, which may quote the password, and by no unknown name."""
    code, said = say("threads", "-d", bad)
    assert (code, "s3cr3t" in said) == (2, False)
    assert ("an option that isn't known" in said) is ("nonsense" in bad)
    assert "nonsense" not in said


def test_other_tables(say: Say, postgres: PostgresServer) -> None:
    """A database without LangGraph's tables is told with those it has, and nothing is made in it."""
    name = postgres.new()
    assert say("threads", "-d", postgres.url(name))[1].endswith("hint: it has no tables\n")
    store = postgres.loaded("pg-store")
    code, said = say("threads", "-d", postgres.url(store))
    assert (code, "store, store_migrations" in said) == (3, True), said
    postgres.run("CREATE TABLE checkpoints (thread_id text, checkpoint jsonb)", on=name)
    assert say("threads", "-d", postgres.url(name))[0] == 3
    assert postgres.run("SELECT count(*) FROM pg_class WHERE relname LIKE 'checkpoint%'", on=name) == [(1,)]


def test_tables_elsewhere(say: Say, postgres: PostgresServer) -> None:
    """Tables of another schema, whatever its name, are found by ``?schema=`` or the search path, and hinted at."""
    name = postgres.fresh()
    postgres.run('ALTER SCHEMA public RENAME TO "a ""%s"" B"', "CREATE SCHEMA public", on=name)
    fill(postgres.url(name, more="?options=-csearch_path%3D%22a%5C%20%22%22%25s%22%22%5C%20B%22"), 1, 2)
    code, said = say("threads", "-d", postgres.url(name))
    assert (code, "?schema=a%20%22%25s%22%20B" in said) == (3, True), said
    for more in ("?schema=a%20%22%25s%22%20B", "?options=-csearch_path%3D%22a%5C%20%22%22%25s%22%22%5C%20B%22"):
        code, said = say("threads", "-d", postgres.url(name, more=more))
        assert (code, said.startswith(THREAD)) == (0, True), said
    where = postgres.url(name, more="?schema=a%20%22%25s%22%20B")
    assert say("delete", THREAD, "--yes", "-d", where)[0] == 0
    assert say("undo", "--yes", "--same-database", "-d", where)[0] == 0
    assert say("threads", "-d", where)[1].startswith(THREAD)


def test_newer_tables(say: Say, url: str) -> None:
    """Tables of a version that isn't known yet are read with a warning, and not changed."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("INSERT INTO checkpoint_migrations VALUES (99)")
    assert say("threads", "-d", url)[0] == 0
    assert "migration 99" in say("info", "-d", url)[1]
    assert say("delete", THREAD, "--yes", "-d", url)[0] == 6


@pytest.fixture
def reader(postgres: PostgresServer, url: str) -> Iterator[str]:
    """The same database for a user who may only look."""
    name = url.rpartition("/")[2]
    role = f"looks_{name}"
    postgres.run(f"CREATE ROLE {role} LOGIN PASSWORD '{SECRET}'")
    postgres.run(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}", on=name)
    yield postgres.url(name, user=role, password=SECRET)
    postgres.run(f"DROP OWNED BY {role}", f"DROP ROLE {role}", on=name)


def test_no_right_to_write(say: Say, reader: str) -> None:
    """Who may only look looks, and changing is refused before anything is logged."""
    assert say("log", THREAD, "-d", reader)[0] == 0
    code, said = say("delete", THREAD, "--yes", "-d", reader)
    assert (code, "nothing was written" in said, "s3cr3t" in said) == (7, True, False), said
    assert say("operations", "-d", reader) == (0, "")


def test_no_right_is_told_before_planning(reader: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Who may not write is told so by `info` and a dry run, and before a change is planned."""
    refused_before_planning(reader, THREAD, "this user may not write it (no right to INSERT on", capsys)


def test_no_right_to_insert(say: Say, postgres: PostgresServer, reader: str, url: str) -> None:
    """A right that only some of a change would want is missed before it begins."""
    role = reader.partition("//")[2].partition(":")[0]
    postgres.run(f"GRANT UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}", on=url.rpartition("/")[2])
    code, said = say("delete", THREAD, "--yes", "-d", reader)
    assert (code, 'no right to INSERT on "public".checkpoints' in said) == (7, True), said


def test_read_only_server(say: Say, url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Where transactions are read-only by setting, as on a replica, looking works and changing is refused."""
    read_only = f"{url}?options=-cdefault_transaction_read_only%3Don"
    assert say("tree", THREAD, "-d", read_only)[0] == 0
    code, said = say("delete", THREAD, "--yes", "-d", read_only)
    assert (code, "read-only" in said) == (7, True), said
    assert say("operations", "-d", read_only) == (0, "")
    refused_before_planning(read_only, THREAD, "this server takes no writes", capsys)


def test_no_right_to_read(say: Say, postgres: PostgresServer, reader: str, url: str) -> None:
    """Who may not look is told what that wants."""
    role = reader.partition("//")[2].partition(":")[0]
    postgres.run(f"REVOKE SELECT ON checkpoint_blobs FROM {role}", on=url.rpartition("/")[2])
    code, said = say("show", THREAD, "-d", reader)
    assert (code, "permission denied for table checkpoint_blobs" in said, "SELECT" in said) == (3, True, True), said
    postgres.run(f"REVOKE SELECT ON checkpoints FROM {role}", on=url.rpartition("/")[2])
    code, said = say("threads", "-d", reader)
    assert (code, "permission denied for table checkpoints" in said) == (3, True), said
    assert said.startswith("ckpt: ") and said.count("\n") == 2


def test_a_name_that_is_no_text(say: Say, url: str) -> None:
    """A name with bytes that are no UTF-8 is nobody's, and nothing is written under it."""
    assert say("log", "\udcff", "-d", url)[0] == 4
    code, said = say("fork", THREAD, "@", "--to", "\udcff", "--yes", "-d", url)
    assert (code, "nothing was written" in said) == (7, True), said


def test_what_was_not_read_to_the_end(url: str) -> None:
    """A listing that is left in the middle, even after its moment, harms no later one."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("TRUNCATE checkpoints, checkpoint_blobs, checkpoint_writes")
    fill(url, 400, 2)
    with closing(open_url(url)) as saver:
        left = []
        for _ in range(3):
            listing = saver.moment(saver.threads)
            left.append(listing)
        kept = saver.moment(lambda: [threads := saver.threads(), next(threads)])
        del left, kept
        for _ in range(2):
            assert len(saver.moment(lambda: [next(saver.threads()) and list(saver.threads())][0])) == 400


def test_no_answer_to_a_statement(say: Say, url: str) -> None:
    """A statement that waits too long gives up, in the time the URL gives."""
    with psycopg.connect(url) as connection:
        connection.execute("LOCK TABLE checkpoints IN ACCESS EXCLUSIVE MODE")
        code, said = say("threads", "-d", f"{url}?options=-cstatement_timeout%3D200")
    assert (code, "no answer in time" in said) == (3, True), said


def test_a_lost_connection_is_made_again(url: str, postgres: PostgresServer) -> None:
    """A look whose connection is cut runs again, once, on a new one; and the next finds it there."""
    with closing(open_url(url)) as saver:
        tries: list[int] = []

        def look() -> int:
            tries.append(1)
            threads = len(list(saver.threads()))
            if len(tries) == 1:
                _cut(postgres, saver)
            return threads + saver.count(THREAD)

        assert saver.moment(look) == 5
        assert len(tries) == 2
        _cut(postgres, saver)
        assert saver.moment(lambda: saver.count(THREAD)) == 3


def _cut(postgres: PostgresServer, saver: PostgresSaver) -> None:
    pid = saver._connection.driver.info.backend_pid
    postgres.run(f"SELECT pg_terminate_backend({pid}, 5000)")


def test_nothing_stays_with_the_session(url: str) -> None:
    """What a pooler hands to the next one is as it was: no setting, cursor, lock or prepared statement stays."""
    with closing(open_url(url)) as saver:
        for _ in range(8):
            everything(saver)
        with pytest.raises(ZeroDivisionError):
            saver.moment(lambda: next(saver.threads()) and 1 // 0)
        saver.transaction(lambda: list(saver.writes(THREAD)))
        connection = saver._connection.driver
        (left,) = connection.execute(
            """SELECT (SELECT count(*) FROM pg_prepared_statements), (SELECT count(*) FROM pg_cursors WHERE name <> ''),
                current_setting('statement_timeout'), current_setting('lock_timeout'),
                (SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND mode = 'ShareUpdateExclusiveLock')"""
        )
        assert left == (0, 0, "0", "0", 0)


def test_a_moment_is_one_snapshot(url: str) -> None:
    """What others write during a look isn't seen in it, and isn't held up by it."""
    with closing(open_url(url)) as saver, psycopg.connect(url, autocommit=True) as other:

        def look() -> tuple[int, int]:
            before = saver.count(THREAD)
            other.execute("DELETE FROM checkpoints")
            return before, saver.count(THREAD)

        assert saver.moment(look) == (3, 3)
        assert saver.count(THREAD) == 0


def test_a_moment_cannot_write(url: str) -> None:
    """The server itself refuses a write in a look."""
    with closing(open_url(url)) as saver, pytest.raises(DatabaseUnreachable, match="read-only"):
        saver.moment(lambda: list(saver._connection.query("DELETE FROM checkpoints RETURNING 1")))


def test_somebody_else_wrote(url: str) -> None:
    """A row that an application changes between a plan's reading and writing refuses the plan, whole."""
    with closing(open_url(url)) as saver, psycopg.connect(url, autocommit=True) as other:
        (first, *_, last) = saver.rows(THREAD)

        def work() -> None:
            changes = list(saver.expand(Plan("", remove=(first.ref, last.ref))))
            other.execute("UPDATE checkpoints SET metadata = '{}' WHERE checkpoint_id = %s", [last.checkpoint_id])
            saver.change(changes)

        with pytest.raises(Refused, match="nothing was written"):
            saver.transaction(work)
        assert saver.count(THREAD) == 3


def test_two_of_us(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one ckpt writes another waits, then refuses; applications are never held up."""
    monkeypatch.setattr(connection, "_TRANSACTION", connection._TRANSACTION.replace(connection._LOCK_TIMEOUT, "100ms"))
    with closing(open_url(url)) as one, closing(open_url(url)) as two, psycopg.connect(url, autocommit=True) as other:

        def work() -> None:
            other.execute(
                "INSERT INTO checkpoints SELECT 'mine', checkpoint_ns, checkpoint_id FROM checkpoints LIMIT 0"
            )
            other.execute("UPDATE checkpoints SET metadata = '{}' WHERE thread_id = %s", [THREAD])
            with pytest.raises(Refused, match="another ckpt"):
                two.transaction(lambda: None)

        one.transaction(work)
        assert two.transaction(lambda: two.count(THREAD)) == 3


def test_what_json_cannot_hold(url: str) -> None:
    """U+0000, half a surrogate pair and numbers that aren't refuse a plan with the place; nothing is written."""
    with closing(open_url(url)) as saver:
        (stored,) = saver.checkpoints([Ref(THREAD, "", next(saver.rows(THREAD)).checkpoint_id)])
        before = everything(saver)
        for bad, what in (
            (rb'"a\u0000b"', "U[+]0000"),
            (rb'"\ud800"', "surrogate"),
            (b"NaN", "NaN"),
            (b"-Infinity", "Inf"),
        ):
            body = stored.body._replace(data=stored.body.data.replace(b'"a word or two', b'%s, "x": "' % bad))
            row = stored.row._replace(checkpoint_id="1f000000-0000-6000-8000-000000000000")
            with pytest.raises(Refused, match=what):
                saver.apply(Plan("", (stored._replace(row=row, body=body),)))
            told = stored.metadata._replace(data=b'{"step": 1, "x": %s}' % bad)
            with pytest.raises(Refused, match=f"metadata.*{what}"):
                saver.apply(Plan("", (stored._replace(row=row, metadata=told),)))
        assert everything(saver) == before


@pytest.fixture
def own(request: pytest.FixtureRequest) -> Iterator[OwnServer]:
    """A server that may be killed."""
    server = own_server(request.config)
    yield server
    server.stop()


def killed(server: OwnServer) -> None:
    """As where the power fails: every process of it is gone."""
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
    server.process.kill()
    for child in map(int, children):
        _kill(child)
    while listens(server.port):
        time.sleep(0.02)


def _kill(pid: int) -> None:
    import os

    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def test_the_server_dies(own: OwnServer, say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed in the middle of a read or a write: a line and an exit code; nothing is lost, and the log can tell."""
    url = own.url(own.fresh())
    fill(url, 2, 3)
    own.run("CHECKPOINT")
    before = contents(url)
    change = Images.change

    def dying(images: Images, changes: Any) -> None:
        change(images, changes)
        killed(own)

    with closing(open_url(url)) as saver:

        def look() -> int:
            list(saver.threads())
            killed(own)
            return saver.count(THREAD)

        with pytest.raises(DatabaseUnreachable, match="no server answers"):
            saver.moment(look)
    own.start()
    monkeypatch.setattr(Images, "change", dying)
    code, said = say("delete", THREAD, "--yes", "-d", url)
    assert (code, "connection was lost while writing" in said) == (8, True), said
    monkeypatch.setattr(Images, "change", change)
    own.start()
    assert contents(url) == before
    assert Ability.ATOMIC in open_and_close(url).abilities
    code, said = say("operations", "--settle", "-d", url)
    told = say("operations", "-d", url)[1]
    assert (code, "abandoned" in told) == (0, True), (said, told)
    assert say("delete", THREAD, "--yes", "-d", url)[0] == 0
    assert say("undo", "--yes", "-d", url)[0] == 0
    assert contents(url) == before


def test_a_replica(own: OwnServer, say: Say) -> None:
    """A standby is read like any other, and a change refused before anything is logged."""
    url = own.url(own.fresh())
    fill(url, 2, 3)
    own.become_standby()
    assert own.run("SELECT pg_is_in_recovery()") == [(True,)]
    assert say("threads", "-d", url)[0] == 0
    code, said = say("delete", THREAD, "--yes", "-d", url)
    assert (code, "takes no writes (its transactions are read-only); nothing was written" in said) == (7, True), said
    assert say("operations", "-d", url) == (0, "")


def contents(url: str) -> Any:
    with closing(open_url(url)) as saver:
        return everything(saver)


def open_and_close(url: str) -> PostgresSaver:
    with closing(open_url(url)) as saver:
        return saver


@pytest.mark.parametrize(
    ("given", "location"),
    [
        ("postgres://me:pw@Host/db", "postgresql://host:5432/db"),
        ("postgresql+psycopg://me:pw@h:6/db?sslmode=require", "postgresql://h:6/db"),
        ("postgresql://a:1,b:2/db", "postgresql://a:1,b:2/db"),
        ("postgresql://[::1]:7/db", "postgresql://[::1]:7/db"),
        ("postgresql://%2Fvar%2Frun/db", "postgresql://%2Fvar%2Frun:5432/db"),
        ("postgresql://h/a%20b?schema=c%26d", "postgresql://h:5432/a%20b?schema=c%26d"),
        ("postgresql:///?host=h&port=8&dbname=x&password=pw", "postgresql://h:8/x"),
    ],
)
def test_where_it_is(given: str, location: str) -> None:
    """A database has one name, however its URL is spelled, without user, password and options."""
    assert parse_url(given).location == location


def test_a_database_has_one_identity(postgres: PostgresServer, url: str) -> None:
    """The log knows it by host, port, database and schema, whoever opens it and however the schema is named."""
    name = url.rpartition("/")[2]
    want = f"postgresql://{postgres.host}:{postgres.port}/{name}/public"
    for more in ("", "?schema=public", "?application_name=x", "?options=-csearch_path%3Dpublic"):
        with closing(open_url(f"{url}{more}")) as saver:
            assert saver.identity == want
