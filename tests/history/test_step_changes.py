"""Changes of a step, computed from writes alone."""

from typing import Any

import pytest

from ckpt_cli.history.reducers.write_semantics import Habit, combine_habits, prove_habits
from ckpt_cli.history.tasks.step_changes import NOTHING, UNKNOWN, Change, ChangeKind, compare_values, step_changes
from ckpt_cli.model import Payload, Write
from ckpt_cli.output.line import plain
from ckpt_cli.output.text.changes import UNCUT, one, words
from ckpt_cli.queries.step_lines import change_view
from ckpt_cli.values.node import Form, Node, Opened, broken
from ckpt_cli.values.state import TaskWrite
from tests.history.recorded import message


def wrote(channel: str, *values: Any, read: bool = True) -> list[TaskWrite]:
    """Writes of several tasks to one channel."""
    return [
        TaskWrite(
            Write("t", "", "c", f"task-{n}", 0, channel, payload=Payload("x", b"") if read else None, size=7),
            lambda _, value=value: value,
        )
        for n, value in enumerate(values)
    ]


def chat_message(role: str, text: str, message_id: str = "m") -> Node:
    """A message."""
    name = f"{role.capitalize()}Message"
    fields = {"content": text, "id": message_id, "type": role}
    return Node(Opened("langchain_core.messages", name, Form.PYDANTIC, fields))


def only(changes_found: list[Change]) -> Change:
    """The single change."""
    assert len(changes_found) == 1
    return changes_found[0]


def test_added_and_removed_messages_are_counted() -> None:
    """A write of messages adds each; a RemoveMessage removes one."""
    change = only(step_changes(wrote("messages", [chat_message("human", "hi"), chat_message("remove", "", "x")]), {}))
    assert (change.kind, change.added, change.removed) == (ChangeKind.ADDED, 1, 1)
    assert only(step_changes(wrote("messages", chat_message("ai", "one alone")), {})).added == 1


def test_removing_all_messages_replaces_the_conversation() -> None:
    """``__remove_all__`` leaves what comes after it."""
    all_gone = chat_message("remove", "", "__remove_all__")
    change = only(
        step_changes(wrote("messages", [chat_message("human", "old"), all_gone, chat_message("ai", "new")]), {})
    )
    assert (change.kind, len(change.after)) == (ChangeKind.REPLACED, 1)


def test_the_old_value_is_shown_if_it_is_known_and_the_channel_keeps_the_last() -> None:
    """``count 3→4``; no arrow if the value before was not read."""
    last = {"count": Habit.REPLACES}
    assert only(step_changes(wrote("count", 4), last, lambda _: 3)).before == 3
    assert only(step_changes(wrote("count", 4), last, lambda _: 4)).kind is ChangeKind.SAME
    assert only(step_changes(wrote("count", 1), last, lambda _: True)).kind is ChangeKind.CHANGED
    for before, unsure in ((UNKNOWN, True), (NOTHING, False)):
        change = only(step_changes(wrote("count", 4), last, lambda _, before=before: before))
        assert (change.kind, change.unsure) == (ChangeKind.SET, unsure)
        assert change_view(change).text == f"count 4{', maybe as before' if unsure else ''}"


@pytest.mark.parametrize("before", [UNKNOWN, NOTHING, 3, 4])
@pytest.mark.parametrize("habit", [None, Habit.REDUCES, Habit.APPENDS, Habit.MERGES_MESSAGES])
def test_what_a_reducer_is_given_is_not_shown_as_the_value(before: object, habit: Habit | None) -> None:
    """Nor is what a channel without a known habit is given: the change only says that it was written."""
    change = only(step_changes(wrote("count", 4), {"count": habit} if habit else {}, lambda _: before))
    assert (change.kind, change.after, change.unsure) == (ChangeKind.WROTE, 4, False)
    assert change_view(change).text == "count wrote 4"


@pytest.mark.parametrize(
    ("written", "text"), [([5], "cost +5"), ([-2], "cost −2"), ([5, 1.5], "cost +6.5"), (["5"], "cost wrote “5”")]
)
def test_a_sum_shows_what_was_added_to_it(written: list[Any], text: str) -> None:
    """The numbers of all tasks are added up; what is no number is just written."""
    assert change_view(only(step_changes(wrote("cost", *written), {"cost": Habit.SUMS}))).text == text


