"""The names that TAB offers (threads, revisions, channels …), read from the database in at most a second.

Completion shows no errors. Every verb imports this module for its options, so what reads a database is imported later.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from ckpt_cli.session import Session

_BUDGET = 1.0  # seconds; no completion is better than a shell that hangs
_OFFERED = 200
_ROWS = 50

Offer = tuple[str, str]
"""A word and its description."""


def complete_database(incomplete: str) -> list[str]:
    """The names of the databases in the config file; if none fits, the shell offers files instead."""
    from ckpt_cli.errors import CkptError
    from ckpt_cli.savers.url import names

    try:
        return [name for name in names() if name.startswith(incomplete)]
    except CkptError:  # a config file that can't be read is reported when the command runs
        return []


def complete_policy(incomplete: str) -> list[str]:
    """The names of the policies of `prune` in the config file."""
    from ckpt_cli.config_file import read_table
    from ckpt_cli.errors import CkptError

    try:
        return [name for name in sorted(read_table("policies", "keep-last = 10")[1]) if name.startswith(incomplete)]
    except CkptError:
        return []


def complete_thread(ctx: typer.Context, incomplete: str) -> list[Offer]:
    """Thread ids, the most recently active first."""

    def threads(session: "Session") -> Iterator[Offer]:
        for thread in session.reader.saver.threads():
            if thread.thread_id.startswith(incomplete):
                yield thread.thread_id, ""

    return _offers(ctx, threads)


def complete_changed_thread(ctx: typer.Context, incomplete: str) -> list[Offer]:
    """The threads that the operation log has, also deleted ones, those of the newest operation first."""

    def threads(session: "Session") -> Iterator[Offer]:
        from ckpt_cli.operations.changed_threads import logged_threads

        names = logged_threads(session.log, incomplete, _OFFERED)
        yield from ((thread_id, "") for thread_id in names)

    return _offers(ctx, threads)


def complete_revision(ctx: typer.Context, incomplete: str) -> list[Offer]:  # noqa: ARG001 - the shell filters
    """The head, branches, tags, and the short ids of the newest checkpoints of the thread on the command line."""
    from ckpt_cli.history.lineage.ids import step, unix_time
    from ckpt_cli.output.quantities import ago

    def revisions(session: "Session") -> Iterator[Offer]:
        thread_id, ns = _thread(ctx), ctx.params.get("ns") or ""
        reader = session.reader
        yield "@", "the head"
        short = reader.short(thread_id)
        for row in reader.saver.newest(thread_id, ns, _ROWS):
            number = step(row.checkpoint_id)
            description = "" if number is None else f"step {number}, "
            yield short(row.checkpoint_id), description + ago(unix_time(row.checkpoint_id), session.clock())
        for branch in reader.lineage(thread_id, ns).branches:
            yield f"branch:{branch.number}", "the tip of a branch"
        for name in reader.tags(thread_id, ns):
            yield f"tag:{name}", "a tag"

    return _offers(ctx, revisions)


def complete_channel(ctx: typer.Context, incomplete: str) -> list[Offer]:  # noqa: ARG001 - the shell filters
    """The channels of the thread on the command line, the user's own first; without a thread, those of the latest."""

    def channels(session: "Session") -> Iterator[Offer]:
        thread_id, ns = _thread(ctx), ctx.params.get("ns") or ""
        reader = session.reader
        head = reader.head(thread_id, ns).ref if thread_id else next(reader.saver.threads()).head
        names = reader.state(head).versions
        for name in sorted(names, key=lambda n: (n.startswith("__") or ":" in n, n)):
            yield name, ""

    return _offers(ctx, channels)


def complete_reducer(ctx: typer.Context, incomplete: str) -> list[Offer]:
    """``CHANNEL=`` for the user's channels of the thread on the command line; after the ``=``, the reducers."""

    def channels(session: "Session") -> Iterator[Offer]:
        from ckpt_cli.history.reducers.names import names
        from ckpt_cli.history.state.channels import user_channels

        channel, equals, _ = incomplete.rpartition("=")
        if equals:
            yield from ((f"{channel}={name}", "") for name in names())
            return
        reader = session.reader
        state = reader.state(reader.head(_thread(ctx), ctx.params.get("ns") or "").ref)
        yield from ((f"{name}=", "") for name in sorted(user_channels(state)))

    return [offer for offer in _offers(ctx, channels) if offer[0].startswith(incomplete)]


def complete_remembered(ctx: typer.Context, incomplete: str) -> list[Offer]:
    """The channels whose reducer is remembered for this database."""
    offers = _offers(ctx, lambda session: session.remembered_reducers().items())
    return [offer for offer in offers if offer[0].startswith(incomplete)]


def complete_path(ctx: typer.Context, incomplete: str) -> list[Offer]:  # noqa: ARG001 - the shell filters
    """The user's channels that have a value at the head of the thread on the command line."""

    def channels(session: "Session") -> Iterator[Offer]:
        from ckpt_cli.history.state.channels import user_channels

        reader = session.reader
        state = reader.state(reader.head(_thread(ctx), ctx.params.get("ns") or "").ref)
        yield from ((name, "") for name in sorted(user_channels(state)))

    return _offers(ctx, channels)


