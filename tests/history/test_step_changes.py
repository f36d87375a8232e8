"""Changes of a step, from its writes and from the values on both sides of it."""

import re
from typing import Any

import pytest

from ckpt_cli.history.tasks.step_changes import (
    NOTHING,
    UNKNOWN,
    Change,
    ChangeKind,
    Sides,
    channel_change,
    step_changes,
)
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


def between(before: Any, after: Any, *written: Any, channel: str = "count") -> Change:
    """The change of a channel with these values on its sides."""
    return channel_change(channel, written, Sides(before, after))


def text(change: Change) -> str:
    """The change in words."""
    return change_view(change).text


def test_the_state_counts_and_not_what_was_written() -> None:
    """A reducer may keep the old value, take another one, or add: the words are those of the state."""
    assert text(between(0.9, 0.9, 0.2)) == "count 0.9 unchanged"
    assert text(between(0.3, 0.9, 0.2, 0.9)) == "count 0.3→0.9"
    assert text(between(["a"], ["a"], ["a"])) == 'count ["a"] unchanged'
    assert text(between([1, 2, 3], [2, 3, 4], [4])) == "count +1 −1 4"
    assert text(between(1, True, True)) == "count 1 → true"


@pytest.mark.parametrize("sides", [(UNKNOWN, UNKNOWN), (3, UNKNOWN), (3, NOTHING), (UNKNOWN, 5)])
def test_without_both_sides_only_what_was_written_is_said(sides: tuple[Any, Any]) -> None:
    """What the channel made of a write isn't guessed, not even of messages."""
    change = between(*sides, 4)
    assert (change.kind, change.after, text(change)) == (ChangeKind.WROTE, 4, "count wrote 4")
    hello = chat_message("human", "hello")
    assert text(between(*sides, [hello])) == text(between(*sides, hello)) == "count wrote “hello”"
    assert text(between(*sides, [hello, hello])) == "count wrote ×2 “hello”"
    assert text(between(*sides, 1, 2)) == "count wrote 2 values"


def test_a_first_value_is_set() -> None:
    """The value alone says what the channel holds now; after one that is unknown, JSON says so (`unsure`)."""
    assert text(between(NOTHING, 4, 4)) == text(between(UNKNOWN, 4, 4)) == "count 4"
    assert (between(NOTHING, 4, 4).unsure, between(UNKNOWN, 4, 4).unsure) == (False, True)
    assert text(between(NOTHING, [chat_message("human", "hi")], "hi")) == "count +1 “hi”"
    assert text(between(NOTHING, [1, 2, 3], [1], [2, 3])) == "count +3 3"
    assert text(between(NOTHING, ["a"], ["a"])) == 'count ["a"]'


@pytest.mark.parametrize(
    ("before", "after", "written", "words"),
    [
        (1, 6, [5], "count +5"),
        (6, 4, [-2], "count −2"),
        (0, 6.5, [5, 1.5], "count +6.5"),
        (0.1, 0.1 + 0.2, [0.2], "count +0.2"),
        (0, 5, [5], "count 0→5"),
        (1, 3, [5], "count 1→3"),
        (1, 10**400, [10**400], "count 1→"),
    ],
)
def test_a_sum_shows_what_was_added_to_it(before: Any, after: Any, written: list[Any], words: str) -> None:
    """The numbers of all tasks are added up, if that is what the state grew by."""
    assert text(between(before, after, *written)).startswith(words)


def test_overwrite_is_a_replacement() -> None:
    """``Overwrite`` and its JSON form replace what was gathered, if that is what the state is now."""
    change = between(["old", "fresh"], ["fresh"], {"__overwrite__": ["fresh"]})
    assert (change.kind, change.after) == (ChangeKind.REPLACED, ["fresh"])
    assert between(["old"], ["old", 1], {"__overwrite__": ["fresh"]}).kind is ChangeKind.ADDED


def test_an_input_is_given() -> None:
    """An input's own checkpoint doesn't have it in its state; the next one does."""
    change = only(step_changes(wrote("messages", [chat_message("human", "hi")]), {}, given=True))
    assert (change.kind, text(change)) == (ChangeKind.GIVEN, "messages “hi”")


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
    assert plain(words([change_view(change) for change in shown], 52)).endswith("”  also → check ×2, price")
    assert plain(words([change_view(change) for change in shown], None)).endswith("”  → check ×2  price wrote 4")