@pytest.mark.parametrize(
    ("habit", "kind"),
    [
        (None, ChangeKind.WROTE),
        (Habit.REDUCES, ChangeKind.WROTE),
        (Habit.FIRST, ChangeKind.SET),
        (Habit.APPENDS, ChangeKind.ADDED),
        (Habit.REPLACES, ChangeKind.SET),
    ],
)
def test_a_list_counts_as_appended_only_if_that_is_proved(habit: Habit | None, kind: ChangeKind) -> None:
    """One written list may be appended or replace the old one."""
    known = {"log": habit} if habit else {}
    assert only(step_changes(wrote("log", ["a", "b"]), known)).kind is kind


def test_several_tasks_need_a_reducer() -> None:
    """Lists of several tasks are gathered; other values of several tasks are counted."""
    assert only(step_changes(wrote("results", [1], [2, 3]), {})).added == 3
    assert only(step_changes(wrote("total", 1, 2), {})).kind is ChangeKind.SEVERAL


def test_overwrite_is_a_replacement() -> None:
    """``Overwrite`` and its JSON form replace what was gathered."""
    change = only(step_changes(wrote("log", {"__overwrite__": ["fresh"]}), {"log": Habit.APPENDS}))
    assert (change.kind, change.after) == (ChangeKind.REPLACED, ["fresh"])


def test_sends_are_counted_by_node() -> None:
    """Twelve Sends to one node are ``→ work ×12``."""
    change = only(step_changes(wrote("__pregel_tasks", *({"node": "work", "args": n} for n in range(12))), {}))
    assert (change.kind, change.to) == (ChangeKind.SENT, {"work": 12})


def test_in_a_narrow_column_sends_show_the_nodes_that_they_called() -> None:
    """The channel of Sends does not belong to the user."""
    sends = wrote("__pregel_tasks", {"node": "check", "args": 1}, {"node": "check", "args": 2})
    shown = step_changes(
        [*wrote("messages", [chat_message("ai", "I will look into it")]), *sends, *wrote("price", 4)], {}
    )
    assert plain(words([change_view(change) for change in shown], 52)).endswith("”  → check ×2, price")
    assert plain(words([change_view(change) for change in shown], None)).endswith("”  → check ×2  price wrote 4")


def test_a_difference_behind_the_cut_is_shown_as_changed() -> None:
    """Two equal sides would say that nothing changed."""
    change = change_view(Change("plan", ChangeKind.CHANGED, "x" * 90 + "new", "x" * 90))
    assert plain(one(change, 40)) == f"plan changed “{'x' * 24}…”"
    assert "→" in plain(one(change, UNCUT * 2))


def test_a_value_that_was_not_read_is_shown_by_its_size() -> None:
    """A long value is not read, and nothing is guessed."""
    change = only(step_changes(wrote("docs", None, None, read=False), {}))
    assert (change.kind, change.size, change.after) == (ChangeKind.UNREAD, 14, None)


def test_an_undecodable_value_is_shown_as_such() -> None:
    """If a key is missing or bytes are damaged, there is no value and no arrow, but the channel is named."""
    locked = broken("no key", needs_key=True)
    change = only(step_changes(wrote("messages", locked), {}, lambda _: 1))
    assert (change.kind, change.after) == (ChangeKind.UNREADABLE, locked)


def test_habits_are_proved_by_the_state() -> None:
    """The state shows what became of the last write; a first list may be a last value or an appended one."""
    values = {"last": 4, "sum": 9, "log": [1, 2, 3], "plan": ["b"], "first": ["a"], "both": [1, 2]}
    written = {
        "last": [[4], [3]],
        "sum": [[4], [5]],
        "log": [[[3]], [[1, 2]]],
        "plan": [[["b"]], [["a"]]],
        "first": [[["a"]]],
        "both": [[[2]], [[1]]],
    }
    assert prove_habits(values, written) == {
        "last": Habit.REPLACES,
        "sum": Habit.REDUCES,
        "log": Habit.APPENDS,
        "plan": Habit.REPLACES,
        "first": Habit.FIRST,
        "both": Habit.APPENDS,
    }


def test_between_two_values() -> None:
    """From two states, a change has the items added or removed, else the old and the new value."""
    assert compare_values("log", [1], [1, 2]).added == 1
    assert compare_values("log", [1, 2, 3], [1, 3]).removed == 1
    assert compare_values("log", [1], [2]).kind is ChangeKind.REPLACED
    assert (compare_values("log", [], [1]).added, compare_values("log", [1], []).removed) == (1, 1)
    assert (compare_values("n", 1, 2).before, compare_values("n", UNKNOWN, 2).kind) == (1, ChangeKind.SET)


