"""Which processes of the server hold the lock that a statement waits for."""

from typing import Any, cast

import psycopg

from ckpt_cli.savers.faults import safe_text
from ckpt_cli.savers.postgres.address import Address

_HOLDERS = """
SELECT pid, application_name, state, substring(query FROM '^[A-Za-z]+') FROM pg_stat_activity
WHERE pid = ANY(pg_blocking_pids(%s)) ORDER BY pid LIMIT 3
"""
_NAME = 40  # characters of an application's name


def waiting_line(address: Address, process: int) -> str:
    """Who holds the lock for which a process of the server waits, asked on a new connection; "" if it doesn't wait.

    Through a pooler the number of the process is the pooler's own, so nothing is found. Of the holder's statement only
    the first word is given, because the rest may have secrets (Postgres 15, "pg_stat_activity", "pg_blocking_pids").
    """
    parameters = cast(dict[str, Any], address.parameters)
    try:
        with psycopg.connect(autocommit=True, prepare_threshold=None, **parameters) as connection:
            holders = connection.execute(_HOLDERS, [process]).fetchall()
    except psycopg.Error:
        return ""  # the waiting statement reports what is wrong with the server
    named = "; ".join(_described(*holder) for holder in holders)
    return f"waiting for a lock that is held by {named}" if named else ""


def _described(process: int, application: str | None, state: str | None, word: str | None) -> str:
    name = safe_text(application or "")[:_NAME]
    about = [*([name] if name else []), *([state] if state else []), *([f"last statement {word}"] if word else [])]
    return f"process {process}" + (f" ({', '.join(about)})" if about else "")
