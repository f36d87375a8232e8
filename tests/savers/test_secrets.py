"""On every backend no piece of a password is printed or stored, however it is typed and whatever goes wrong."""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote, unquote

import pytest

from ckpt_cli.app import run
from ckpt_cli.masking import hide, keep_secret
from ckpt_cli.savers.database_name import ESCAPES, mask_database
from tests.servers import redis
from tests.servers.mysql import MySQLServer
from tests.servers.postgres import PostgresServer

ROUNDS = 2
"""Secrets for each way to write a database; hundreds of URLs in all."""

_LETTERS = "QXZJKVWqxzjkvw"
_PLAIN = _LETTERS + "0123456789"
_SPECIAL = "/?#@:%&=+!$'\"~;,|\\ ^"

Write = Callable[[str], str]


def _escaped(form: str) -> Write:
    return lambda secret: form.replace("SECRET", quote(secret, safe=""))


def _raw(form: str) -> Write:
    return lambda secret: form.replace("SECRET", secret)


_LOGINS = (
    "postgresql://app:SECRET@127.0.0.1:1/db",
    "postgresql://app:SECRET@127.0.0.1:1/db?sslmode=require",
    "postgres://127.0.0.1:1/db?user=app&password=SECRET",
    "postgresql://127.0.0.1:1/db?sslpassword=SECRET&sslmode=disable",
    "postgresql://app:SECRET@127.0.0.1:1,127.0.0.1:2/db",
    "mysql://root:SECRET@127.0.0.1:1/db",
    "mariadb+pymysql://root:SECRET@127.0.0.1:1/db?ssl_mode=required",
    "mysql://root@127.0.0.1:1/db?password=SECRET",
    "redis://:SECRET@127.0.0.1:1/0",
    "redis://app:SECRET@127.0.0.1:1",
    "rediss://:SECRET@127.0.0.1:1/0?ssl_check_hostname=false",
    "redis://127.0.0.1:1/0?password=SECRET",
    "redis+sentinel://:SECRET@127.0.0.1:1/name/0",
    "valkey://:SECRET@127.0.0.1:1/0",
    "mongodb://app:SECRET@127.0.0.1:1/db?connect_timeout=0.05",
    "mongodb://app:SECRET@127.0.0.1:1/db?authSource=admin&tls=true&connect_timeout=0.05&nonsense=1",
    "mongodb://127.0.0.1:1/db?tlsCertificateKeyFilePassword=SECRET&connect_timeout=0.05",
    "dynamodb://KEY:SECRET@table",
    "dynamodb://table?aws_secret_access_key=SECRET",
    "dynamodb://table?region=x&endpoint_url=http://u:SECRET@127.0.0.1:1",
    "sqlite://u:SECRET@h/x",
    "sqlite:///u:SECRET@h/x",
    "oracle://app:SECRET@host/db",
    "https://app:SECRET@host/db",
)
_TEXTS = (
    "u:SECRET@host/db",
    "//u:SECRET@h/db",
    "host=127.0.0.1 password=SECRET dbname=x",
    "host=h password = SECRET",
    "password='SECRET'",
    'PASSWORD="SECRET"',
    "AWS_SESSION_TOKEN:SECRET",
    "AWS_SECRET_ACCESS_KEY=SECRET",
    "api_key=SECRET",
    "Server=h;Uid=u;Pwd=SECRET;",
    "postgresql:app:SECRET@host/db",
    "sqlite:u:SECRET@host",
    "localhost:5432:db:app:SECRET",
    "redis:SECRET",
)
WAYS = [
    *((f"{form} escaped", _escaped(form)) for form in _LOGINS),
    *((f"{form} as it is", _raw(form)) for form in (*_LOGINS, *_TEXTS)),
]


def secrets(seed: str) -> Iterator[str]:
    """Passwords of 8 characters and more: plain ones, and such with characters that mean something in URLs.

    None has four digits in a row, which a port, a process or a database's name may have by chance.
    """
    dice = random.Random(seed)
    for number in range(ROUNDS):
        letters = [dice.choice(_PLAIN if at % 2 else _LETTERS) for at in range(dice.randint(8, 20))]
        for _ in range(1 + number % 3):
            letters[dice.randrange(1, len(letters))] = dice.choice(_SPECIAL)
        yield "".join(letters)
    for char in "/?#@":
        yield f"hunt{char}er2{''.join(dice.choices(_LETTERS, k=6))}"


