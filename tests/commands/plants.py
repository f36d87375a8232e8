"""The faults that are planted in a history, each with what `verify` must say of it."""

from collections.abc import Callable
from typing import NamedTuple

from tests.commands.planted import Stored, Tables


class Planted(NamedTuple):
    """Where a fault was planted, as `verify` must name it; `beside` are kinds that the same fault may also show."""

    kind: str
    verdict: str
    channel: str
    checkpoint_id: str
    beside: tuple[str, ...] = ()


def at_step(tables: Tables, change: Callable[[Stored, Stored], None], *, node: str = "plan", turn: int = 5) -> str:
    """Change one checkpoint, which gets its parent too, and store it; gives its id."""
    stored = tables.by(node, turn)
    change(stored, next(one for one in tables.steps() if one.checkpoint_id == stored.parent_id))
    return tables.put(stored)


def _value(tables: Tables) -> Planted:
    forged = at_step(
        tables, lambda one, _: one.body["channel_values"]["log"].__setitem__(-1, "forged"), node="end", turn=9
    )
    return Planted("changed-without-version", "suspect", "log", forged)


def written_value(tables: Tables) -> Planted:
    """A value that its step's write didn't make."""

    def change(one: Stored, _: Stored) -> None:
        one.body["channel_values"]["n"] = 99

    return Planted("value", "suspect", "n", at_step(tables, change, node="end", turn=9))


def _between(tables: Tables) -> Planted:
    """A value between two steps that both write to its channel: the later one goes on from the true value."""
    forged = at_step(tables, lambda one, _: one.body["channel_values"]["log"].__setitem__(-1, "forged"))
    return Planted("value", "suspect", "log", forged)


def _replaced(tables: Tables) -> Planted:
    def change(one: Stored, _: Stored) -> None:
        one.body["channel_values"]["log"] = ["forged"]

    return Planted("value", "suspect", "log", at_step(tables, change, node="end", turn=4), ("changed-without-version",))


def _unversioned(tables: Tables) -> Planted:
    def change(one: Stored, _: Stored) -> None:
        one.body["channel_values"]["quiet"] = "forged"

    return Planted("changed-without-version", "differs", "quiet", at_step(tables, change, node="end", turn=9))


def _unwritten(tables: Tables) -> Planted:
    def change(one: Stored, _: Stored) -> None:
        one.body["channel_values"]["n"] = 99
        one.body["channel_versions"]["n"] = max(one.body["channel_versions"].values())
        one.body["updated_channels"].append("n")

    forged = at_step(tables, change, node="work", turn=9)
    return Planted("changed-without-write", "suspect", "n", forged, ("version-back", "changed-without-version"))


def _version_back(tables: Tables) -> Planted:
    def change(one: Stored, _: Stored) -> None:
        one.body["channel_versions"]["quiet"] = (
            1 if isinstance(one.body["channel_versions"]["quiet"], int) else f"{1:032}.0.1"
        )

    forged = at_step(tables, change, node="end", turn=9)
    return Planted("version-back", "differs", "quiet", forged, ("updated-channels",))


def _version_lost(tables: Tables) -> Planted:
    def change(one: Stored, _: Stored) -> None:
        del one.body["channel_versions"]["quiet"]

    return Planted("version-lost", "differs", "quiet", at_step(tables, change, node="end", turn=9))


def _bumped(tables: Tables) -> Planted:
    def change(one: Stored, _: Stored) -> None:
        one.body["channel_versions"]["quiet"] = max(one.body["channel_versions"].values())

    return Planted("updated-channels", "differs", "quiet", at_step(tables, change, node="end", turn=9))


def _updated(tables: Tables) -> Planted:
    def change(one: Stored, _: Stored) -> None:
        one.body["updated_channels"].append("quiet")

    return Planted("updated-channels", "differs", "quiet", at_step(tables, change, node="end", turn=9))


def _seen_ahead(tables: Tables) -> Planted:
    def change(one: Stored, _: Stored) -> None:
        one.body["versions_seen"]["plan"]["branch:to:plan"] = f"{10**6:032}.0.1"

    return Planted("seen-ahead", "differs", "branch:to:plan", at_step(tables, change, node="end", turn=9))


