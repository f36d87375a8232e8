"""Every error of a server is one line with its cause and a hint, and loses no data."""

import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from langgraph.checkpoint.mysql.pymysql import PyMySQLSaver

from ckpt_cli.app import run
from ckpt_cli.conformance import everything
from ckpt_cli.errors import Failed, Refused
from ckpt_cli.model import Payload, Plan, RowChange
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.log_paths import default_path
from ckpt_cli.operations.operation import Phase
from ckpt_cli.savers.about import Ability
from ckpt_cli.savers.mysql.saver import MySQLSaver, open_url
from tests.cross.travel import counters
from tests.graphs.building import on
from tests.savers.apart import ApartConformance
from tests.savers.unwritable import refused_before_planning
from tests.servers.mysql import MySQLServer, OwnServer, own_server
from tests.servers.processes import free_port

StderrOf = Callable[..., str]


@pytest.fixture
def stderr_of(capsys: pytest.CaptureFixture[str]) -> StderrOf:
    """Runs a command line (`threads` if none is given), checks its exit code, and gives its stderr."""

    def run_command(url: str, code: int, *command: str) -> str:
        capsys.readouterr()
        assert run([*(command or ["threads"]), "-d", url]) == code
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        assert "s3cret" not in captured.err + captured.out
        return captured.err

    return run_command


def filled(server: MySQLServer) -> str:
    """A database in which a graph has run."""
    name = server.fresh()
    with closing(server.connect(name)) as connection:
        counters(PyMySQLSaver(connection)).invoke({"log": ["x"], "n": 1}, on("t"))
    return name


def url_of(server: MySQLServer, name: str, *grants: str) -> str:
    """The URL of a database for a new user with some rights."""
    return server.url(name, user=server.new_user("s3cret", *grants), password="s3cret")


def test_nobody_listens(stderr_of: StderrOf) -> None:
    """The error names the place and the system's reason."""
    error = stderr_of(f"mysql://me:s3cret@127.0.0.1:{free_port()}/db", 3)
    assert "mysql://127.0.0.1" in error and "no server answers (connection refused)" in error


def test_a_wrong_password(mysql: MySQLServer, stderr_of: StderrOf) -> None:
    """The error says so, and doesn't show the password."""
    error = stderr_of(mysql.url(mysql.fresh(), user="nobody", password="s3cret"), 3)
    assert "wrong user or password" in error


def test_no_such_database(mysql: MySQLServer, stderr_of: StderrOf) -> None:
    """The error names the database, and none is made."""
    assert "nowhere: no such database" in stderr_of(mysql.url("nowhere"), 3)
    assert mysql.run("SHOW DATABASES LIKE 'nowhere'") == []


def test_a_database_without_checkpoints(mysql: MySQLServer, stderr_of: StderrOf) -> None:
    """The hint names the tables that exist, and nothing is made."""
    name = mysql.new()
    assert "no tables that this user may see" in stderr_of(mysql.url(name), 3)
    mysql.run("CREATE TABLE orders (id INT)", on=name)
    assert "its tables: orders" in stderr_of(mysql.url(name), 3)
    assert mysql.run("SHOW TABLES", on=name) == [("orders",)]


def test_who_may_not_read(mysql: MySQLServer, stderr_of: StderrOf) -> None:
    """For a user without SELECT, the error says so."""
    name = filled(mysql)
    assert "may not read it (Access denied" in stderr_of(url_of(mysql, name, "USAGE ON *.*"), 3)


def test_who_may_only_read(mysql: MySQLServer, stderr_of: StderrOf, capsys: pytest.CaptureFixture[str]) -> None:
    """A user who may only read can read; a change is refused before anything is planned or logged."""
    name = filled(mysql)
    url = url_of(mysql, name, f"SELECT ON {name}.*")
    refused_before_planning(url, "t", "this user may not write it", capsys)
    with closing(open_url(url)) as saver, closing(OperationLog(default_path(saver.identity))) as log:
        assert saver.count("t") == 5
        assert list(log.operations()) == []


def test_a_replica(mysql: MySQLServer, stderr_of: StderrOf, capsys: pytest.CaptureFixture[str]) -> None:
    """A read-only server is read, and a change is refused."""
    name = filled(mysql)
    url = url_of(mysql, name, f"ALL ON {name}.*")
    mysql.run("SET GLOBAL read_only = 1")
    try:
        refused_before_planning(url, "t", "this server takes no writes", capsys)
    finally:
        mysql.run("SET GLOBAL read_only = 0")
    stderr_of(url, 0, "delete", "t", "--yes")
    assert mysql.run("SELECT count(*) FROM checkpoints", on=name) == [(0,)]


def test_a_newer_schema(mysql: MySQLServer, stderr_of: StderrOf) -> None:
    """Tables of an unknown newer version are read with a warning, and not changed."""
    name = filled(mysql)
    mysql.run("INSERT INTO checkpoint_migrations VALUES (99)", on=name)
    with closing(open_url(mysql.url(name))) as saver:
        assert "migration 99" in saver.about().facts["warning"]
        assert Ability.WRITE not in saver.abilities
    assert "newer" in stderr_of(mysql.url(name), 6, "delete", "t", "--yes")