def leaked(secret: str, *texts: str) -> list[str]:
    """The pieces of a secret in some texts, plain or percent-encoded."""
    seen = "\n".join(form for text in texts for form in (text, unquote(text), unquote(unquote(text))))
    forms = {secret, unquote(secret)}
    return [form[at : at + 4] for form in forms for at in range(len(form) - 3) if form[at : at + 4] in seen]


@pytest.fixture(autouse=True)
def surroundings_of_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder, and tracebacks."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CKPT_TRACEBACK", "1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def kept(folder: Path) -> str:
    """All that ckpt has written."""
    return "\n".join(path.read_bytes().decode("latin-1") for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize(("way", "write"), WAYS, ids=[way for way, _ in WAYS])
def test_nothing_of_a_password_is_printed(
    way: str, write: Write, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a server, or a valid URL, there is an error, and it has no four characters of the password."""
    for number, secret in enumerate(secrets(way)):
        url = write(secret)
        words = [["threads"], ["info", "--json"], ["undo", "--yes"]][number % 3]
        if number % 2:
            monkeypatch.setenv("CKPT_DB", url)
        code = run(words if number % 2 else [*words, "-d", url])
        out, err = capsys.readouterr()
        assert code in (2, 3, 4, 6), (url, err)
        assert not leaked(secret, out, err, kept(tmp_path)), (url, err)


@pytest.mark.parametrize("char", "/?#@")
def test_the_hint_says_how_to_write_it(char: str, capsys: pytest.CaptureFixture[str]) -> None:
    """For a character that a URL's password may not have, the error gives the escape."""
    assert run(["threads", "-d", f"postgresql://app:hunt{char}er2@@127.0.0.1:1/db"]) in (2, 3)
    assert f"{quote(char, safe='')}" in capsys.readouterr().err
    assert quote(char, safe="") in ESCAPES


@pytest.mark.parametrize(
    "text", ["{url}", "x {url}", "[databases]\nprod = {url}", '[databases]\nprod = "{url}\n', "a=1\na={url}"]
)
def test_the_config_file_is_not_quoted(
    text: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the place of the mistake."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "ckpt").mkdir()
    for secret in secrets(text):
        (tmp_path / "ckpt" / "config.toml").write_text(text.format(url=f"postgresql://app:{secret}@127.0.0.1:1/db"))
        assert run(["threads", "-d", "prod"]) in (2, 3)
        assert not leaked(secret, *capsys.readouterr())


def test_a_name_of_the_config_file_hides_as_well(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A URL from the config file is masked like one that is typed."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "ckpt").mkdir()
    for way, write in WAYS:
        (secret, *_) = secrets(way)
        (tmp_path / "ckpt" / "config.toml").write_text(f"[databases]\nprod = '''{write(secret)}'''\n")
        assert run(["threads", "-d", "prod"]) in (2, 3, 4, 6)
        assert not leaked(secret, *capsys.readouterr()), way


def test_a_url_in_the_wrong_place(capsys: pytest.CaptureFixture[str]) -> None:
    """A URL typed where a thread or a number belongs isn't repeated with its password."""
    assert run(["demo"]) == 0
    capsys.readouterr()
    for secret in secrets("wrong place"):
        url = f"postgresql://app:{secret.replace(' ', '')}@host/db"
        for words in (["log", url], ["log", "support-42", url], ["threads", url], ["threads", "-n", url]):
            assert run([*words, "-d", "ckpt-demo.sqlite"]) in (2, 4)
            assert not leaked(secret, *capsys.readouterr()), words


def test_a_wrong_password_on_real_servers(
    postgres: PostgresServer, mysql: MySQLServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Servers' errors are shown without the password."""
    urls = [
        postgres.url(postgres.new(), user="app_nobody", password="SECRET"),
        mysql.url(mysql.new(), user="app_nobody", password="SECRET"),
    ]
    for secret in secrets("real"):
        for url in urls:
            for form in (_escaped, _raw):
                assert run(["threads", "-d", form(url)(secret)]) in (2, 3)
                assert not leaked(secret, *capsys.readouterr())


def test_a_wrong_password_on_redis(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same for Redis, whose errors repeat commands."""
    with redis.started(tmp_path, "--requirepass", "right-one-0815") as server:
        for secret in secrets("redis"):
            for kind in ("redis://:SECRET", "valkey://app:SECRET"):
                for form in (_escaped, _raw):
                    assert run(["threads", "-d", form(f"{kind}@127.0.0.1:{server.port}/0")(secret)]) in (2, 3)
                    assert not leaked(secret, *capsys.readouterr())


def test_a_right_password_is_nowhere(
    mysql: MySQLServer, capsys: pytest.CaptureFixture[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """No output, log or error of a session contains its password."""
    name = mysql.loaded("mysql")
    secret = "QX7/zj?K#v@W:9%41"
    url = mysql.url(name, user=mysql.new_user(secret, f"ALL ON {name}.*"), password=secret)
    assert run(["threads", "-d", url, "--jsonl", "-n", "1"]) == 0
    thread = json.loads(capsys.readouterr().out)["thread_id"]
    for words in (
        ["info"],
        ["info", "--json"],
        ["delete", thread, "--yes"],
        ["operations"],
        ["undo", "--yes"],
        ["log", "x"],
    ):
        run([*words, "-d", url])
        assert not leaked(secret, *capsys.readouterr())
    homes = tmp_path_factory.getbasetemp()
    assert not leaked(secret, *(kept(home) for home in homes.glob("home*")))


_WORDS = ["password", "passwd", "passphrase", "pwd", "secret", "token", "api_key", "apikey", "access_key", "accesskey"]
_WORDS += ["credential", "auth"]


@pytest.mark.parametrize("name", [*_WORDS, *(word.upper() for word in _WORDS), "DB_PASSWORD_2", "x-auth-y"])
@pytest.mark.parametrize("form", ["{}=V4LUE", "{} = V4LUE", "{}: 'V4LUE x'", '"{}": "V4LUE x"', "?a=b&{}=V4LUE&c=d"])
def test_what_is_named_like_a_secret_is_hidden(name: str, form: str) -> None:
    """In other programs' texts, the text after a secret's name is masked."""
    assert "V4LUE" not in hide(f"it said {form.format(name)} and went")
    assert hide(f"it said {form.format(name)} and went").startswith("it said ")


@pytest.mark.parametrize("text", ["can't reach mysql://u:pass@h:3306/db: refused", "at //u:p/a@s@h", "u:pw@h is down"])
def test_logins_are_hidden(text: str) -> None:
    """In other programs' texts, a URL is masked up to the last @."""
    assert "***@h" in hide(text)
    assert not {"u:", "pass", "p/a", "pw"} & {piece for piece in ("u:", "pass", "p/a", "pw") if piece in hide(text)}


def test_remembered_secrets_are_hidden_in_pieces() -> None:
    """Four characters in a row are masked, plain, encoded or decoded; three may belong to any word."""
    keep_secret("Tr0ub/dor&3")
    assert hide("key Tr0ub/dor&3, Tr0ub%2Fdor%263 or Tr0ub%2fdor") == "key ***, *** or ***"
    assert hide("a 0ub/d b") == "a *** b"
    assert hide("Tr0 dor") == "Tr0 dor"


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("postgresql://u:secret@h/db", "postgresql://***@h/db"),
        ("redis://:secret@h:6379/0?x=y", "redis://***@h:6379/0?…"),
        ("postgresql://u:se/cret@h/db", "postgresql://…"),
        ("postgresql://u:se?cret@h/db", "postgresql://…"),
        ("postgresql://u:se#cret@h/db", "postgresql://…"),
        ("redis://:secret", "redis://…"),
        ("postgresql://u:se@cret@h/db", "postgresql://…"),
        ("mongodb://h1:1,h2:2/db", "mongodb://h1:1,h2:2/db"),
        ("postgresql://[::1]:5432/db", "postgresql://[::1]:5432/db"),
        ("sqlite:///a b/x.sqlite", "sqlite:///a b/x.sqlite"),
        ("./x.sqlite", "./x.sqlite"),
        ("AWS_SESSION_TOKEN:abc", "(not shown: it may hold a password)"),
        ("agents:saver", "agents:…"),
        ("//u:pw@h/db", "(not shown: it may hold a password)"),
        ("password x", "(not shown: it may hold a password)"),
    ],
)
def test_what_is_shown(text: str, seen: str) -> None:
    """A URL is shown with scheme, hosts and path if they are certain; other text only if it can't hold a password."""
    assert mask_database(text) == seen
