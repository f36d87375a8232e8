"""Options of URLs that several backends share."""

import pytest

from ckpt_cli.errors import UsageError
from ckpt_cli.savers.dynamodb.address import parse_url as of_dynamodb
from ckpt_cli.savers.mongodb.address import parse_url as of_mongodb
from ckpt_cli.savers.mysql.address import parse_url as of_mysql
from ckpt_cli.savers.redis.address import parse_url as of_redis


@pytest.mark.parametrize("seconds", ["nan", "inf", "-inf", "-1", "1e999", "soon"])
@pytest.mark.parametrize(
    ("parse", "url"),
    [
        (of_redis, "redis://h/0"),
        (of_mongodb, "mongodb://h/db"),
        (of_dynamodb, "dynamodb://table"),
        (of_mysql, "mysql://u@h/db"),
    ],
)
def test_a_time_is_a_number_of_seconds(parse: object, url: str, seconds: str) -> None:
    """A connect timeout that is no length of time is refused; the message names the option."""
    assert callable(parse)
    with pytest.raises(UsageError, match="connect_timeout"):
        parse(f"{url}?connect_timeout={seconds}")
