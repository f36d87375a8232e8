"""Every error on Postgres is one line with a hint and an exit code, shows no password, and loses no data."""

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
from langgraph.checkpoint.postgres import PostgresSaver as LibrarySaver

from ckpt_cli.conformance import everything
from ckpt_cli.errors import DatabaseUnreachable, Refused
from ckpt_cli.model import Plan, Ref
from ckpt_cli.savers.about import Ability
from ckpt_cli.savers.postgres import connection
from ckpt_cli.savers.postgres.address import parse_url
from ckpt_cli.savers.postgres.saver import PostgresSaver, open_url
from ckpt_cli.savers.sql.images import Images
from tests.savers.postgres.conftest import Ckpt
from tests.savers.postgres.large import fill
from tests.savers.unwritable import asked_nothing, refused_before_planning, waiting
from tests.servers.postgres import OwnServer, PostgresServer, own_server
from tests.servers.processes import free_port, listens

THREAD = "thread-000001"
SECRET = "s3cr3t:/@"


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    """Two threads of three checkpoints."""
    url = postgres.url(postgres.fresh())
    fill(url, 2, 3)
    return url


def test_nobody_listens(ckpt: Ckpt) -> None:
    """For a port without a server, the error names the place and not the password."""
    code, output = ckpt("threads", "-d", f"postgresql://me:s3cr3t@127.0.0.1:{free_port()}/x")
    assert code == 3
    assert re.fullmatch(
        r"ckpt: postgresql://127\.0\.0\.1:\d+/x: no server answers \(connection refused\)\nhint: .*\n", output
    )


def test_wrong_password_user_and_database(ckpt: Ckpt, postgres: PostgresServer) -> None:
    """Each has its own error, as far as the server distinguishes them, and no password is repeated."""
    right = postgres.url("postgres")
    for wrong, what in (
        (postgres.url("postgres", user=postgres.user, password=SECRET), "wrong user or password"),
        (postgres.url("postgres", user="nobody there", password=SECRET), "wrong user or password"),
        (right.replace("/postgres", "/no%20such%20one"), "no such database"),
    ):
        code, output = ckpt("threads", "-d", wrong)
        assert (code, what in output) == (3, True), output
        assert not any(secret in output for secret in (SECRET, "s3cr3t", postgres.password, "nobody"))


def test_no_such_host_and_no_answer(ckpt: Ckpt) -> None:
    """An unknown host and a server that never answers are errors, within the time that the URL gives."""
    assert ckpt("threads", "-d", "postgresql://x:s3cr3t@no-such-host.invalid/x") == (
        3,
        "ckpt: postgresql://no-such-host.invalid:5432/x: no server answers (unknown host)\n"
        "hint: is the host's name right?\n",
    )
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        code, output = ckpt("threads", "-d", f"postgresql://127.0.0.1:{silent.getsockname()[1]}/x?connect_timeout=2")
    assert (code, "no server answers (timed out)" in output) == (3, True), output


@pytest.mark.parametrize("bad", ["postgresql://u:s3cr3t%zz@h/x", "postgresql://u:s3cr3t@h/x?nonsense=1"])
def test_a_url_that_cannot_be_read(bad: str, ckpt: Ckpt) -> None:
    """The error for a URL that libpq can't read quotes neither libpq's message, with the password, nor the options."""
    code, output = ckpt("threads", "-d", bad)
    assert (code, "s3cr3t" in output) == (2, False)
    assert ("an option that isn't known" in output) is ("nonsense" in bad)
    assert "nonsense" not in output


def test_other_tables(ckpt: Ckpt, postgres: PostgresServer) -> None:
    """For a database without LangGraph's tables, the hint names the tables it has; nothing is made in it."""
    name = postgres.new()
    assert ckpt("threads", "-d", postgres.url(name))[1].endswith("hint: it has no tables\n")
    store = postgres.loaded("pg-store")
    code, output = ckpt("threads", "-d", postgres.url(store))
    assert (code, "store, store_migrations" in output) == (3, True), output
    postgres.run("CREATE TABLE checkpoints (thread_id text, checkpoint jsonb)", on=name)
    assert ckpt("threads", "-d", postgres.url(name))[0] == 3
    assert postgres.run("SELECT count(*) FROM pg_class WHERE relname LIKE 'checkpoint%'", on=name) == [(1,)]