def test_a_server_without_tls(own: OwnServer, stderr_of: StderrOf) -> None:
    """If TLS is required, a server without it is not used; a file that doesn't exist is an error."""
    name = filled(own)
    for mode in ("preferred", "disabled"):
        stderr_of(own.url(name, more=f"?ssl_mode={mode}"), 0)
    for mode in ("required", "verify_ca", "verify_identity"):
        assert "SSL is required" in stderr_of(own.url(name, more=f"?ssl_mode={mode}"), 3)
    assert "No such file" in stderr_of(own.url(name, more="?ssl_ca=/nowhere.pem"), 3)


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ("", "no database in it"),
        ("/db?no_such=1", "an option that isn't known"),
        ("/db?connect_timeout=soon", "a whole number of seconds"),
        ("/db?ssl_mode=perhaps", "known: disabled"),
        (":s3cret/db", "no valid port"),
    ],
)
def test_a_bad_url(rest: str, message: str, stderr_of: StderrOf) -> None:
    """The error says what is wrong with a URL, without its password."""
    assert message in stderr_of(f"mysql://me:s3cret@127.0.0.1{rest}", 2)


def test_a_connection_that_was_cut_is_made_again_to_read(mysql: MySQLServer) -> None:
    """A moment that loses its connection runs again on a new one."""
    with closing(open_url(mysql.url(filled(mysql)))) as saver:
        calls: list[int] = []

        def read() -> int:
            calls.append(1)
            if len(calls) == 1:
                cut_connection(mysql, saver)
            return saver.count("t")

        assert saver.moment(read) == 5
        assert len(calls) == 2


def cut_connection(server: MySQLServer, saver: MySQLSaver) -> None:
    ((number,),) = saver._engine.query("SELECT connection_id()")
    server.run(f"KILL {number}")


def test_a_connection_that_was_cut_is_not_made_again_to_write(mysql: MySQLServer) -> None:
    """If the connection is lost during a transaction, it is rolled back, and the command fails."""
    sample = ApartConformance()
    url = mysql.url(mysql.fresh())
    with closing(open_url(url)) as saver:
        saver.apply(Plan("", (sample.checkpoint("t", "1"),)))
        before = everything(saver)
        changes = saver.moment(lambda: list(saver.expand(Plan("", (sample.checkpoint("t", "2"),)))))

        def work() -> None:
            saver.change(changes)
            cut_connection(mysql, saver)
            saver.change([change.inverse for change in changes])

        with pytest.raises(Exception, match="connection was lost while writing"):
            saver.transaction(work)
        assert everything(saver) == before


def test_two_ids_of_one_key(mysql: MySQLServer) -> None:
    """An id that the collation takes for an existing one is refused, and the hint says why."""
    sample = ApartConformance()
    with closing(open_url(mysql.url(mysql.fresh()))) as saver:
        saver.apply(Plan("", (sample.checkpoint("a", "1"),)))
        with pytest.raises(Refused) as raised:
            saver.apply(Plan("", (sample.checkpoint("A", "1"),)))
        assert "collation" in raised.value.hint
        assert [thread.thread_id for thread in saver.threads()] == ["a"]


def test_text_that_is_too_long(mysql: MySQLServer) -> None:
    """A value that is too long for its column is refused; the official saver would truncate it."""
    sample = ApartConformance()
    with closing(open_url(mysql.url(mysql.fresh()))) as saver:
        with pytest.raises(Refused, match="longer than its column"):
            saver.apply(Plan("", (sample.checkpoint("t" * 151, "1"),)))
        assert list(saver.threads()) == []


def test_a_value_that_is_too_long_for_the_server(mysql: MySQLServer) -> None:
    """A value that the server would not take is refused before it is sent, and the error names the limit."""
    sample = ApartConformance()
    ((limit,),) = mysql.run("SELECT @@max_allowed_packet")
    with closing(open_url(mysql.url(mysql.fresh()))) as saver:
        for size, fits in ((limit // 2 - 5000, True), (limit // 2, False)):
            plan = Plan("", (sample.checkpoint(str(fits), "1", payload=Payload("bytes", b"x" * size)),))
            if fits:
                saver.apply(plan)
            else:
                with pytest.raises(Failed, match=f"of {limit:,}; nothing was written"):
                    saver.apply(plan)
        assert [thread.thread_id for thread in saver.threads()] == ["True"]


@pytest.fixture(scope="module")
def own(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnServer]:
    """A server that no other test uses."""
    server = own_server(request.config, tmp_path_factory.mktemp("own"))
    yield server
    server.stop()


def test_a_server_that_is_killed(own: OwnServer, stderr_of: StderrOf, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the server is killed during a read or a write, there is an error; no data is lost, and the log is settled."""
    name = filled(own)
    url = own.url(name)
    with closing(open_url(url)) as saver:
        before = everything(saver)
        with pytest.raises(Exception, match="connection refused"):
            saver.moment(lambda: [own.process.kill(), saver.count("t")])
    assert "connection refused" in stderr_of(url, 3)
    own.start()

    change = MySQLSaver.change

    def dying_change(saver: MySQLSaver, changes: Any) -> None:
        def until_the_end(rows: Any) -> Iterator[RowChange]:
            for number, row in enumerate(rows):
                if number == 7:  # the checkpoints are deleted by then
                    own.process.kill()
                yield row

        change(saver, until_the_end(changes))

    with monkeypatch.context() as patched:
        patched.setattr(MySQLSaver, "change", dying_change)
        assert "connection was lost while writing" in stderr_of(url, 8, "delete", "t", "--yes")
    own.start()
    stderr_of(url, 0, "operations", "--settle")
    with closing(open_url(url)) as saver, closing(OperationLog(default_path(saver.identity))) as log:
        assert everything(saver) == before
        assert log.operations()[0].phase is Phase.ABANDONED


def test_a_server_that_hangs(own: OwnServer, stderr_of: StderrOf) -> None:
    """A server that accepts connections but never answers is given up after the time that the URL gives."""
    url = own.url(filled(own), more="?connect_timeout=1")
    own.process._process.send_signal(signal.SIGSTOP)
    assert "no answer in time" in stderr_of(url, 3)
    own.process._process.send_signal(signal.SIGCONT)
    stderr_of(url, 0)
