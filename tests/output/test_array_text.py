"""Arrays as text, from their bytes."""

from ckpt_cli.output.text import array_text


def test_a_shape_is_not_multiplied_out() -> None:
    """The stored bytes bound the number of elements, so that a shape of huge lengths takes one product."""
    products: list[int] = []

    class Length(int):
        def __rmul__(self, other: int) -> int:
            products.append(other)
            return other * int(self)

    state = {"dtype": "<f8", "shape": [Length(1 << 60)] * 1000, "data": bytes(16)}
    assert array_text.first(state, 12) == ([0.0, 0.0], 2)
    assert len(products) == 1
    assert array_text.first({**state, "shape": [1 << 60, 0]}, 12) == ([], 0)