def test_tables_elsewhere(ckpt: Ckpt, postgres: PostgresServer) -> None:
    """Tables in another schema are named in a hint, and are found with ``?schema=`` or with a search path."""
    name = postgres.fresh()
    postgres.run('ALTER SCHEMA public RENAME TO "a ""%s"" B"', "CREATE SCHEMA public", on=name)
    fill(postgres.url(name, more="?options=-csearch_path%3D%22a%5C%20%22%22%25s%22%22%5C%20B%22"), 1, 2)
    code, output = ckpt("threads", "-d", postgres.url(name))
    assert (code, "?schema=a%20%22%25s%22%20B" in output) == (3, True), output
    for more in ("?schema=a%20%22%25s%22%20B", "?options=-csearch_path%3D%22a%5C%20%22%22%25s%22%22%5C%20B%22"):
        code, output = ckpt("threads", "-d", postgres.url(name, more=more))
        assert (code, output.startswith(THREAD)) == (0, True), output
    where = postgres.url(name, more="?schema=a%20%22%25s%22%20B")
    assert ckpt("delete", THREAD, "--yes", "-d", where)[0] == 0
    assert ckpt("undo", "--yes", "--same-database", "-d", where)[0] == 0
    assert ckpt("threads", "-d", where)[1].startswith(THREAD)


def test_newer_tables(ckpt: Ckpt, url: str) -> None:
    """Tables of an unknown newer version are read with a warning, and not changed."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("INSERT INTO checkpoint_migrations VALUES (99)")
    assert ckpt("threads", "-d", url)[0] == 0
    assert "migration 99" in ckpt("info", "-d", url)[1]
    assert ckpt("delete", THREAD, "--yes", "-d", url)[0] == 6


@pytest.fixture
def reader(postgres: PostgresServer, url: str) -> Iterator[str]:
    """The same database for a user who may only read."""
    name = url.rpartition("/")[2]
    role = f"looks_{name}"
    postgres.run(f"CREATE ROLE {role} LOGIN PASSWORD '{SECRET}'")
    postgres.run(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}", on=name)
    yield postgres.url(name, user=role, password=SECRET)
    postgres.run(f"DROP OWNED BY {role}", f"DROP ROLE {role}", on=name)


def test_no_right_to_write(ckpt: Ckpt, reader: str) -> None:
    """A user who may only read can read; a change is refused before anything is logged."""
    assert ckpt("log", THREAD, "-d", reader)[0] == 0
    code, output = ckpt("delete", THREAD, "--yes", "-d", reader)
    assert (code, "nothing was written" in output, "s3cr3t" in output) == (7, True, False), output
    assert ckpt("operations", "-d", reader) == (0, "")


def test_no_right_is_an_error_before_planning(reader: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`info`, a dry run and a change, before it is planned, say that this user may not write."""
    refused_before_planning(reader, THREAD, "this user may not write it (no right to INSERT on", capsys)


def test_no_question_is_asked_whose_answer_cant_be_recorded(url: str, reader: str) -> None:
    """`resume` by a user who may only read shows the question, and why it can't be answered; nobody types in vain."""
    with LibrarySaver.from_conn_string(url) as saver:
        waiting(saver, "asks")
    asked_nothing(reader, "asks", "this user may not write it")


def test_no_right_to_insert(ckpt: Ckpt, postgres: PostgresServer, reader: str, url: str) -> None:
    """A right that only a part of a change needs is checked before the change begins."""
    role = reader.partition("//")[2].partition(":")[0]
    postgres.run(f"GRANT UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}", on=url.rpartition("/")[2])
    code, output = ckpt("delete", THREAD, "--yes", "-d", reader)
    assert (code, 'no right to INSERT on "public".checkpoints' in output) == (7, True), output


