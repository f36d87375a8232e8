"""Different URLs of one database give one identity, and no text to show has its password."""

import pytest

from ckpt_cli.savers.mysql.address import parse_url

SAME = [
    "mysql://127.0.0.1/db",
    "mysql://me@127.0.0.1:3306/db",
    "mysql+pymysql://me:p%40ss%2Fword@127.0.0.1/db?charset=utf8mb4",
    "mariadb://other:p@ss@127.0.0.1:3306/db?connect_timeout=2&ssl_mode=disabled",
]


@pytest.mark.parametrize("url", SAME)
def test_identity(url: str) -> None:
    """Scheme, user, password and options don't change the identity."""
    assert parse_url(url).identity == "mysql://127.0.0.1:3306/db"


@pytest.mark.parametrize(
    ("url", "identity"),
    [
        ("mysql://DB.Example.com:3307/Mixed", "mysql://db.example.com:3307/Mixed"),
        ("mysql://me@[::1]/a%20b", "mysql://[::1]:3306/a%20b"),
        ("mysql:///db?unix_socket=/run/m.sock", "mysql://localhost:3306/db?unix_socket=/run/m.sock"),
    ],
)
def test_places(url: str, identity: str) -> None:
    """The identity has the host in lower case, the database's name as it is, and the socket if there is one."""
    assert parse_url(url).identity == identity


def test_credentials_are_decoded_and_not_shown() -> None:
    """User and password are decoded for the driver, and are not shown."""
    address = parse_url("mysql://m%40e:s%3Acr%2Fet@h/db?ssl_ca=/ca.pem&ssl_verify_identity=true")
    assert (address.user, address.password) == ("m@e", "s:cr/et")
    assert address.location == "mysql://h:3306/db"
    assert (address.tls.mode, address.tls.ca) == ("verify_identity", "/ca.pem")


@pytest.mark.parametrize(
    ("options", "mode"),
    [
        ("", "preferred"),
        ("?ssl_mode=REQUIRED", "required"),
        ("?ssl_ca=/ca.pem", "verify_ca"),
        ("?ssl_cert=/me.pem&ssl_key=/me.key", "required"),
        ("?ssl_verify_cert=1", "verify_ca"),
        ("?ssl_disabled=true", "disabled"),
    ],
)
def test_tls(options: str, mode: str) -> None:
    """Every option about TLS gives a mode; a file of certificates to trust means that the server's is verified."""
    assert parse_url(f"mysql://h/db{options}").tls.mode == mode