def test_an_edited_list_is_no_new_one() -> None:
    """An item in the place of another, or a message with the same id, is edited."""
    one = compare_values("log", [1, 2, 3], [1, 9, 3])
    assert (one.kind, one.after, one.edited, one.added, one.removed) == (ChangeKind.EDITED, [9], 1, 0, 0)
    both = compare_values("log", [1, 2, 3], [1, 9, 3, 4])
    assert (both.kind, both.after, both.edited, both.added) == (ChangeKind.EDITED, [9, 4], 1, 1)
    talk = compare_values("messages", [message("late", "m1")], [message("lost", "m1")])
    assert (talk.kind, talk.edited) == (ChangeKind.EDITED, 1)
    assert compare_values("messages", [message("late", "m1")], [message("lost", "m2")]).kind is ChangeKind.REPLACED


@pytest.mark.parametrize(
    "written", ["hello", ["human", "hello"], [["human", "hello"]], [{"role": "user", "content": "hello"}]]
)
def test_shorter_forms_of_messages_are_messages_in_a_conversation(written: object) -> None:
    """A text or a pair of role and text is a message there; in other channels it stays what it is."""
    change = only(step_changes(wrote("talk", written), {"talk": Habit.MERGES_MESSAGES}))
    assert (change.kind, change.added) == (ChangeKind.ADDED, 1)
    if not isinstance(written, list) or not isinstance(written[0], dict):
        assert only(step_changes(wrote("talk", written), {})).kind is ChangeKind.WROTE


def test_the_state_shows_a_conversation() -> None:
    """It is proved by gathered messages; a list that is written as a whole each time is replaced."""
    talk = [chat_message("human", "hello"), chat_message("ai", "hi")]
    assert prove_habits({"talk": talk}, {"talk": [[["ai", "hi"]], ["hello"]]}) == {"talk": Habit.MERGES_MESSAGES}
    assert prove_habits({"talk": talk}, {"talk": [[talk], [talk[:1]]]}) == {"talk": Habit.REPLACES}


@pytest.mark.parametrize(
    ("value", "written", "habit"),
    [
        (15, [[5], [5, 5]], Habit.SUMS),
        (0.3, [[0.1], [0.2]], Habit.SUMS),
        (15, [[5], [10], [0]], Habit.SUMS),
        (9, [[0], [9]], Habit.REDUCES),
        (9, [[3], [9]], Habit.REDUCES),
        (9, [[9], [3]], Habit.REPLACES),
        (5, [[5], [-5], [5]], None),
        (2, [[True], [True]], Habit.REDUCES),
        (1.0, [[10**400], [0.5]], Habit.REDUCES),
    ],
)
def test_a_sum_is_proved_by_all_that_was_ever_written(value: Any, written: list[list[Any]], habit: Habit) -> None:
    """Several numbers add up to the value; if the last one is the value too, nothing is proved."""
    assert prove_habits({"cost": value}, {"cost": written}, ["cost"]).get("cost") is habit
    assert prove_habits({"cost": value}, {"cost": written}).get("cost") is not Habit.SUMS


def test_what_two_states_prove_together_holds_for_both() -> None:
    """The nearer one counts, unless its write was the value by chance, or it only proves that the last isn't kept."""
    near = {"sum": Habit.REPLACES, "log": Habit.REDUCES, "max": Habit.REDUCES, "plan": Habit.REPLACES}
    far = {
        "sum": Habit.SUMS,
        "log": Habit.APPENDS,
        "max": Habit.REPLACES,
        "plan": Habit.APPENDS,
        "n": Habit.MERGES_MESSAGES,
    }
    near, far = {**near, "one": Habit.FIRST, "both": Habit.APPENDS}, {**far, "one": Habit.APPENDS, "both": Habit.FIRST}
    assert combine_habits(near, far) == {
        "sum": Habit.SUMS,
        "one": Habit.APPENDS,
        "both": Habit.APPENDS,
        "log": Habit.APPENDS,
        "max": Habit.REDUCES,
        "plan": Habit.REPLACES,
        "n": Habit.MERGES_MESSAGES,
    }
