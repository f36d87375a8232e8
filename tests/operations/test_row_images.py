"""Images of rows in the log: zlib reads them, and they are the same rows when they are unpacked."""

import zlib

from hypothesis import given
from hypothesis import strategies as st

from ckpt_cli.operations.row_images import digest, pack_and_digest, unpack

_VALUES = st.none() | st.integers() | st.text() | st.binary(max_size=3000) | st.just("a" * 990)


@given(st.dictionaries(st.text(max_size=5), _VALUES, max_size=5))
def test_an_image_is_the_row_in_zlib(row: dict[str, int | str | bytes | None]) -> None:
    """A short image isn't compressed, and zlib reads it to its end all the same."""
    image, proof = pack_and_digest(row)
    assert image is not None and unpack(image) == row and proof == digest(row)
    reader = zlib.decompressobj()
    assert len(reader.decompress(image)) > 0 and reader.eof and not reader.unused_data
