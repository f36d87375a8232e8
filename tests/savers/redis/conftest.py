"""Databases whose rows are keys, one kind after the other."""

import pytest

from tests.savers.redis.kinds import Kind, on_redis, on_valkey


@pytest.fixture(params=["redis", "redis, scanned", "valkey"])
def kind(request: pytest.FixtureRequest) -> Kind:
    """Each kind."""
    if request.param == "valkey":
        return on_valkey(request.getfixturevalue("valkey_server"))
    return on_redis(request.getfixturevalue("redis_server"), index=request.param == "redis")
