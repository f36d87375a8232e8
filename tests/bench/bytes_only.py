"""Reads every byte of the long thread's checkpoints and writes, and does nothing with them.

``python bytes_only.py DATABASE``.
"""

import sqlite3
import sys

from subject import LONG

with sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True) as connection:
    read = 0
    for table, columns in (("checkpoints", "checkpoint, metadata"), ("writes", "value, channel")):
        for cells in connection.execute(f"SELECT {columns} FROM {table} WHERE thread_id = ?", (LONG,)):
            read += sum(map(len, cells))
    print(read)
