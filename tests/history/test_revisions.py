"""The revision grammar and what its forms name, over rows that count how they were read."""

import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckpt_cli.errors import AmbiguousRevision, CheckpointNotFound, UsageError
from ckpt_cli.history.lineage import ids
from ckpt_cli.history.lineage.finder import Finder
from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.lineage.revisions import (
    Revision,
    RevisionKind,
    between,
    is_only_a_revision,
    parse,
    split_range,
    split_thread,
)
from ckpt_cli.history.lineage.short_ids import ShortIds
from ckpt_cli.model import CheckpointRow
from ckpt_cli.output.text.time_column import Clock

START = 1_790_000_000  # 2026-09-21T14:13:20Z


def uuid6(second: int, step: int, last: str) -> str:
    """A checkpoint id made so many seconds after START."""
    ticks = (START + second) * 10_000_000 + 0x01B21DD213814000
    head = f"{ticks >> 12:012x}"
    return f"{head[:8]}-{head[8:]}-6{ticks & 0xFFF:03x}-{0x8000 | step & 0x3FFF:04x}-{last:0<12}"


def rows(*shapes: tuple[str, str | None]) -> list[CheckpointRow]:
    """Rows from (id, parent id)."""
    return [CheckpointRow("t", "", own, parent) for own, parent in shapes]


class Recorded:
    """Rows in memory, with the steps of their metadata; it counts how often all of them were read."""

    def __init__(
        self,
        stored: list[CheckpointRow],
        steps: Mapping[str, int] | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        self.by_id = {row.checkpoint_id: row for row in stored}
        self.named = tags or {}
        self.recorded = steps or {}
        self.whole = 0

    def row(self, checkpoint_id: str) -> CheckpointRow | None:
        """One row."""
        return self.by_id.get(checkpoint_id)

    def head(self) -> CheckpointRow:
        """The highest id."""
        return self.by_id[max(self.by_id)]

    def lineage(self) -> Lineage:
        """All rows."""
        self.whole += 1
        return Lineage(self.by_id.values())

    def tags(self) -> Mapping[str, str]:
        """Tag to checkpoint id."""
        return self.named

    def steps(self, checkpoint_ids: Iterable[str]) -> Mapping[str, int]:
        """Steps of metadata, else those of the ids."""
        known = {i: self.recorded.get(i, ids.step(i)) for i in checkpoint_ids}
        return {i: step for i, step in known.items() if step is not None}

    def short(self) -> ShortIds:
        """Short ids."""
        return ShortIds(self.by_id)


A, B, C = uuid6(0, -1, "aaaa11"), uuid6(10, 0, "bbbb22"), uuid6(20, 1, "cccc33")
D, E = uuid6(30, 2, "dddd44"), uuid6(40, 2, "eeee55")
FORKED = rows((A, None), (B, A), (C, B), (D, C), (E, C))


def find(text: str, recorded: Recorded | None = None) -> str:
    """The id that a revision names, 60 seconds after START."""
    return Finder(recorded or Recorded(FORKED), lambda: START + 60.0).find(text).checkpoint_id


@pytest.mark.parametrize(
    ("text", "revision"),
    [
        ("@", Revision(RevisionKind.HEAD)),
        ("HEAD", Revision(RevisionKind.HEAD)),
        ("@~3", Revision(RevisionKind.HEAD, up=3)),
        ("~2", Revision(RevisionKind.HEAD, up=2)),
        ("^^", Revision(RevisionKind.HEAD, up=2)),
        ("HEAD^~2^", Revision(RevisionKind.HEAD, up=4)),
        ("1f1e57df", Revision(RevisionKind.ID, "1f1e57df")),
        ("1f1e57df~0", Revision(RevisionKind.ID, "1f1e57df")),
        ("2026-11-21T08:28:14.347871+00:00^", Revision(RevisionKind.ID, "2026-11-21T08:28:14.347871+00:00", 1)),
        ("step:-1", Revision(RevisionKind.STEP, "-1")),
        ("step:05~", Revision(RevisionKind.STEP, "5", 1)),
        ("branch:2^", Revision(RevisionKind.BRANCH, "2", 1)),
        ("tag:a b:c", Revision(RevisionKind.TAG, "a b:c")),
        ("@{2h}", Revision(RevisionKind.TIME, "2h")),
        ("@{2026-11-01T10:00}~1", Revision(RevisionKind.TIME, "2026-11-01T10:00", 1)),
        ('""', Revision(RevisionKind.ID, "")),
    ],
)
def test_every_form_is_parsed(text: str, revision: Revision) -> None:
    """A revision is where to start and how many parents to climb."""
    assert parse(text) == revision


@pytest.mark.parametrize(
    "text", ["", "step:", "step:x", "branch:", "tag:", "@{", "@{}", "a b", "@@", "~x", "a^b", "线"]
)
def test_what_is_no_revision_is_a_usage_error(text: str) -> None:
    """The hint lists the forms."""
    with pytest.raises(UsageError, match="no revision") as caught:
        parse(text)
    assert "step:5" in caught.value.hint


@given(st.text())
def test_any_text_is_a_revision_or_a_usage_error(text: str) -> None:
    """Nothing a person types makes the parser fail in another way."""
    try:
        parse(text)
    except UsageError as error:
        assert error.hint


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@", E),
        ("HEAD", E),
        ("^", C),
        ("~2", B),
        ("@~3", A),
        (A, A),
        (f"{D}^", C),
        ("cccc", C),
        ("CCCC33", C),
        (C[:17], C),
        ("step:2", E),
        ("step:-1", A),
        ("step:1^", B),
        ("branch:1", D),
        ("branch:2", E),
        ("@{30s}", D),
        ("@{2026-09-21T14:13:45}", C),
        ("@{1s}^", C),
    ],
)
def test_every_form_is_found(text: str, expected: str) -> None:
    """Steps are those of the head's own line, branches those that the tree numbers, times what was newest then."""
    assert find(text) == expected