def _seen_back(tables: Tables) -> Planted:
    def change(one: Stored, _: Stored) -> None:
        one.body["versions_seen"]["plan"]["branch:to:plan"] = f"{1:032}.0.1"

    return Planted("seen-back", "differs", "branch:to:plan", at_step(tables, change, node="end", turn=9))


def _step_back(tables: Tables) -> Planted:
    return Planted(
        "step-back", "differs", "", at_step(tables, lambda one, _: one.metadata.update(step=1), turn=9, node="end")
    )


def _wrong_id(tables: Tables) -> Planted:
    def change(one: Stored, parent: Stored) -> None:
        one.body["id"] = parent.checkpoint_id

    return Planted("wrong-id", "differs", "", at_step(tables, change), ("not-compared",))


def _swapped(tables: Tables) -> Planted:
    one, other = tables.by("plan", 5), tables.by("end", 8)
    for at, body in ((one, other.body), (other, one.body)):
        tables.put(at._replace(body=body))
    return Planted("wrong-id", "differs", "", one.checkpoint_id, ("not-compared",))


def _wrong_parent(tables: Tables, back: int) -> Planted:
    """The parent is the checkpoint so many steps before the true one."""
    changed = tables.by("end", 5)
    line = [one.checkpoint_id for one in tables.steps()]
    parent = line[line.index(changed.parent_id or "") - back]
    tables.run("UPDATE checkpoints SET parent_checkpoint_id = ? WHERE checkpoint_id = ?", parent, changed.checkpoint_id)
    return Planted("wrong-parent", "differs", "", changed.checkpoint_id)


def _next_parent(tables: Tables) -> Planted:
    return _wrong_parent(tables, 1)


def _far_parent(tables: Tables) -> Planted:
    return _wrong_parent(tables, 7)


def _circle(tables: Tables) -> Planted:
    first, last = tables.steps()[0], tables.by("end", 9)
    tables.run(
        "UPDATE checkpoints SET parent_checkpoint_id = ? WHERE checkpoint_id = ?",
        last.checkpoint_id,
        first.checkpoint_id,
    )
    return Planted("parent-circle", "differs", "", first.checkpoint_id, ("delta-gap",))


def _parent_gone(tables: Tables) -> Planted:
    lost, child = tables.by("plan", 5), tables.by("work", 5)
    tables.run("DELETE FROM checkpoints WHERE checkpoint_id = ?", lost.checkpoint_id)
    beside = ("writes-alone", "delta-gap", "not-compared")
    return Planted("parent-gone", "unknown", "", child.checkpoint_id, beside)


def _no_parent(tables: Tables) -> Planted:
    orphan = tables.by("work", 5).checkpoint_id
    tables.run("UPDATE checkpoints SET parent_checkpoint_id = NULL WHERE checkpoint_id = ?", orphan)
    return Planted("no-parent", "unknown", "", orphan, ("delta-gap", "not-compared"))


def _caller_gone(tables: Tables) -> Planted:
    caller = tables.by("work", 5)
    ns = _called(tables, caller)
    tables.run("DELETE FROM checkpoints WHERE checkpoint_id = ?", caller.checkpoint_id)
    inner = tables.steps(ns=ns)[0].checkpoint_id
    return Planted("caller-gone", "unknown", "", inner, ("parent-gone", "writes-alone", "delta-gap", "not-compared"))


def _called(tables: Tables, caller: Stored) -> str:
    sql = "SELECT task_id FROM writes WHERE checkpoint_id = ? AND task_path LIKE '%child%'"
    [(task_id,)] = set(tables.connection.execute(sql, (caller.checkpoint_id,)))
    return f"child:{task_id}"


def _input(tables: Tables) -> Planted:
    given = tables.steps(lambda one: one.metadata["source"] == "input")[5]
    given.body["channel_values"]["__start__"]["n"] = 99
    return Planted("input", "suspect", "n", tables.put(given))


def _writes_alone(tables: Tables) -> Planted:
    lone = "1f1e0000-0000-6000-8000-000000000000"
    on = tables.by("work", 5).checkpoint_id
    tables.run(_COPY.format(checkpoint="?", task="task_id", path="task_path"), lone, on)
    return Planted("writes-alone", "unknown", "", lone)


_COPY = (
    "INSERT INTO writes (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, value, task_path)"
    " SELECT thread_id, checkpoint_ns, {checkpoint}, {task}, idx, channel, type, value, {path} FROM writes"
    " WHERE checkpoint_id = ? AND checkpoint_ns = ''"
)


