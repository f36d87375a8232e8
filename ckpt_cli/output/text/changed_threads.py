"""Shows which threads and namespaces an operation changed: a few by name, and how many there are."""

from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter

from ckpt_cli.output.line import Line
from ckpt_cli.output.theme import MORE
from ckpt_cli.output.visible_names import visible
from ckpt_cli.views.changed_threads import ChangedNamespace

_ROOT = "root graph"


def summary_spans(threads: int | None, namespaces: int | None, where: Sequence[ChangedNamespace]) -> Line:
    """The thread, if there is only one, else the number of threads; a namespace, or how many; [] if none is known."""
    if not threads or not namespaces:
        return []
    if threads > 1 or not where:
        counts = f"{threads:,} thread{'' if threads == 1 else 's'}"
        return [("title", f"{counts}, {namespaces:,} namespaces" if namespaces != threads else counts)]
    thread: Line = [("title", visible(where[0].thread_id))]
    if namespaces > 1:
        return [*thread, ("muted", f", {namespaces:,} namespaces")]
    return [*thread, ("muted", f" {where[0].ns}")] if where[0].ns else thread


def names_text(threads: int | None, namespaces: int | None, where: Sequence[ChangedNamespace]) -> str:
    """The names with the number of changed records of each: of threads, or of the namespaces of one thread.

    "" if `summary_spans` has shown the only name, or if no name is known.
    """
    if not threads or not namespaces or not where or namespaces == 1:
        return ""
    if threads == 1:
        names = [(one.ns or _ROOT, one.records) for one in where]
        is_cut = namespaces > len(names)
    else:
        by_thread = groupby(where, key=attrgetter("thread_id"))
        names = [(visible(thread_id), sum(one.records for one in some)) for thread_id, some in by_thread]
        is_cut = threads > len(names)
    return ", ".join([*(f"{name} ({count:,})" for name, count in names), *([MORE] if is_cut else [])])


def ids_text(threads: int | None, where: Sequence[ChangedNamespace]) -> str:
    """The ids of the first threads, for a column of a pipe."""
    ids = list(dict.fromkeys(one.thread_id for one in where))
    return ", ".join([*ids, *([MORE] if ids and threads and threads > len(ids) else [])])
