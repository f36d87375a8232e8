"""The server that Sentinels call the primary now; a connection that breaks asks them again."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

from redis import Redis
from redis.sentinel import MasterNotFoundError, Sentinel

from ckpt_cli.errors import DatabaseUnreachable
from ckpt_cli.savers.redis.address import Address

_NOT_THEIRS = ("db", "username", "password")


def primary(address: Address, options: Mapping[str, Any]) -> Redis:
    """A client of it. Sentinels are given the server's user and password, as LangGraph's saver does, else none.

    Raises:
        DatabaseUnreachable: none of them answers, or none knows a primary of that name.
    """
    bare = {name: value for name, value in options.items() if name not in _NOT_THEIRS}
    known = {name: options[name] for name in _NOT_THEIRS[1:] if options[name] is not None}
    for more in (known, {}) if known else ({},):
        sentinels = cast(Any, Sentinel)([*address.hosts], sentinel_kwargs={**bare, **more})
        with suppress(MasterNotFoundError):
            sentinels.discover_master(address.service)
            return cast(Redis, sentinels.master_for(address.service, **options))
    raise DatabaseUnreachable(
        f"{address.location}: no Sentinel answers with a primary server of that name",
        hint="redis+sentinel://HOST:26379,HOST:26379/NAME/0; are they running, and do they know name and password?",
    )