def _no_such_task(tables: Tables, path: str, before: str) -> Planted:
    parent, child = (
        tables.by(before, 5),
        tables.steps(lambda one: one.parent_id == tables.by(before, 5).checkpoint_id)[0],
    )
    sql = _COPY.format(checkpoint="checkpoint_id", task="'dead0000-0000-0000-0000-00000000beef'", path=f"'{path}'")
    tables.run(f"{sql} AND channel LIKE 'branch:to:%' LIMIT 1", parent.checkpoint_id)
    return Planted("no-such-task", "differs", "", child.checkpoint_id, ("write-gone",))


def _no_such_node(tables: Tables) -> Planted:
    return _no_such_task(tables, "~__pregel_pull, nobody", "work")


def _no_such_send(tables: Tables) -> Planted:
    return _no_such_task(tables, "~__pregel_push, 0000000007, 0000000000", "plan")


def _write_gone(tables: Tables) -> Planted:
    before = tables.steps(lambda one: one.checkpoint_id == tables.by("plan", 5).parent_id)[0]
    tables.run("DELETE FROM writes WHERE checkpoint_id = ? AND channel = 'n'", before.checkpoint_id)
    return Planted("write-gone", "differs", "", tables.by("plan", 5).checkpoint_id, ("changed-without-write",))


def _last_write_gone(tables: Tables) -> Planted:
    child = tables.by("end", 5)
    tables.run(
        "DELETE FROM writes WHERE checkpoint_id = ? AND channel = 'branch:to:end'", tables.by("child", 5).parent_id
    )
    return Planted("changed-without-write", "differs", "branch:to:end", child.parent_id or "")


def _delta_write_gone(tables: Tables) -> Planted:
    child = tables.by("plan", 5)
    tables.run("DELETE FROM writes WHERE checkpoint_id = ? AND channel = 'seq'", child.parent_id)
    return Planted("delta-gap", "differs", "seq", child.checkpoint_id, ("write-gone",))


def _delta_chain(tables: Tables) -> Planted:
    lost, child = tables.by("plan", 5), tables.by("work", 5)
    tables.run("DELETE FROM checkpoints WHERE checkpoint_id = ?", lost.checkpoint_id)
    return Planted("delta-gap", "differs", "seq", child.checkpoint_id, ("parent-gone", "writes-alone", "not-compared"))


def _value_gone(tables: Tables) -> Planted:
    def change(one: Stored, _: Stored) -> None:
        del one.body["channel_values"]["n"]

    beside = ("value-gone", "changed-without-version")
    return Planted("value", "suspect", "n", at_step(tables, change, node="plan", turn=9), beside)


def _last_value_gone(tables: Tables) -> Planted:
    """No later checkpoint has its version: a channel that was an UntrackedValue leaves such a record."""

    def change(one: Stored, _: Stored) -> None:
        del one.body["channel_values"]["n"]

    return Planted("value", "suspect", "n", at_step(tables, change, node="end", turn=9), ("value-gone",))


def _damaged(tables: Tables) -> Planted:
    damaged = tables.by("end", 9).checkpoint_id
    tables.run("UPDATE checkpoints SET checkpoint = substr(checkpoint, 1, 40) WHERE checkpoint_id = ?", damaged)
    return Planted("unreadable", "unknown", "", damaged, ("not-compared",))


PLANTS: dict[str, Callable[[Tables], Planted]] = {
    plant.__name__.strip("_"): plant
    for plant in (
        *(
            _value,
            written_value,
            _between,
            _replaced,
            _unversioned,
            _unwritten,
            _version_back,
            _version_lost,
            _bumped,
            _updated,
        ),
        *(
            _seen_ahead,
            _seen_back,
            _step_back,
            _wrong_id,
            _swapped,
            _next_parent,
            _far_parent,
            _circle,
            _parent_gone,
            _no_parent,
            _caller_gone,
        ),
        *(
            _input,
            _writes_alone,
            _no_such_node,
            _no_such_send,
            _write_gone,
            _last_write_gone,
            _delta_write_gone,
            _delta_chain,
            _value_gone,
            _last_value_gone,
        ),
        _damaged,
    )
}