def test_head_ids_and_ancestors_do_not_read_the_whole_thread() -> None:
    """They are read row by row, so they cost the same in a thread of any length."""
    recorded = Recorded(FORKED)
    assert [find(text, recorded) for text in ("@", "@~2", A, f"{D}^")] == [E, B, A, C]
    assert recorded.whole == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@~4", "'@~4' goes too far up: the checkpoint 3 up has no parent"),
        (f"{A}^", f"'{A}^' goes too far up: it has no parent"),
        ("ffffff", "no checkpoint 'ffffff'"),
        ("step:9", "no step 9 on the head's line"),
        ("branch:3", "no branch 3: there are 2"),
        ("tag:x", "no tag 'x'"),
        ("@{1d}", "the thread has no checkpoint that old"),
    ],
)
def test_what_names_nothing_is_not_found(text: str, message: str) -> None:
    """Exit code 4, and the error names what exists."""
    with pytest.raises(CheckpointNotFound) as caught:
        find(text)
    assert (caught.value.exit_code, caught.value.message) == (4, message)


def test_tags_name_checkpoints() -> None:
    """A tag names its checkpoint; an unknown one lists the known, and one whose checkpoint is gone says so."""
    tagged = Recorded(FORKED, tags={"good": A, "lost": "ffff"})
    assert find("tag:good", tagged) == A
    with pytest.raises(CheckpointNotFound, match="no tag 'bad'") as caught:
        find("tag:bad", tagged)
    assert caught.value.candidates == ("tag:good", "tag:lost")
    with pytest.raises(CheckpointNotFound, match="tag 'lost' is on ffff, which is gone"):
        find("tag:lost", tagged)


def test_an_unknown_step_tells_which_exist() -> None:
    """The error shows gaps in the steps too."""
    gap = uuid6(50, 7, "abcd77")
    with pytest.raises(CheckpointNotFound) as caught:
        find("step:5", Recorded([*FORKED, *rows((gap, E))]))
    assert caught.value.hint == "its steps are -1 to 2, 7"


