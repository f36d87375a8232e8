"""Everything that is in a bundle, as bytes."""

import sys
from pathlib import Path

from tests.redaction.places import spellings

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


_SHORTEST = 5  # bytes; a shorter piece of base64 may be there by chance


def contents(path: Path) -> bytes:
    """The bytes of the file, and those of all its frames and its index, decompressed."""
    data = path.read_bytes()
    decompressed: bytes = zstd.decompress(data)
    return data + b"\n" + decompressed


def found(text: str, data: bytes) -> set[str]:
    """In which spellings a text is in these bytes, in any case of its letters."""
    low = data.lower()
    long = {name: spelled for name, spelled in spellings(text).items() if len(spelled) >= _SHORTEST}
    return {name for name, spelled in long.items() if spelled in data or spelled.lower() in low}