def complete_metadata(ctx: typer.Context, incomplete: str) -> list[Offer]:
    """The application's metadata keys at the head of the thread on the command line, each with its ``=``."""

    def keys(session: "Session") -> Iterator[Offer]:
        from ckpt_cli.plans.metadata import is_application_key

        reader = session.reader
        metadata = reader.state(reader.head(_thread(ctx), ctx.params.get("ns") or "").ref).metadata
        words = (f"{key}=" for key in metadata if is_application_key(key))
        yield from ((word, "") for word in words if word.startswith(incomplete))

    return _offers(ctx, keys)


def complete_source(incomplete: str) -> list[Offer]:
    """The sources of checkpoints."""
    descriptions = {"input": "what came in", "loop": "a step", "update": "a change by hand", "fork": "a copy"}
    return [offer for offer in descriptions.items() if offer[0].startswith(incomplete)]


def complete_order(incomplete: str) -> list[str]:
    """The orders of threads, also reversed."""
    minus = "-" if incomplete.startswith("-") else ""
    orders = (f"{minus}{name}" for name in ("activity", "id", "checkpoints", "size", "step"))
    return [order for order in orders if order.startswith(incomplete)]


def complete_repair(incomplete: str) -> list[str]:
    """What `repair` can look for."""
    return [kind for kind in ("tool-calls",) if kind.startswith(incomplete)]


def complete_status(incomplete: str) -> list[str]:
    """The statuses of threads, also behind a comma."""
    before, comma, begun = incomplete.rpartition(",")
    statuses = ("done", "waiting", "failed", "unfinished", "unknown", "stuck")
    return [f"{before}{comma}{status}" for status in statuses if status.startswith(begun)]


def complete_stop(incomplete: str) -> list[str]:
    """What `watch` can stop at: a status, or a condition."""
    statuses = [f"status={one}" for one in ("done", "waiting", "failed", "unfinished", "unknown")]
    return [one for one in [*statuses, *complete_condition("")] if one.startswith(incomplete)]


def complete_condition(incomplete: str) -> list[str]:
    """Examples of conditions, one for each number that `watch` counts."""
    counts = [f"{name} > 0" for name in ("waiting", "failed", "unfinished", "done", "unknown", "unreadable")]
    return [one for one in ("rate < 1/m", "idle > 10m", *counts, "checkpoints >= 1") if one.startswith(incomplete)]


def complete_namespace(ctx: typer.Context, incomplete: str) -> list[Offer]:  # noqa: ARG001 - the shell filters
    """The namespaces of the thread on the command line."""
    return _offers(ctx, lambda session: ((ns, "") for ns in session.reader.saver.namespaces(_thread(ctx)) if ns))


def complete_interrupt(ctx: typer.Context, incomplete: str) -> list[Offer]:  # noqa: ARG001 - the shell filters
    """The ids of the questions that wait at the head of the thread on the command line."""

    def interrupts(session: "Session") -> Iterator[Offer]:
        from ckpt_cli.inspection import Inspection

        reader = session.reader
        for task in Inspection(reader, reader.head(_thread(ctx)).ref).snapshot().all_tasks:
            yield from ((one.id, task.node or "") for one in task.open if one.id)

    return _offers(ctx, interrupts)


def complete_node(ctx: typer.Context, incomplete: str) -> list[Offer]:  # noqa: ARG001 - the shell filters
    """The nodes that ran on the way to the head of the thread on the command line, and ``__start__``."""

    def nodes(session: "Session") -> Iterator[Offer]:
        from ckpt_cli.history.state.channels import NOT_NODES, START

        reader = session.reader
        seen = reader.state(reader.head(_thread(ctx), ctx.params.get("ns") or "").ref).seen
        ran = (name for name in seen if name not in {*NOT_NODES, START} and not name.endswith(":edges"))
        yield from ((name, "") for name in [*sorted(ran), START])

    return _offers(ctx, nodes)


def complete_task(ctx: typer.Context, incomplete: str) -> list[Offer]:  # noqa: ARG001 - the shell filters
    """The tasks at the head of the thread on the command line, each with its status."""

    def tasks(session: "Session") -> Iterator[Offer]:
        from ckpt_cli.history.tasks.task_names import numbered
        from ckpt_cli.inspection import Inspection

        reader = session.reader
        for task in Inspection(reader, reader.head(_thread(ctx)).ref).snapshot().tasks:
            if task.node:
                yield numbered(task.node, task.packet), str(task.status)

    return _offers(ctx, tasks)


def _thread(ctx: typer.Context) -> str:
    """The first thread on the command line; "" if there is none.

    While the value of an option is still being typed, click leaves the earlier arguments in ``ctx.args``.
    """
    candidates = [ctx.params.get("thread"), *(ctx.params.get("threads") or []), *ctx.args]
    return next((str(name) for name in candidates if name), "")


def _offers(ctx: typer.Context, names: "Callable[[Session], Iterable[Offer]]") -> list[Offer]:
    """The offers that are read from the database; none if anything fails."""
    from ckpt_cli.session import KEY_ENV, Session

    database = ctx.params.get("bundle") or ctx.params.get("db")
    session = Session(database=database, key_env=ctx.params.get("key_env") or KEY_ENV)
    with _budget():
        try:
            return session.read(lambda _: list(islice(names(session), _OFFERED)))
        except Exception:  # while the user types, no completion is better than an error
            return []
        finally:
            session.close()


@contextmanager
def _budget() -> Iterator[None]:
    """End the whole process when the time is up, because a query inside an engine can't be interrupted.

    This is safe: a process that completes a word does nothing else.
    """
    from threading import Timer

    timer = Timer(_BUDGET, os._exit, [0])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
