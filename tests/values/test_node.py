"""A node gives what was recorded, and decodes its bytes no earlier than needed."""

import pytest

from ckpt_cli.values.node import Form, Node, Opened, broken, opaque


def test_a_node_is_opened_once() -> None:
    """The loader runs at the first use, and never again."""
    calls = []

    def load(raw: bytes) -> Opened:
        calls.append(raw)
        return Opened("m", "C", Form.KWARGS, {"a": 1})

    node = Node(encoding="e", raw=b"x", load=load)
    assert calls == []
    assert (node.type, node.fields, node.form, node.method) == ("m.C", {"a": 1}, Form.KWARGS, "")
    assert calls == [b"x"]


@pytest.mark.parametrize(
    ("opened", "fields"),
    [
        (Opened("m", "C", Form.PYDANTIC, {"a": 1}), {"a": 1}),
        (Opened("m", "C", Form.LC1, {"a": 1}), {"a": 1}),
        (Opened("m", "C", Form.LC2, {"args": [], "kwargs": {"a": 1}}), {"a": 1}),
        (Opened("m", "C", Form.LC2, {"args": [1], "kwargs": {"a": 1}}), None),
        (Opened("m", "C", Form.PICKLE, {"state": {"a": 1}}), {"a": 1}),
        (Opened("m", "C", Form.PICKLE, {"args": [1]}), None),
        (Opened("m", "C", Form.PYDANTIC, ["root"]), None),
        (Opened("m", "C", Form.KWARGS, {1: 2}), None),
        (Opened("m", "C", Form.VALUE, {"a": 1}), None),
    ],
)
def test_fields_are_the_named_ones(opened: Opened, fields: dict[str, int] | None) -> None:
    """Only forms that name their fields have any."""
    assert Node(opened).fields == fields


def test_a_node_needs_something_to_be_made_of() -> None:
    """A node with neither content nor bytes is an error of the caller."""
    with pytest.raises(TypeError):
        _ = Node().form


def test_broken_and_opaque_keep_their_bytes() -> None:
    """Bytes that can't be decoded, or are unknown, are kept."""
    assert (broken("gone", b"x").raw, broken("gone", b"x").problem) == (b"x", "gone")
    assert (opaque("tag", b"x").raw, opaque("tag", b"x").name) == (b"x", "tag")


def test_nodes_can_be_keys() -> None:
    """Equal nodes are one key."""
    first, second = (Node(Opened("m", "C", Form.VALUE, [1])) for _ in range(2))
    assert {first: 1} == {second: 1}