def test_a_step_of_another_branch_is_named() -> None:
    """If only other branches have a step, the error names its checkpoints, their branches, and that ids name them."""
    longer = rows((uuid6(50, 3, "ffff66"), D), (uuid6(60, 3, "abcd77"), C), (uuid6(70, 2, "abcd88"), C))
    with pytest.raises(CheckpointNotFound) as caught:
        find("step:3", Recorded([*FORKED, *longer]))
    assert [line.split("  ")[::3] for line in caught.value.candidates] == [
        ["ffff66", "on branch:1"],
        ["abcd77", "on branch:3"],
    ]
    assert caught.value.hint == "its steps are -1 to 2; name a step of another branch by its id"


def test_a_short_number_hints_at_steps() -> None:
    """A person who types 2 means step 2."""
    with pytest.raises(CheckpointNotFound) as caught:
        find("2")
    assert caught.value.hint == "did you mean step:2?"


DAY = 86_400
COLUMNS = {
    "one date": [0, 1, 90],
    "one year": [0, 50, 30 * DAY],
    "summer and winter time": [0, 40 * DAY, 50 * DAY],
    "the hour that comes twice": [33 * DAY + 35_400, 33 * DAY + 39_000, 33 * DAY + 42_600],
    "several years": [0, 400 * DAY],
}
"""Seconds after START. In Berlin, summer time ends 33 days and about 10 hours later."""


