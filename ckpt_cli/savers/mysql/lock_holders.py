"""Whether a connection waits for a lock, as the server's list of connections says."""

import pymysql  # type: ignore[import-untyped]

from ckpt_cli.errors import CkptError
from ckpt_cli.savers.mysql.address import Address
from ckpt_cli.savers.mysql.driver import connect
from ckpt_cli.savers.mysql.faults import WHO_LOCKS

_STATE = "SELECT state FROM information_schema.processlist WHERE id = %s"
_ROWS = "SELECT 1 FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT' AND trx_mysql_thread_id = %s"


def waiting_line(address: Address, process: int) -> str:
    """What a connection waits for, asked on a new one; "" if it waits for no lock.

    A user sees the state of its own connections; waits for rows are only shown to users with the right PROCESS (MySQL
    8.4 manual, 28.3.23 and 28.4.28; MariaDB 10.11 does the same).
    """
    try:
        connection = connect(address)
    except (pymysql.err.MySQLError, OSError, RuntimeError, CkptError):
        return ""  # the waiting statement reports what is wrong with the server
    try:
        with connection.cursor() as cursor:
            cursor.execute(_STATE, [process])
            state = str((cursor.fetchone() or [""])[0] or "")
            if state.startswith("Waiting for") and "lock" in state:
                return f"waiting for a lock that another connection holds: {WHO_LOCKS}"
            cursor.execute(_ROWS, [process])
            rows = cursor.fetchone()
            return f"waiting for rows that another transaction has locked: {WHO_LOCKS}" if rows else ""
    except pymysql.err.MySQLError:
        return ""  # this user may not see it
    finally:
        connection.close()
