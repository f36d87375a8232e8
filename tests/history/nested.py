"""Hypothesis strategies for decoded values: nested lists, dicts and recorded objects, with equal parts likely."""

from hypothesis import strategies as st

from ckpt_cli.values.node import Form, Node, Opened


def _objects(inner: st.SearchStrategy[object]) -> st.SearchStrategy[Node]:
    fields = st.dictionaries(st.sampled_from(["id", "name", "content"]), inner, max_size=3)
    return st.builds(
        lambda name, state: Node(Opened("agent", name, Form.PYDANTIC, state)), st.sampled_from("AB"), fields
    )


def _sets(inner: st.SearchStrategy[object]) -> st.SearchStrategy[Node]:
    return st.builds(lambda members: Node(Opened("builtins", "set", Form.VALUE, members)), st.lists(inner, max_size=4))


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(),
    st.sampled_from(["", "a", "b", "a b", "~/$x"]),
    st.binary(max_size=2),
)
KEYS = st.one_of(st.sampled_from(["a", "b", "$k", "a/b~c", ""]), st.integers(0, 2))
VALUES: st.SearchStrategy[object] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=6),
        st.dictionaries(KEYS, inner, max_size=4),
        _objects(inner),
        _sets(st.sampled_from("abc")),
    ),
    max_leaves=24,
)
STATES = st.dictionaries(st.sampled_from(["messages", "a/b", "x.y", "~"]), VALUES, max_size=3)