@pytest.mark.parametrize("name", COLUMNS)
def test_each_time_of_a_column_names_its_checkpoint(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is in the column, with a zone where the zones differ: the last checkpoint with this time."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    stored = [uuid6(second, n, f"{n}aaaa") for n, second in enumerate(COLUMNS[name])]
    moments = [datetime.fromtimestamp(START + second, UTC).isoformat() for second in COLUMNS[name]]
    clock = Clock(moments)
    last = dict(zip(map(clock, moments), stored, strict=True))
    finder = Finder(Recorded(rows(*((one, None) for one in stored))), lambda: START)
    assert {text: finder.find(f"@{{{text}}}").checkpoint_id for text in last} == last


def test_an_ambiguous_prefix_lists_its_candidates() -> None:
    """Candidates have short id, step and time."""
    with pytest.raises(AmbiguousRevision) as caught:
        find(A[:5])
    assert (caught.value.exit_code, caught.value.message) == (2, f"'{A[:5]}' fits 5 checkpoints")
    assert caught.value.candidates[0] == "aaaa11  step -1  2026-09-21 14:13:20 UTC"


def test_a_number_that_begins_ids_still_hints_at_steps() -> None:
    """Nothing is guessed."""
    with pytest.raises(AmbiguousRevision) as caught:
        find("1")
    assert caught.value.hint == "did you mean step:1?"


def test_many_candidates_are_counted_not_listed() -> None:
    """A long thread does not fill the screen."""
    many = rows(*((uuid6(n, n, f"{n:012x}"), None) for n in range(40)))
    with pytest.raises(AmbiguousRevision) as caught:
        find(many[0].checkpoint_id[:5], Recorded(many))
    assert len(caught.value.candidates) == 13
    assert caught.value.candidates[-1] == "and 28 more"


def test_metadata_wins_over_the_step_an_id_tells() -> None:
    """Ids of copies contain one less, ids from JavaScript anything."""
    copy, js = uuid6(50, 2, "abcd00"), "1f1e57da-510c-6b50-ffff-f338fc9c4a00"
    assert find("step:3", Recorded([*FORKED, *rows((copy, E))], {copy: 3})) == copy
    assert find("step:44", Recorded(rows((js, None)), {js: 44})) == js


def test_a_parent_never_stored_ends_the_climb() -> None:
    """LangGraph 0.3 with checkpoint_during=False names parents that are in no row."""
    with pytest.raises(CheckpointNotFound, match="the parent gone, which was never stored"):
        find("^", Recorded(rows((A, "gone"))))


def test_timestamps_are_ids_of_their_own_kind() -> None:
    """LangGraph 0.0 used ISO timestamps as ids: prefixes, times and ancestors work."""
    first, second = "2024-05-10T12:00:00.100000+00:00", "2024-05-10T12:00:01.100000+00:00"
    recorded = Recorded(rows((first, None), (second, first)))
    found = [find(text, recorded) for text in (f"{second}^", "2024-05-10T12:00:01", "@{2024-05-10T12:00:00.5}")]
    assert found == [first, second, first]


def test_the_empty_id_can_be_named() -> None:
    """LangGraph 0.0.26 stored a state without an id."""
    recorded = Recorded(rows(("", None)))
    assert [find('""', recorded), find("@", recorded)] == ["", ""]


@pytest.mark.parametrize(
    ("text", "ends"),
    [("a..b", ("a", "b")), ("a..", ("a", "@")), ("..b", ("@", "b")), ("a...b", ("a", "b")), ("@", None)],
)
def test_a_range_has_two_ends(text: str, ends: tuple[str, str] | None) -> None:
    """A missing end is the head."""
    assert split_range(text) == ends


def test_between_follows_the_newer_ones_line() -> None:
    """Steps after A up to B, the common past of two branches left out."""
    lineage = Lineage(FORKED)
    assert [between(lineage, A, E), between(lineage, D, E), between(lineage, E, A)] == [[E, C, B], [E], []]


def test_every_colon_may_end_a_thread_id() -> None:
    """Thread ids and revisions may both hold colons."""
    assert list(split_thread("a:b:@{10:30}")) == [("a", "b:@{10:30}"), ("a:b", "@{10:30}"), ("a:b:@{10", "30}")]
    assert [is_only_a_revision(text) for text in ("step:5", "@{10:30}", "tag:a:b", "step:x", "abcd:1234")] == [
        *[True] * 3,
        False,
        False,
    ]


def test_short_ids_are_six_characters_of_the_last_group() -> None:
    """uuid6 ids of one run begin with the same characters; their last group is random."""
    short = ShortIds([A, B, C])
    assert [short(A), short(B), short("")] == ["aaaa11", "bbbb22", '""']


def test_short_ids_grow_until_they_are_unique() -> None:
    """It differs from the beginnings of other ids too, since a person may type either."""
    first, second = uuid6(0, 0, "abcdef123456"), uuid6(1, 1, "abcdef129999")
    clash = uuid6(2, 2, first[:7].replace("-", ""))
    short = ShortIds([first, second, clash])
    assert [short(first), short(second)] == ["abcdef123", "abcdef129"]
    assert len(short(clash)) == 8


def test_equal_last_groups_fall_back_on_the_whole_id() -> None:
    """Some generators use one node number for all ids."""
    first, second = uuid6(0, 0, "abcdefabcdef"), uuid6(1, 1, "abcdefabcdef")
    short = ShortIds([first, second])
    assert short.find(short(first)) == [first]


@given(
    st.sets(
        st.one_of(
            st.text(max_size=8), st.builds(uuid6, st.integers(0, 99), st.integers(-1, 99), st.text("ab01", max_size=12))
        )
    )
)
def test_every_short_id_names_its_checkpoint(checkpoint_ids: set[str]) -> None:
    """A short id finds its checkpoint, unless another id begins with the whole of it."""
    short = ShortIds(checkpoint_ids)
    for checkpoint_id in checkpoint_ids - {""}:
        shown = short(checkpoint_id)
        assert shown == checkpoint_id or short.find(shown) == [checkpoint_id]


def test_candidates_are_told_with_their_recorded_steps() -> None:
    """The id of a copy contains one step less than its metadata."""
    with pytest.raises(CheckpointNotFound) as caught:
        find("branch:9", Recorded(FORKED, {E: 3}))
    assert [line.split("  ")[2] for line in caught.value.candidates] == ["step 2", "step 3"]
