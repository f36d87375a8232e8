"""Names that a column cuts stay apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckpt_cli.output.cells import cell_len, cut_middle
from ckpt_cli.output.line import Line, plain
from ckpt_cli.output.short_names import short_cells, short_names

MIDDLE = "HumanInTheLoopMiddleware"
CHATS = [f"tenant-4711:customer-6f1c2a34:conversation-{number}" for number in range(3)]


def test_names_that_differ_at_their_end_are_cut_in_their_middle() -> None:
    """Ids of one tenant, and the nodes of one middleware; a name that nobody can take for another is cut at its end."""
    assert short_names(CHATS, 24) == {chat: f"tenant-4711:cus…sation-{chat[-1]}" for chat in CHATS}
    nodes = [f"{MIDDLE}.before_model", f"{MIDDLE}.after_model", "SummarizationMiddleware.before_model", "model"]
    short = short_names(nodes, 20)
    assert [short[node] for node in nodes] == [
        "HumanIn…before_model",
        "HumanIn….after_model",
        "SummarizationMiddle…",
        "model",
    ]


def test_in_a_few_cells_only_the_difference_stays() -> None:
    """Where neither the beginning nor the end fits."""
    names = [f"{MIDDLE}.{name}_model_of_the_agent" for name in ("before", "after")]
    assert list(short_names(names, 7).values()) == ["…befor…", "…after…"]


@given(st.lists(st.text(st.sampled_from("ab中\u0301\u200d👩‍"), min_size=1, max_size=12)), st.integers(1, 9))
def test_short_names_fit(names: list[str], cells: int) -> None:
    """Whatever the characters are."""
    short = short_names(names, cells)
    assert short.keys() == {*names}
    assert all(cell_len(text) <= cells for text in short.values())


@given(st.text(st.sampled_from("ab中\u0301\u200d👩‍"), max_size=12), st.integers(1, 9), st.integers(0, 9))
def test_a_text_cut_in_its_middle_fits(text: str, cells: int, end: int) -> None:
    """Also where its end alone takes more cells than there are."""
    assert cell_len(cut_middle(text, cells, min(end, cells - 1))) <= cells


@pytest.mark.parametrize("cells", [4, 14, 30, 90])
def test_the_name_at_the_end_of_a_cell_is_cut(cells: int) -> None:
    """The text before it stays as it is, if it fits."""
    column: list[Line] = [[("bad", "failed"), ("muted", ": "), ("node", chat)] for chat in CHATS]
    short = [plain(line) for line in short_cells([*column, []], cells)]
    assert [cell_len(text) <= cells for text in short] == [True] * 4
    assert len({*short}) == (4 if cells > 8 else 2)
