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


def test_a_heading_is_short_and_says_what_is_stored() -> None:
    """A shape is cut after some lengths; if it doesn't fit the data, the heading says how many bytes there are."""
    fitting = {"dtype": "<f8", "shape": [2, 1], "data": bytes(16)}
    assert array_text.heading(fitting) == "float64[2×1]"
    assert array_text.heading({**fitting, "shape": []}) == "float64 of 16 bytes"
    assert array_text.heading({"dtype": "<U3", "shape": [2], "data": bytes(24)}) == "<U3[2]"
    assert array_text.heading({**fitting, "shape": [1 << 60] * 2}) == f"float64[{1 << 60}×{1 << 60}] of 16 bytes"
    assert array_text.heading({**fitting, "shape": [2, *[1] * 100_000]}) == "float64[2×1×1×1×1×1×1×1…]"
    assert array_text.heading({**fitting, "shape": [1 << 100_000]}) == "float64[…] of 16 bytes"
