"""After fork, rollback, edit, resume and delete the real graph continues as after the library's own methods."""

from typing import Any

import pytest

from tests.twins.twin import KINDS, Copies, Twin, compare, must_be_equal

MOST = 5

pytestmark = pytest.mark.parametrize(("release", "name"), KINDS)


def named(config: dict[str, Any]) -> str:
    """The revision that a config names."""
    return str(config["configurable"].get("checkpoint_id", "@"))


def shown(twin: Twin) -> list[Any]:
    """Values, next and the tasks' nodes of the head."""
    head = twin.ask("read_all")[0][0]
    return [head["values"], sorted(head["next"]), sorted(task[0] for task in head["tasks"])]


def test_a_fork_is_the_librarys_copy(copies: Copies, name: str) -> None:
    """``update_state(config, None, as_node="__copy__")`` and ckpt leave the same rows, and the run continues alike."""
    for thread_id in copies.threads(name):
        for place in range(MOST):
            mine, theirs = copies.pair(name, thread_id)
            if place < len(configs := theirs.targets(MOST)):
                mine.ckpt("fork", named(configs[place]))
                theirs.ask("update", configs[place], [[[None, "__copy__"]]])
                compare(mine, theirs)


def test_a_rollback_goes_on_as_a_copy(copies: Copies, name: str) -> None:
    """An earlier state made current again runs to the end that the library's own copy of it comes to."""
    for thread_id in copies.threads(name):
        for place in range(2, MOST):
            mine, theirs = copies.pair(name, thread_id)
            if place < len(configs := theirs.targets(MOST)):
                if not theirs.ask("read_all")[0][place - 1]["versions"]:
                    continue  # with durability="exit" a first checkpoint has nothing but writes
                mine.ckpt("rollback", named(configs[place]))
                theirs.ask("update", configs[place], [[[None, "__copy__"]]])
                must_be_equal(shown(mine), shown(theirs))
                must_be_equal(mine.ask("carried_on"), theirs.ask("carried_on"))
                must_be_equal(shown(mine), shown(theirs))


def test_an_edit_goes_on_as_if_stored_so(copies: Copies, name: str) -> None:
    """An edited state runs to the end that a child comes to which the saver stores with that state."""
    for thread_id in copies.threads(name):
        for place in range(MOST):
            mine, theirs = copies.pair(name, thread_id)
            if place >= len(configs := theirs.targets(MOST)) or name == "deltas":
                continue
            values = theirs.ask("read_all")[0][max(place - 1, 0)]["values"]
            if isinstance(values, dict) and values.get("log"):
                mine.ckpt("edit", named(configs[place]), "--append", 'log="edited"', "--rerun")
                theirs.ask("put_child", configs[place], "log", "edited")
                must_be_equal(shown(mine), shown(theirs))
                must_be_equal(mine.ask("carried_on"), theirs.ask("carried_on"))
                must_be_equal(shown(mine), shown(theirs))


def test_answers_are_taken_as_the_librarys(copies: Copies, name: str) -> None:
    """Questions answered one by one, and all at once: after each run both histories are one."""
    for thread_id in copies.threads(name):
        for many in (1, 99):
            mine, theirs = copies.pair(name, thread_id)
            while ids := theirs.ask("questions")[:many]:
                mine.ckpt("resume", *(word for one in ids for word in ("-i", f'{one}="no"')))
                must_be_equal(mine.ask("answered", None), theirs.ask("answered", dict.fromkeys(ids, "no")))
                must_be_equal(mine.ask("read_all")[0], theirs.ask("read_all")[0])


def test_what_came_after_is_gone(copies: Copies, name: str) -> None:
    """After ``delete --after`` the library sees the earlier history, and continues as it does from a copy."""
    for thread_id in copies.threads(name):
        for place in range(2, MOST):
            mine, theirs = copies.pair(name, thread_id)
            history = theirs.ask("read_all")[0]
            if place > len(history) or any(of["parent"] != 1 for of in history[: place - 1]):
                continue  # branches stay
            rev = theirs.targets(MOST)[place]
            mine.ckpt("delete", "--after", named(rev))
            must_be_equal(mine.ask("read_all")[0][1:], history[place:])
            theirs.ask("update", rev, [[[None, "__copy__"]]])
            must_be_equal(shown(mine), shown(theirs))
            if name != "stateful_subgraph":  # whose memory is that of then, and beside a copy that of now
                must_be_equal(mine.ask("carried_on"), theirs.ask("carried_on"))