def test_read_only_server(ckpt: Ckpt, url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Where transactions are read-only by default, as on a replica, reading works and changing is refused."""
    read_only = f"{url}?options=-cdefault_transaction_read_only%3Don"
    assert ckpt("tree", THREAD, "-d", read_only)[0] == 0
    code, output = ckpt("delete", THREAD, "--yes", "-d", read_only)
    assert (code, "read-only" in output) == (7, True), output
    assert ckpt("operations", "-d", read_only) == (0, "")
    refused_before_planning(read_only, THREAD, "this server takes no writes", capsys)


def test_no_right_to_read(ckpt: Ckpt, postgres: PostgresServer, reader: str, url: str) -> None:
    """For a user who may not read, the hint says which rights are needed."""
    role = reader.partition("//")[2].partition(":")[0]
    postgres.run(f"REVOKE SELECT ON checkpoint_blobs FROM {role}", on=url.rpartition("/")[2])
    code, output = ckpt("show", THREAD, "-d", reader)
    assert (code, "denied for table checkpoint_blobs" in output, "SELECT" in output) == (3, True, True), output
    postgres.run(f"REVOKE SELECT ON checkpoints FROM {role}", on=url.rpartition("/")[2])
    code, output = ckpt("threads", "-d", reader)
    assert (code, "permission denied for table checkpoints" in output) == (3, True), output
    assert output.startswith("ckpt: ") and output.count("\n") == 2


def test_a_name_that_is_not_utf8(ckpt: Ckpt, url: str) -> None:
    """No thread has a name with bytes that aren't UTF-8, and none can be written."""
    assert ckpt("log", "\udcff", "-d", url)[0] == 4
    code, output = ckpt("fork", THREAD, "@", "--to", "\udcff", "--yes", "-d", url)
    assert (code, "nothing was written" in output) == (7, True), output


def test_a_listing_that_was_not_read_to_the_end(url: str) -> None:
    """A listing that is dropped in the middle, even after its moment, doesn't affect later ones."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("TRUNCATE checkpoints, checkpoint_blobs, checkpoint_writes")
    fill(url, 400, 2)
    with closing(open_url(url)) as saver:
        unread = []
        for _ in range(3):
            listing = saver.moment(saver.threads)
            unread.append(listing)
        half_read = saver.moment(lambda: [threads := saver.threads(), next(threads)])
        del unread, half_read
        for _ in range(2):
            assert len(saver.moment(lambda: [next(saver.threads()) and list(saver.threads())][0])) == 400


def test_no_answer_to_a_statement(ckpt: Ckpt, url: str) -> None:
    """A statement that waits too long is given up after the time that the URL gives."""
    with psycopg.connect(url) as connection:
        connection.execute("LOCK TABLE checkpoints IN ACCESS EXCLUSIVE MODE")
        code, output = ckpt("threads", "-d", f"{url}?options=-cstatement_timeout%3D200")
    assert (code, "no answer in time" in output) == (3, True), output


def test_a_lost_connection_is_made_again(url: str, postgres: PostgresServer) -> None:
    """A moment whose connection is cut runs again, once, on a new connection; so does the next one."""
    with closing(open_url(url)) as saver:
        calls: list[int] = []

        def read() -> int:
            calls.append(1)
            threads = len(list(saver.threads()))
            if len(calls) == 1:
                _cut(postgres, saver)
            return threads + saver.count(THREAD)

        assert saver.moment(read) == 5
        assert len(calls) == 2
        _cut(postgres, saver)
        assert saver.moment(lambda: saver.count(THREAD)) == 3


def _cut(postgres: PostgresServer, saver: PostgresSaver) -> None:
    pid = saver._connection.driver.info.backend_pid
    postgres.run(f"SELECT pg_terminate_backend({pid}, 5000)")


def test_nothing_stays_in_the_session(url: str) -> None:
    """No setting, cursor, lock or prepared statement stays in the session that a pooler gives to another client."""
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
    """A moment doesn't see what others write during it, and doesn't block them."""
    with closing(open_url(url)) as saver, psycopg.connect(url, autocommit=True) as other:

        def read() -> tuple[int, int]:
            before = saver.count(THREAD)
            other.execute("DELETE FROM checkpoints")
            return before, saver.count(THREAD)

        assert saver.moment(read) == (3, 3)
        assert saver.count(THREAD) == 0


def test_a_moment_cannot_write(url: str) -> None:
    """The server itself refuses a write in a moment."""
    with closing(open_url(url)) as saver, pytest.raises(DatabaseUnreachable, match="read-only"):
        saver.moment(lambda: list(saver._connection.query("DELETE FROM checkpoints RETURNING 1")))


def test_an_application_wrote_meanwhile(url: str) -> None:
    """If an application changes a row after a plan has read it, the whole plan is refused."""
    with closing(open_url(url)) as saver, psycopg.connect(url, autocommit=True) as other:
        (first, *_, last) = saver.rows(THREAD)

        def work() -> None:
            changes = list(saver.expand(Plan("", remove=(first.ref, last.ref))))
            other.execute("UPDATE checkpoints SET metadata = '{}' WHERE checkpoint_id = %s", [last.checkpoint_id])
            saver.change(changes)

        with pytest.raises(Refused, match="nothing was written"):
            saver.transaction(work)
        assert saver.count(THREAD) == 3


def test_two_ckpts(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one ckpt writes, another waits and then refuses; applications are never blocked."""
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
    """A plan with U+0000, half a surrogate pair, NaN or Infinity in JSON is refused; the error names the place."""
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
            metadata = stored.metadata._replace(data=b'{"step": 1, "x": %s}' % bad)
            with pytest.raises(Refused, match=f"metadata.*{what}"):
                saver.apply(Plan("", (stored._replace(row=row, metadata=metadata),)))
        assert everything(saver) == before


@pytest.fixture
def own(request: pytest.FixtureRequest) -> Iterator[OwnServer]:
    """A server of its own, which the test may kill."""
    server = own_server(request.config)
    yield server
    server.stop()


def killed(server: OwnServer) -> None:
    """Kill every process of a server, as a power failure does."""
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


def test_the_server_dies(own: OwnServer, ckpt: Ckpt, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the server is killed during a read or a write, there is an error; no data is lost, and the log is settled."""
    url = own.url(own.fresh())
    fill(url, 2, 3)
    own.run("CHECKPOINT")
    before = contents(url)
    change = Images.change

    def dying(images: Images, changes: Any) -> None:
        change(images, changes)
        killed(own)

    with closing(open_url(url)) as saver:

        def read() -> int:
            list(saver.threads())
            killed(own)
            return saver.count(THREAD)

        with pytest.raises(DatabaseUnreachable, match="no server answers"):
            saver.moment(read)
    own.start()
    monkeypatch.setattr(Images, "change", dying)
    code, output = ckpt("delete", THREAD, "--yes", "-d", url)
    assert (code, "connection was lost while writing" in output) == (8, True), output
    monkeypatch.setattr(Images, "change", change)
    own.start()
    assert contents(url) == before
    assert Ability.ATOMIC in open_and_close(url).abilities
    code, output = ckpt("operations", "--settle", "-d", url)
    operations = ckpt("operations", "-d", url)[1]
    assert (code, "abandoned" in operations) == (0, True), (output, operations)
    assert ckpt("delete", THREAD, "--yes", "-d", url)[0] == 0
    assert ckpt("undo", "--yes", "-d", url)[0] == 0
    assert contents(url) == before


def test_a_replica(own: OwnServer, ckpt: Ckpt) -> None:
    """A standby is read like any server, and a change is refused before anything is logged."""
    url = own.url(own.fresh())
    fill(url, 2, 3)
    own.become_standby()
    assert own.run("SELECT pg_is_in_recovery()") == [(True,)]
    assert ckpt("threads", "-d", url)[0] == 0
    code, output = ckpt("delete", THREAD, "--yes", "-d", url)
    reason = "takes no writes (its transactions are read-only); nothing was written"
    assert (code, reason in output) == (7, True), output
    assert ckpt("operations", "-d", url) == (0, "")


def contents(url: str) -> Any:
    with closing(open_url(url)) as saver:
        return everything(saver)


def open_and_close(url: str) -> PostgresSaver:
    with closing(open_url(url)) as saver:
        return saver


@pytest.mark.parametrize(
    ("url", "location"),
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
def test_where_it_is(url: str, location: str) -> None:
    """The location is the same however the URL is spelled, and has no user, password or options."""
    assert parse_url(url).location == location


def test_a_database_has_one_identity(postgres: PostgresServer, url: str) -> None:
    """The identity is host, port, database and schema, whatever the options, and however the schema is named."""
    name = url.rpartition("/")[2]
    identity = f"postgresql://{postgres.host}:{postgres.port}/{name}/public"
    for more in ("", "?schema=public", "?application_name=x", "?options=-csearch_path%3Dpublic"):
        with closing(open_url(f"{url}{more}")) as saver:
            assert saver.identity == identity
