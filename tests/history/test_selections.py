"""Which items of writes a list doesn't have yet."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ckpt_cli.history.reducers import selections
from ckpt_cli.history.reducers.selections import with_new_items
from ckpt_cli.values.same import same

ITEMS = st.recursive(
    st.sampled_from([0, 1, 1.0, True, False, "", "a", None]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=4,
)


@settings(max_examples=300, deadline=None)
@given(st.lists(ITEMS, max_size=4), st.lists(st.lists(ITEMS, max_size=3), max_size=4))
def test_many_items_are_looked_for_as_few_are(before: list[Any], writes: list[list[Any]]) -> None:
    """By keys and one by one the same items are new."""
    by_keys = selections._with_many_new_items(list(before), writes)
    one_by_one = with_new_items(before, writes)
    assert sum(map(len, writes)) <= selections._FEW
    assert same(by_keys, one_by_one)


def test_a_long_list_is_joined() -> None:
    """Ten thousand objects, of which every second is known."""
    old, new = [{"n": n} for n in range(10_000)], [{"n": n} for n in range(5_000, 15_000)]
    joined = with_new_items(old, [new[:6_000], new[6_000:]])
    assert joined is not None
    assert [one["n"] for one in joined] == [*range(15_000)]