def test_of_a_long_text_the_changed_end_is_shown() -> None:
    """Two equal sides, or the same beginning again, would not show what changed."""
    change = change_view(Change("plan", ChangeKind.CHANGED, "x" * 90 + "new", "x" * 90))
    assert plain(one(change, 40)) == "plan → “…xxxxnew”"
    other = change_view(Change("plan", ChangeKind.CHANGED, "x" * 10 + "y" * 90, "x" * 90))
    assert plain(one(other, 20)) == "plan → “…xxxxyyyyy…”"
    assert plain(one(change, UNCUT * 2)).startswith("plan “xxx")


_FORMS = {
    ChangeKind.ADDED: r"c( [~+−]\d+)+( .+)?",
    ChangeKind.EDITED: r"c( [~+−]\d+)+( .+)?",
    ChangeKind.SUMMED: r"c [+−]\S+",
    ChangeKind.CHANGED: r"c (.+ → .+|→ .+|\S+→\S+)",
    ChangeKind.REPLACED: r"c → .+",
    ChangeKind.SET: r"c (?!wrote|→).+",
    ChangeKind.CORRECTED: r"c (\S+ )?(.+ → .+|→ .+|\S+→\S+)",
    ChangeKind.GIVEN: r"c (?!wrote|→).+",
    ChangeKind.SAME: r"c .+ unchanged",
    ChangeKind.CLEARED: r"c cleared",
    ChangeKind.SENT: r"→ work ×2",
    ChangeKind.WROTE: r"c wrote .+",
    ChangeKind.SEVERAL: r"c wrote \d values",
    ChangeKind.UNREAD: r"c wrote \d+ B",
    ChangeKind.UNSTORED: r"c wrote \(not stored\)",
    ChangeKind.UNREADABLE: r"c wrote \(can't be decoded\)",
}
"""The forms of docs/reference.md, "A row of log and tree"."""


@pytest.mark.parametrize("kind", ChangeKind)
@pytest.mark.parametrize(("before", "after"), [(1, 2), ("a", "b"), (["a"], ["b"]), ({"k": 1}, {"k": 2})])
def test_each_kind_has_one_form(kind: ChangeKind, before: Any, after: Any) -> None:
    """What happened to the state, or ``wrote``: no kind has a word of its own, at any width."""
    value = broken("bad") if kind is ChangeKind.UNREADABLE else 2 if kind is ChangeKind.SUMMED else after
    value = [value] if kind in (ChangeKind.ADDED, ChangeKind.EDITED, ChangeKind.SEVERAL) else value
    old = before if kind in (ChangeKind.CHANGED, ChangeKind.CORRECTED, ChangeKind.SAME) else None
    change = change_view(Change("c", kind, value, old, added=2, removed=1, edited=1, size=12, to={"work": 2}))
    for cells in (16, 40, 200):
        assert re.fullmatch(_FORMS[kind], plain(one(change, cells)))


def test_a_value_that_was_not_read_is_shown_by_its_size() -> None:
    """A long value is not read, and nothing is guessed."""
    change = only(step_changes(wrote("docs", None, None, read=False), {}))
    assert (change.kind, change.size, change.after) == (ChangeKind.UNREAD, 14, None)


def test_an_undecodable_value_is_shown_as_such() -> None:
    """If a key is missing or bytes are damaged, there is no value and no arrow, but the channel is named."""
    locked = broken("no key", needs_key=True)
    change = only(step_changes(wrote("messages", locked), {"messages": Sides(1, UNKNOWN)}))
    assert (change.kind, change.after) == (ChangeKind.UNREADABLE, locked)


def test_an_edited_list_is_no_new_one() -> None:
    """An item in the place of another, or a message with the same id, is edited."""
    alone = between([1, 2, 3], [1, 9, 3])
    assert (alone.kind, alone.after, alone.edited, alone.added, alone.removed) == (ChangeKind.EDITED, [9], 1, 0, 0)
    both = between([1, 2, 3], [1, 9, 3, 4])
    assert (both.kind, both.after, both.edited, both.added) == (ChangeKind.EDITED, [9, 4], 1, 1)
    talk = between([message("late", "m1")], [message("lost", "m1")])
    assert (talk.kind, talk.edited) == (ChangeKind.EDITED, 1)
    assert between([message("late", "m1")], [message("lost", "m2")]).kind is ChangeKind.REPLACED


def test_a_list_that_only_moved_or_is_too_long_to_be_aligned_is_changed() -> None:
    """Nothing is said of its items."""
    assert between([1, 2], [2, 1]).kind is ChangeKind.CHANGED
    assert between([1] * 3000, [2, 1] * 3000).kind in (ChangeKind.CHANGED, ChangeKind.ADDED)
    assert (between([], [1]).added, between([1], []).removed) == (1, 1)
    assert between([1], [2]).kind is ChangeKind.REPLACED
