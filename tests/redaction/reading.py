"""Everything that is in a bundle, as bytes."""

import sys
from pathlib import Path

from tests.redaction.places import spellings

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def contents(path: Path) -> bytes:
    """The bytes of the file, and those of all its frames and its index, decompressed."""
    data = path.read_bytes()
    decompressed: bytes = zstd.decompress(data)
    return data + b"\n" + decompressed


def found(text: str, data: bytes) -> set[str]:
    """In which spellings a text is in these bytes, in any case of its letters."""
    low = data.lower()
    return {name for name, spelled in spellings(text).items() if spelled in data or spelled.lower() in low}
