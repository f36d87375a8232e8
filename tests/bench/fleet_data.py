"""Makes the databases of a fleet: some thousand real threads, multiplied by SQL with their writes and metadata.

``python -m tests.bench.fleet_data FILE`` makes the one on SQLite: 250,000 threads, a million checkpoints.
"""

import sqlite3
import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

REAL, COPIES = 5000, 50
REAL_ON_POSTGRES, COPIES_ON_POSTGRES = 3000, 11
_USERS = 1000
_WAITING, _FAILED = 5, 3  # percent
_FACTS = [f"The order of part {n} left the warehouse on the {n}th. " for n in range(1, 18)]


class _State(TypedDict, total=False):
    question: str
    number: int
    facts: list[str]
    answer: str


def graph(saver: Any) -> Any:
    """Each thread has four checkpoints; its number decides whether it ends, waits or fails, as the head's task does."""

    def look_up(state: _State) -> dict[str, Any]:
        return {"facts": _FACTS[: 14 + state["number"] % 4]}

    def answer(_: _State) -> dict[str, Any]:
        return {"answer": "On its way."}

    def review(state: _State) -> dict[str, Any]:
        if state["number"] % 100 < _WAITING:
            interrupt({"question": "Send this answer?"})
        raise ConnectionError("the mail server is down")

    def after_answer(state: _State) -> str:
        return "review" if state["number"] % 100 < _WAITING + _FAILED else END

    builder = StateGraph(_State)
    for name, node in {"look_up": look_up, "answer": answer, "review": review}.items():
        builder.add_node(name, node)
    builder.add_edge(START, "look_up")
    builder.add_edge("look_up", "answer")
    builder.add_conditional_edges("answer", after_answer, ["review", END])
    return builder.compile(checkpointer=saver)


def run_threads(saver: Any, count: int) -> None:
    """So many threads of `graph`, as an application runs them: users have several threads, spread over time."""
    app = graph(saver)
    for number in range(count):
        metadata = {"user_id": f"user-{number % _USERS}", "graph_id": "support" if number % 3 else "sales"}
        config = {"configurable": {"thread_id": f"thread-{number:05}"}, "metadata": metadata}
        with suppress(ConnectionError):
            app.invoke({"question": f"Question {number}: where is my order?", "number": number}, config)


def make(path: Path, real: int = REAL, copies: int = COPIES) -> None:
    """The database on SQLite, unless it exists; each real thread is there `copies` times."""
    if path.exists():
        return
    unfinished = path.with_suffix(".unfinished")
    unfinished.unlink(missing_ok=True)
    with closing(sqlite3.connect(unfinished, check_same_thread=False)) as connection:
        saver = SqliteSaver(connection)
        saver.setup()
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        run_threads(saver, real)
        connection.commit()
        for table in ("checkpoints", "writes"):
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            for statement in _multiply(table, columns, copies):
                connection.execute(statement)
        connection.commit()
    unfinished.rename(path)


def fill_postgres(url: str, real: int = REAL_ON_POSTGRES, copies: int = COPIES_ON_POSTGRES) -> None:
    """The same in an empty database on Postgres."""
    import psycopg
    from langgraph.checkpoint.postgres import PostgresSaver

    with PostgresSaver.from_conn_string(url) as saver:
        saver.setup()
        run_threads(saver, real)
    with psycopg.connect(url, autocommit=True) as connection:
        for table in ("checkpoints", "checkpoint_writes", "checkpoint_blobs"):
            sql = "SELECT column_name FROM information_schema.columns WHERE table_name = %s ORDER BY ordinal_position"
            columns = [name for (name,) in connection.execute(sql, [table])]
            for statement in _multiply(table, columns, copies):
                connection.execute(statement)
            connection.execute(f"VACUUM ANALYZE {table}")


def _multiply(table: str, columns: list[str], copies: int) -> list[str]:
    rest = ", ".join(name for name in columns if name != "thread_id")
    numbers = f"WITH RECURSIVE copies(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM copies WHERE n < {copies - 1})"
    return [
        f"CREATE TEMPORARY TABLE real_{table} AS SELECT * FROM {table}",
        f"INSERT INTO {table} (thread_id, {rest}) {numbers}"
        f" SELECT thread_id || '-' || n, {rest} FROM copies CROSS JOIN real_{table} WHERE {copies} > 1",
    ]


if __name__ == "__main__":
    make(Path(sys.argv[1]))
